CREATE TABLE voucher (id INT PRIMARY KEY, most INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, voucher INT NOT NULL);
INSERT INTO voucher VALUES (1, 1);

CREATE PROCEDURE redeem(IN number INT)
BEGIN
  DECLARE allowed, used INT;
  SELECT most INTO allowed FROM voucher WHERE id = 1 FOR UPDATE;
  SELECT COUNT(*) INTO used FROM purchase WHERE voucher = 1;
  IF used < allowed THEN
    INSERT INTO purchase VALUES (number, 1);
  END IF;
END;

SESSION ann: CALL redeem(1);
SESSION bob: CALL redeem(2);

ASSERT 'the voucher is used once at most': (SELECT COUNT(*) FROM purchase WHERE voucher = 1) <= 1;
