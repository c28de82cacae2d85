-- A shop (saleor #544, shopper #510) counts the uses of a voucher. The right fix: the condition is part of the UPDATE, which decides by
-- the latest version of the row, and the number of changed rows tells whether there was a use left.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE voucher (id INT PRIMARY KEY, used INT NOT NULL, most INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, voucher INT);
INSERT INTO voucher VALUES (1, 0, 1);

CREATE PROCEDURE checkout(IN number INT, IN code INT)
BEGIN
  UPDATE voucher SET used = used + 1 WHERE id = code AND used < most;
  IF ROW_COUNT() = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the voucher is used up';
  END IF;
  INSERT INTO purchase VALUES (number, code);
END;

SESSION ann: CALL checkout(1, 1);
SESSION ben: CALL checkout(2, 1);

ASSERT 'the voucher is used at most as often as allowed': (SELECT used <= most FROM voucher WHERE id = 1);
ASSERT 'no more purchases have the discount than the voucher allows':
  (SELECT COUNT(*) FROM purchase WHERE voucher = 1) <= (SELECT most FROM voucher WHERE id = 1);
