-- A forum (discourse #15001) gives every user a number of votes, here one. It counts the votes that the user has cast, and inserts another
-- if that is allowed. Votes for two topics at the same time are two different rows, and each transaction counts without the other.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable refuses
CREATE TABLE vote (voter INT, topic INT, PRIMARY KEY (voter, topic));

CREATE PROCEDURE cast_vote(IN person INT, IN choice INT)
BEGIN
  DECLARE votes INT;
  SELECT COUNT(*) INTO votes FROM vote WHERE voter = person;
  IF votes >= 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no vote left';
  END IF;
  INSERT INTO vote VALUES (person, choice);
END;

SESSION first_tab:  CALL cast_vote(7, 1);
SESSION second_tab: CALL cast_vote(7, 2);

ASSERT 'nobody has more votes than allowed': (SELECT COUNT(*) FROM vote WHERE voter = 7) <= 1;
