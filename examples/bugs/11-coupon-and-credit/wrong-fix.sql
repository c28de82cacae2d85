-- Shops (mall #1003, spree #11284) let a customer pay with a coupon and with store credit. A wrong fix: the inner steps, which mark the
-- coupon and take the credit, lock the rows that they change; the check that allowed them stays outside of the lock.
--
-- expect: read-committed fails, snapshot passes, serializable passes
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE coupon (id INT PRIMARY KEY, used BOOLEAN NOT NULL);
CREATE TABLE credit (customer INT PRIMARY KEY, balance INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, coupon INT NOT NULL);
INSERT INTO coupon VALUES (1, FALSE);
INSERT INTO credit VALUES (7, 10);

CREATE PROCEDURE place_order(IN number INT, IN code INT, IN person INT, IN amount INT)
BEGIN
  DECLARE gone BOOLEAN;
  DECLARE money INT;
  SELECT used INTO gone FROM coupon WHERE id = code;
  SELECT balance INTO money FROM credit WHERE customer = person;
  IF gone OR money < amount THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the coupon or the credit is used up';
  END IF;
  SELECT used INTO gone FROM coupon WHERE id = code FOR UPDATE;
  UPDATE coupon SET used = TRUE WHERE id = code;
  SELECT balance INTO money FROM credit WHERE customer = person FOR UPDATE;
  UPDATE credit SET balance = money - amount WHERE customer = person;
  INSERT INTO purchase VALUES (number, code);
END;

SESSION first_tab:  CALL place_order(1, 1, 7, 10);
SESSION second_tab: CALL place_order(2, 1, 7, 10);

ASSERT 'one order per coupon': (SELECT COUNT(*) FROM purchase WHERE coupon = 1) <= 1;
ASSERT 'no credit is spent that was not there': (SELECT balance >= 0 FROM credit WHERE customer = 7);
