-- A hospital has one doctor on call, and a hand-over swaps who it is (after hermitage #12). The right fix: both lock the row of the rota
-- before they do anything else. At read committed the UPDATE is a statement of its own, and its snapshot is taken when the wait is over.
--
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE rota (id INT PRIMARY KEY);
CREATE TABLE doctor (id INT PRIMARY KEY, duty TEXT NOT NULL, calls INT NOT NULL);
INSERT INTO rota VALUES (1);
INSERT INTO doctor VALUES (1, 'home', 0), (2, 'on call', 0);

CREATE PROCEDURE hand_over()
BEGIN
  DECLARE locked INT;
  SELECT id INTO locked FROM rota WHERE id = 1 FOR UPDATE;
  UPDATE doctor SET duty = CASE duty WHEN 'home' THEN 'on call' ELSE 'home' END;
END;

CREATE PROCEDURE page()
BEGIN
  DECLARE locked INT;
  SELECT id INTO locked FROM rota WHERE id = 1 FOR UPDATE;
  UPDATE doctor SET calls = calls + 1 WHERE duty = 'on call';
END;

SESSION shift: CALL hand_over();
SESSION alarm: CALL page();

ASSERT 'an alarm reaches one doctor':
  (SELECT SUM(calls) FROM doctor) = CASE WHEN alarm[1].outcome = 'committed' THEN 1 ELSE 0 END;
