-- A chat server (synapse #7796) keeps rules and which of them are enabled. The right fix: a foreign key. The INSERT locks the rule that it
-- refers to, and deleting the rule deletes what refers to it, both on the latest state.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE rule (id INT PRIMARY KEY);
CREATE TABLE enabled_rule (
  id INT PRIMARY KEY, rule INT NOT NULL, FOREIGN KEY (rule) REFERENCES rule (id) ON DELETE CASCADE
);
INSERT INTO rule VALUES (1);

CREATE PROCEDURE enable_rule(IN wanted INT)
BEGIN
  INSERT INTO enabled_rule VALUES (wanted, wanted);
END;

CREATE PROCEDURE delete_rule(IN wanted INT)
BEGIN
  DELETE FROM rule WHERE id = wanted;
END;

SESSION phone:  CALL enable_rule(1);
SESSION laptop: CALL delete_rule(1);

ASSERT 'what is enabled is a rule':
  NOT EXISTS (SELECT 1 FROM enabled_rule WHERE rule NOT IN (SELECT id FROM rule));
