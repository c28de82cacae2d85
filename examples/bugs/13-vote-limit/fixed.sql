-- A forum (discourse #15001) gives every user a number of votes, here one. The right fix: the row of the user counts them, and the UPDATE,
-- which locks it, asks whether one is left.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE member (id INT PRIMARY KEY, votes_left INT NOT NULL);
CREATE TABLE vote (voter INT, topic INT, PRIMARY KEY (voter, topic));
INSERT INTO member VALUES (7, 1);

CREATE PROCEDURE cast_vote(IN person INT, IN choice INT)
BEGIN
  UPDATE member SET votes_left = votes_left - 1 WHERE id = person AND votes_left > 0;
  IF ROW_COUNT() = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no vote left';
  END IF;
  INSERT INTO vote VALUES (person, choice);
END;

SESSION first_tab:  CALL cast_vote(7, 1);
SESSION second_tab: CALL cast_vote(7, 2);

ASSERT 'nobody has more votes than allowed': (SELECT COUNT(*) FROM vote WHERE voter = 7) <= 1;
