-- dialect: mysql
-- A site for courses (openedx-platform #12714) enrols a student: it looks for the enrolment, inserts one if there is none, and if somebody
-- else was faster (INSERT IGNORE stands for the error that is caught) looks again. In InnoDB's repeatable read both looks are into one
-- snapshot, taken by the first. The INSERT meets a row that no later SELECT of this transaction can see.
--
-- mysql: read-committed passes, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE enrolment (student INT PRIMARY KEY, mode TEXT NOT NULL);

CREATE PROCEDURE get_or_create(IN person INT, OUT got TEXT)
BEGIN
  SELECT mode INTO got FROM enrolment WHERE student = person;
  IF got IS NULL THEN
    INSERT IGNORE INTO enrolment VALUES (person, 'audit');
    SELECT mode INTO got FROM enrolment WHERE student = person;
  END IF;
END;

SESSION first_tab:  CALL get_or_create(7, @first);
SESSION second_tab: CALL get_or_create(7, @second);

ASSERT 'whoever enrols gets an enrolment':
  (first_tab[1].got IS NOT NULL OR first_tab[1].outcome = 'aborted')
    AND (second_tab[1].got IS NOT NULL OR second_tab[1].outcome = 'aborted');
