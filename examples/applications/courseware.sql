-- Courses and students: courses are opened, closed and deleted, and students enrol in a course that is open and not full.
CREATE TABLE student (id INT PRIMARY KEY, registered BOOLEAN NOT NULL);
CREATE TABLE course (id INT PRIMARY KEY, open BOOLEAN NOT NULL, capacity INT NOT NULL);
CREATE TABLE enrollment (course INT, student INT, PRIMARY KEY (course, student));
INSERT INTO student VALUES (1, TRUE), (2, TRUE), (3, FALSE);
INSERT INTO course VALUES (1, TRUE, 1), (2, FALSE, 1);

-- draw: 2 enroll(1..3, 1..2)
CREATE PROCEDURE enroll(IN who INT, IN wanted INT)
BEGIN
  DECLARE known, is_open BOOLEAN;
  DECLARE seats, taken INT;
  SELECT registered INTO known FROM student WHERE id = who;
  SELECT open, capacity INTO is_open, seats FROM course WHERE id = wanted;
  IF known AND is_open THEN
    SELECT COUNT(*) INTO taken FROM enrollment WHERE course = wanted;
    IF taken < seats THEN
      INSERT INTO enrollment VALUES (wanted, who);
    END IF;
  ELSE
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such student, or the course is not open';
  END IF;
END;

-- draw: open_course(1..2)
CREATE PROCEDURE open_course(IN wanted INT)
BEGIN
  UPDATE course SET open = TRUE WHERE id = wanted;
END;

-- draw: close_course(1..2)
CREATE PROCEDURE close_course(IN wanted INT)
BEGIN
  UPDATE course SET open = FALSE WHERE id = wanted;
END;

-- draw: delete_course(1..2)
CREATE PROCEDURE delete_course(IN wanted INT)
BEGIN
  DELETE FROM course WHERE id = wanted;
  DELETE FROM enrollment WHERE course = wanted;
END;

-- draw: get_enrollments(out)
CREATE PROCEDURE get_enrollments(OUT enrolled INT)
BEGIN
  SELECT COUNT(*) INTO enrolled FROM enrollment;
END;

SESSION office: CALL open_course(2); CALL delete_course(1); CALL get_enrollments(@all);
SESSION ann:    CALL enroll(1, 1); CALL enroll(1, 2); CALL get_enrollments(@mine);
SESSION ben:    CALL enroll(2, 1); CALL enroll(2, 2); CALL close_course(2);

ASSERT 'no course is overfull':
  NOT EXISTS (SELECT 1 FROM course c WHERE capacity < (SELECT COUNT(*) FROM enrollment WHERE course = c.id));
ASSERT 'nobody is enrolled in a course that is gone':
  NOT EXISTS (SELECT 1 FROM enrollment WHERE course NOT IN (SELECT id FROM course));
