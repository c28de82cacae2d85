-- Shops (mall #1003, spree #11284) let a customer pay with a coupon and with store credit. The right fix: the conditions are part of the
-- updates, and the number of changed rows decides.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE coupon (id INT PRIMARY KEY, used BOOLEAN NOT NULL);
CREATE TABLE credit (customer INT PRIMARY KEY, balance INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, coupon INT NOT NULL);
INSERT INTO coupon VALUES (1, FALSE);
INSERT INTO credit VALUES (7, 10);

CREATE PROCEDURE place_order(IN number INT, IN code INT, IN person INT, IN amount INT)
BEGIN
  UPDATE coupon SET used = TRUE WHERE id = code AND NOT used;
  IF ROW_COUNT() = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the coupon is used up';
  END IF;
  UPDATE credit SET balance = balance - amount WHERE customer = person AND balance >= amount;
  IF ROW_COUNT() = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the credit is used up';
  END IF;
  INSERT INTO purchase VALUES (number, code);
END;

SESSION first_tab:  CALL place_order(1, 1, 7, 10);
SESSION second_tab: CALL place_order(2, 1, 7, 10);

ASSERT 'one order per coupon': (SELECT COUNT(*) FROM purchase WHERE coupon = 1) <= 1;
ASSERT 'no credit is spent that was not there': (SELECT balance >= 0 FROM credit WHERE customer = 7);
