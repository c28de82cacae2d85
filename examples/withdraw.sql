-- Two people take money out of one account. Each looks first whether there is enough.
--
--   skew play withdraw.sql --level read-committed
--   skew play withdraw.sql --level snapshot
CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100);

CREATE PROCEDURE withdraw(IN acct INT, IN amount INT, OUT paid INT)
BEGIN
  DECLARE bal INT;
  SET paid = 0;
  SELECT balance INTO bal FROM account WHERE id = acct;
  IF bal >= amount THEN
    UPDATE account SET balance = bal - amount WHERE id = acct;
    SET paid = amount;
  END IF;
END;

SESSION alice: CALL withdraw(1, 60, @a);
SESSION bob:   CALL withdraw(1, 60, @b); CALL withdraw(1, 10, @c);

ASSERT 'money adds up':
  (SELECT balance FROM account WHERE id = 1) = 100 - alice[1].paid - bob[1].paid - bob[2].paid;
