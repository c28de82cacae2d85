CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 50), (2, 50);

CREATE PROCEDURE transfer()
BEGIN
  UPDATE account SET balance = balance - 10 WHERE id = 1;
  UPDATE account SET balance = balance + 10 WHERE id = 2;
END;

CREATE PROCEDURE report(OUT total INT)
BEGIN
  DECLARE one, two INT;
  SELECT balance INTO one FROM account WHERE id = 1;
  SELECT balance INTO two FROM account WHERE id = 2;
  SET total = one + two;
END;

SESSION ann: CALL transfer();
SESSION bob: CALL report(@total);

ASSERT 'the report adds up': bob[1].outcome = 'aborted' OR bob[1].total = 100;
