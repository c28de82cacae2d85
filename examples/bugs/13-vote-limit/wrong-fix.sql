-- A forum (discourse #15001) gives every user a number of votes, here one. A wrong fix: "inside a transaction". The vote is inserted first
-- and counted afterwards, and a transaction that finds one too many takes everything back. It still does not see the votes of a
-- transaction that has not committed.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable refuses
CREATE TABLE vote (voter INT, topic INT, PRIMARY KEY (voter, topic));

CREATE PROCEDURE cast_vote(IN person INT, IN choice INT)
BEGIN
  DECLARE votes INT;
  INSERT INTO vote VALUES (person, choice);
  SELECT COUNT(*) INTO votes FROM vote WHERE voter = person;
  IF votes > 1 THEN
    ROLLBACK;
  END IF;
END;

SESSION first_tab:  CALL cast_vote(7, 1);
SESSION second_tab: CALL cast_vote(7, 2);

ASSERT 'nobody has more votes than allowed': (SELECT COUNT(*) FROM vote WHERE voter = 7) <= 1;
