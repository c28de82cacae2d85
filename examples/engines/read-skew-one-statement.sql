CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 50), (2, 50);

CREATE PROCEDURE transfer()
BEGIN
  UPDATE account SET balance = balance - 10 WHERE id = 1;
  UPDATE account SET balance = balance + 10 WHERE id = 2;
END;

CREATE PROCEDURE report(OUT total INT)
BEGIN
  SELECT SUM(balance) INTO total FROM account;
END;

SESSION ann: CALL transfer();
SESSION bob: CALL report(@total);

ASSERT 'the report adds up': bob[1].outcome = 'aborted' OR bob[1].total = 100;
