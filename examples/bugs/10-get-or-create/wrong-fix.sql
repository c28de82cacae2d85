-- dialect: mysql
-- A site for courses (openedx-platform #12714) enrols a student. A wrong fix: look, and look again, up to three times. However often this
-- transaction looks, it looks into the same snapshot.
--
-- mysql: read-committed passes, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE enrolment (student INT PRIMARY KEY, mode TEXT NOT NULL);

CREATE PROCEDURE get_or_create(IN person INT, OUT got TEXT)
BEGIN
  DECLARE tries INT DEFAULT 0;
  WHILE got IS NULL AND tries < 3 DO
    SELECT mode INTO got FROM enrolment WHERE student = person;
    IF got IS NULL THEN
      INSERT IGNORE INTO enrolment VALUES (person, 'audit');
    END IF;
    SET tries = tries + 1;
  END WHILE;
END;

SESSION first_tab:  CALL get_or_create(7, @first);
SESSION second_tab: CALL get_or_create(7, @second);

ASSERT 'whoever enrols gets an enrolment':
  (first_tab[1].got IS NOT NULL OR first_tab[1].outcome = 'aborted')
    AND (second_tab[1].got IS NOT NULL OR second_tab[1].outcome = 'aborted');
