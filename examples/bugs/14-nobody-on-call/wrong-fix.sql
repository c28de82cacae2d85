-- A hospital has one doctor on call, and a hand-over swaps who it is (after hermitage #12). A wrong fix: look for the doctor with FOR UPDATE,
-- and update that row. The lock comes with the same second look at one row as an UPDATE, so the search finds nobody.
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
  DECLARE reached INT;
  SELECT id INTO reached FROM doctor WHERE duty = 'on call' FOR UPDATE;
  UPDATE doctor SET calls = calls + 1 WHERE id = reached;
END;

SESSION shift: CALL hand_over();
SESSION alarm: CALL page();

ASSERT 'an alarm reaches one doctor':
  (SELECT SUM(calls) FROM doctor) = CASE WHEN alarm[1].outcome = 'committed' THEN 1 ELSE 0 END;
