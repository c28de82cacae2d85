-- dialect: mysql
-- A site for courses (openedx-platform #12714) enrols a student. The right fix: the second look is a locking read, which returns the latest
-- row and not that of the snapshot. (So does a second look in a new transaction; or read committed, where every statement has a snapshot of
-- its own.)
--
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation refuses, serializable refuses
CREATE TABLE enrolment (student INT PRIMARY KEY, mode TEXT NOT NULL);

CREATE PROCEDURE get_or_create(IN person INT, OUT got TEXT)
BEGIN
  SELECT mode INTO got FROM enrolment WHERE student = person;
  IF got IS NULL THEN
    INSERT IGNORE INTO enrolment VALUES (person, 'audit');
    SELECT mode INTO got FROM enrolment WHERE student = person FOR UPDATE;
  END IF;
END;

SESSION first_tab:  CALL get_or_create(7, @first);
SESSION second_tab: CALL get_or_create(7, @second);

ASSERT 'whoever enrols gets an enrolment':
  (first_tab[1].got IS NOT NULL OR first_tab[1].outcome = 'aborted')
    AND (second_tab[1].got IS NOT NULL OR second_tab[1].outcome = 'aborted');
