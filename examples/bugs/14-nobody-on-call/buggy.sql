-- A hospital has one doctor on call, and a hand-over swaps who it is in one statement (after hermitage #12). The alarm's UPDATE reads the state
-- before the hand-over, in which doctor 1 does not qualify, and waits for doctor 2. When the hand-over is through, PostgreSQL looks again at
-- the row for which it waited, and at no other. Doctor 2 is no longer on call, doctor 1 was passed over, and nobody is called. InnoDB's read
-- committed does the same: it passes over rows that do not qualify without a lock.
--
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE doctor (id INT PRIMARY KEY, duty TEXT NOT NULL, calls INT NOT NULL);
INSERT INTO doctor VALUES (1, 'home', 0), (2, 'on call', 0);

CREATE PROCEDURE hand_over()
BEGIN
  UPDATE doctor SET duty = CASE duty WHEN 'home' THEN 'on call' ELSE 'home' END;
END;

CREATE PROCEDURE page()
BEGIN
  UPDATE doctor SET calls = calls + 1 WHERE duty = 'on call';
END;

SESSION shift: CALL hand_over();
SESSION alarm: CALL page();

ASSERT 'an alarm reaches one doctor':
  (SELECT SUM(calls) FROM doctor) = CASE WHEN alarm[1].outcome = 'committed' THEN 1 ELSE 0 END;
