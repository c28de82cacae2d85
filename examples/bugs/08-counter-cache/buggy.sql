-- A framework (rails #14735) keeps in each post the number of its comments. Destroying a comment loads it, deletes it, and decrements the
-- counter. Two that destroy the same comment both loaded it: the row is deleted once and the counter decremented twice.
--
-- expect: read-committed fails, snapshot passes, serializable passes
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE post (id INT PRIMARY KEY, comments INT NOT NULL);
CREATE TABLE comment (id INT PRIMARY KEY, post INT NOT NULL);
INSERT INTO post VALUES (1, 2);
INSERT INTO comment VALUES (5, 1), (6, 1);

CREATE PROCEDURE destroy(IN wanted INT)
BEGIN
  DECLARE parent INT;
  SELECT post INTO parent FROM comment WHERE id = wanted;
  IF parent IS NOT NULL THEN
    DELETE FROM comment WHERE id = wanted;
    UPDATE post SET comments = comments - 1 WHERE id = parent;
  END IF;
END;

SESSION author:    CALL destroy(5);
SESSION moderator: CALL destroy(5);

ASSERT 'the counter is the number of comments':
  (SELECT comments FROM post WHERE id = 1) = (SELECT COUNT(*) FROM comment WHERE post = 1);
