-- A chat server (synapse #7796) keeps rules and which of them are enabled. Enabling looks whether the rule exists; deleting removes the rule
-- and its row of enabling. At the same time, each misses what the other does, and a row about a rule that is gone stays behind.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable passes
CREATE TABLE rule (id INT PRIMARY KEY);
CREATE TABLE enabled_rule (id INT PRIMARY KEY, rule INT NOT NULL);
INSERT INTO rule VALUES (1);

CREATE PROCEDURE enable_rule(IN wanted INT)
BEGIN
  DECLARE found INT;
  SELECT id INTO found FROM rule WHERE id = wanted;
  IF found IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such rule';
  END IF;
  INSERT INTO enabled_rule VALUES (wanted, wanted);
END;

CREATE PROCEDURE delete_rule(IN wanted INT)
BEGIN
  DELETE FROM rule WHERE id = wanted;
  DELETE FROM enabled_rule WHERE rule = wanted;
END;

SESSION phone:  CALL enable_rule(1);
SESSION laptop: CALL delete_rule(1);

ASSERT 'what is enabled is a rule':
  NOT EXISTS (SELECT 1 FROM enabled_rule WHERE rule NOT IN (SELECT id FROM rule));
