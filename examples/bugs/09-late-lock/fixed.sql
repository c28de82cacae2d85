-- A ticket shop (eventyay #1398) redeems vouchers. The right fix: what decides is read again under the lock.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation refuses, serializable refuses
CREATE TABLE voucher (id INT PRIMARY KEY, redeemed INT NOT NULL, most INT NOT NULL);
CREATE TABLE ticket (id INT PRIMARY KEY, voucher INT NOT NULL);
INSERT INTO voucher VALUES (1, 0, 1);

CREATE PROCEDURE order_ticket(IN number INT, IN code INT)
BEGIN
  DECLARE times, limit_of INT;
  SELECT redeemed, most INTO times, limit_of FROM voucher WHERE id = code;
  IF times >= limit_of THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the voucher was redeemed already';
  END IF;
  SELECT redeemed, most INTO times, limit_of FROM voucher WHERE id = code FOR UPDATE;
  IF times >= limit_of THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the voucher was redeemed meanwhile';
  END IF;
  INSERT INTO ticket VALUES (number, code);
  UPDATE voucher SET redeemed = times + 1 WHERE id = code;
END;

SESSION ann: CALL order_ticket(1, 1);
SESSION ben: CALL order_ticket(2, 1);

ASSERT 'redeemed at most as often as allowed': (SELECT redeemed <= most FROM voucher WHERE id = 1);
