-- A calendar (cal.com #13397) looks for bookings that overlap the wanted time, and inserts one if there is none. Two guests look at the
-- same time and both book.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable refuses
CREATE TABLE booking (id INT PRIMARY KEY, starts INT NOT NULL, ends INT NOT NULL);

CREATE PROCEDURE book(IN number INT, IN begin_hour INT, IN end_hour INT)
BEGIN
  DECLARE overlapping INT;
  SELECT COUNT(*) INTO overlapping FROM booking WHERE starts < end_hour AND begin_hour < ends;
  IF overlapping > 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not available';
  END IF;
  INSERT INTO booking VALUES (number, begin_hour, end_hour);
END;

SESSION ann: CALL book(1, 9, 11);
SESSION ben: CALL book(2, 10, 12);

ASSERT 'no two bookings overlap':
  NOT EXISTS (SELECT 1 FROM booking a JOIN booking b ON a.id < b.id AND a.starts < b.ends AND b.starts < a.ends);
