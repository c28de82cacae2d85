CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100);

CREATE PROCEDURE deposit(IN amount INT)
BEGIN
  DECLARE found INT;
  SELECT balance INTO found FROM account WHERE id = 1;
  UPDATE account SET balance = found + amount WHERE id = 1;
END;

SESSION ann: CALL deposit(10);
SESSION bob: CALL deposit(20);

ASSERT 'what was paid in is there': (SELECT balance FROM account WHERE id = 1)
  = 100 + (CASE ann[1].outcome WHEN 'committed' THEN 10 ELSE 0 END) + (CASE bob[1].outcome WHEN 'committed' THEN 20 ELSE 0 END);
