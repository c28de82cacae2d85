-- A shop (saleor #544, shopper #510) counts the uses of a voucher. A wrong fix: the condition is part of the UPDATE, but nobody looks
-- whether a row was changed. The counter stays within its limit, and the discount is given all the same: at every level, and even
-- one after another.
--
-- expect: read-committed fails, snapshot fails, serializable fails
-- postgres: read-committed fails, repeatable-read fails, serializable fails
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable fails
CREATE TABLE voucher (id INT PRIMARY KEY, used INT NOT NULL, most INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, voucher INT);
INSERT INTO voucher VALUES (1, 0, 1);

CREATE PROCEDURE checkout(IN number INT, IN code INT)
BEGIN
  UPDATE voucher SET used = used + 1 WHERE id = code AND used < most;
  INSERT INTO purchase VALUES (number, code);
END;

SESSION ann: CALL checkout(1, 1);
SESSION ben: CALL checkout(2, 1);

ASSERT 'the voucher is used at most as often as allowed': (SELECT used <= most FROM voucher WHERE id = 1);
ASSERT 'no more purchases have the discount than the voucher allows':
  (SELECT COUNT(*) FROM purchase WHERE voucher = 1) <= (SELECT most FROM voucher WHERE id = 1);
