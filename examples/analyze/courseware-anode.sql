-- Courses and students, as in the paper on static serializability analysis (CONCUR 2018): both are added under a name that nobody else has, and
-- removed, and students enrol in courses that have room. Analysed for every number of clients; the sessions at the end are a small run.
CREATE TABLE student (name INT PRIMARY KEY);
CREATE TABLE course (name INT PRIMARY KEY, capacity INT NOT NULL);
CREATE TABLE enrollment (student INT, course INT, PRIMARY KEY (student, course));
INSERT INTO student VALUES (1);
INSERT INTO course VALUES (1, 1);

CREATE PROCEDURE add_course(IN title INT, IN seats INT)
BEGIN
  DECLARE known INT;
  SELECT name INTO known FROM course WHERE name = title;
  IF known IS NULL THEN
    INSERT INTO course VALUES (title, seats);
  END IF;
END;

CREATE PROCEDURE add_student(IN who INT)
BEGIN
  DECLARE known INT;
  SELECT name INTO known FROM student WHERE name = who;
  IF known IS NULL THEN
    INSERT INTO student VALUES (who);
  END IF;
END;

-- Takes a seat, and says whether it did.
CREATE PROCEDURE enroll(IN who INT, IN wanted INT, OUT enrolled BOOLEAN)
BEGIN
  DECLARE known, seats INT;
  SET enrolled = FALSE;
  SELECT name INTO known FROM student WHERE name = who;
  SELECT capacity INTO seats FROM course WHERE name = wanted;
  IF known IS NOT NULL AND seats > 0 THEN
    UPDATE course SET capacity = seats - 1 WHERE name = wanted;
    INSERT INTO enrollment VALUES (who, wanted);
    SET enrolled = TRUE;
  END IF;
END;

CREATE PROCEDURE rem_course(IN wanted INT)
BEGIN
  DECLARE taken INT;
  SELECT COUNT(*) INTO taken FROM enrollment WHERE course = wanted;
  IF taken = 0 THEN
    DELETE FROM course WHERE name = wanted;
  END IF;
END;

CREATE PROCEDURE rem_student(IN who INT)
BEGIN
  DECLARE taken INT;
  SELECT COUNT(*) INTO taken FROM enrollment WHERE student = who;
  IF taken = 0 THEN
    DELETE FROM student WHERE name = who;
  END IF;
END;

SESSION office: CALL add_student(2); CALL rem_course(1);
SESSION ann:    CALL enroll(1, 1, @mine);
SESSION ben:    CALL enroll(2, 1, @his);

ASSERT 'nobody is enrolled in a course that is gone':
  NOT EXISTS (SELECT 1 FROM enrollment WHERE course NOT IN (SELECT name FROM course));
ASSERT 'no course is overfull':
  NOT EXISTS (SELECT 1 FROM course WHERE capacity < 0);
