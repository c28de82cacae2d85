-- Courses and students, as in the paper on static serializability analysis (CONCUR 2018): both are added under a name of their own and
-- removed, and students enrol in courses that have room. Analysed for every number of clients; the sessions at the end are a small run.
CREATE TABLE student (id INT PRIMARY KEY, name INT NOT NULL);
CREATE TABLE course (id INT PRIMARY KEY, name INT NOT NULL, capacity INT NOT NULL);
CREATE TABLE enrollment (student INT, course INT, PRIMARY KEY (student, course));
INSERT INTO student VALUES (1, 1);
INSERT INTO course VALUES (1, 1, 1);

CREATE PROCEDURE add_course(IN number INT, IN title INT, IN seats INT)
BEGIN
  DECLARE same INT;
  SELECT COUNT(*) INTO same FROM course WHERE name = title;
  IF same = 0 THEN
    INSERT INTO course VALUES (number, title, seats);
  END IF;
END;

CREATE PROCEDURE add_student(IN number INT, IN title INT)
BEGIN
  DECLARE same INT;
  SELECT COUNT(*) INTO same FROM student WHERE name = title;
  IF same = 0 THEN
    INSERT INTO student VALUES (number, title);
  END IF;
END;

-- Takes a seat, and says whether it did.
CREATE PROCEDURE enroll(IN who INT, IN wanted INT, OUT enrolled BOOLEAN)
BEGIN
  DECLARE known, seats INT;
  SET enrolled = FALSE;
  SELECT id INTO known FROM student WHERE id = who;
  SELECT capacity INTO seats FROM course WHERE id = wanted;
  IF known IS NOT NULL AND seats > 0 THEN
    UPDATE course SET capacity = seats - 1 WHERE id = wanted;
    INSERT INTO enrollment VALUES (who, wanted);
    SET enrolled = TRUE;
  END IF;
END;

CREATE PROCEDURE rem_course(IN wanted INT)
BEGIN
  DECLARE taken INT;
  SELECT COUNT(*) INTO taken FROM enrollment WHERE course = wanted;
  IF taken = 0 THEN
    DELETE FROM course WHERE id = wanted;
  END IF;
END;

CREATE PROCEDURE rem_student(IN who INT)
BEGIN
  DECLARE taken INT;
  SELECT COUNT(*) INTO taken FROM enrollment WHERE student = who;
  IF taken = 0 THEN
    DELETE FROM student WHERE id = who;
  END IF;
END;

SESSION office: CALL add_student(2, 2); CALL rem_course(1);
SESSION ann:    CALL enroll(1, 1, @mine);
SESSION ben:    CALL enroll(2, 1, @his);

ASSERT 'nobody is enrolled in a course that is gone':
  NOT EXISTS (SELECT 1 FROM enrollment WHERE course NOT IN (SELECT id FROM course));
ASSERT 'no course is overfull':
  NOT EXISTS (SELECT 1 FROM course WHERE capacity < 0);
