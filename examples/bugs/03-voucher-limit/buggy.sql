-- A shop (saleor #544, shopper #510) checks that a voucher was not used too often, and counts its use. The increment is atomic, the
-- check before it is not: two customers both see the last use as free.
--
-- expect: read-committed fails, snapshot passes, serializable passes
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE voucher (id INT PRIMARY KEY, used INT NOT NULL, most INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, voucher INT);
INSERT INTO voucher VALUES (1, 0, 1);

CREATE PROCEDURE checkout(IN number INT, IN code INT)
BEGIN
  DECLARE times, limit_of INT;
  SELECT used, most INTO times, limit_of FROM voucher WHERE id = code;
  IF times >= limit_of THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the voucher is used up';
  END IF;
  UPDATE voucher SET used = used + 1 WHERE id = code;
  INSERT INTO purchase VALUES (number, code);
END;

SESSION ann: CALL checkout(1, 1);
SESSION ben: CALL checkout(2, 1);

ASSERT 'the voucher is used at most as often as allowed': (SELECT used <= most FROM voucher WHERE id = 1);
ASSERT 'no more purchases have the discount than the voucher allows':
  (SELECT COUNT(*) FROM purchase WHERE voucher = 1) <= (SELECT most FROM voucher WHERE id = 1);
