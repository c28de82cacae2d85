-- A ticket shop (eventyay #1398) validates the voucher of an order, creates the ticket, and then takes a lock to redeem the voucher. What
-- was validated before the lock may no longer hold under it.
--
-- expect: read-committed fails, snapshot passes, serializable passes
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation refuses, serializable refuses
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
  INSERT INTO ticket VALUES (number, code);
  SELECT redeemed INTO times FROM voucher WHERE id = code FOR UPDATE;
  UPDATE voucher SET redeemed = times + 1 WHERE id = code;
END;

SESSION ann: CALL order_ticket(1, 1);
SESSION ben: CALL order_ticket(2, 1);

ASSERT 'redeemed at most as often as allowed': (SELECT redeemed <= most FROM voucher WHERE id = 1);
