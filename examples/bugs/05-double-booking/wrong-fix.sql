-- A calendar (cal.com #13397) looks for bookings that overlap the wanted time, and inserts one if there is none. A wrong fix: the
-- overlapping bookings are read FOR UPDATE. An empty set has no rows to lock.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read refuses, snapshot-isolation refuses, serializable refuses
CREATE TABLE booking (id INT PRIMARY KEY, starts INT NOT NULL, ends INT NOT NULL);

CREATE PROCEDURE book(IN number INT, IN begin_hour INT, IN end_hour INT)
BEGIN
  FOR other IN (SELECT id FROM booking WHERE starts < end_hour AND begin_hour < ends FOR UPDATE) DO
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not available';
  END FOR;
  INSERT INTO booking VALUES (number, begin_hour, end_hour);
END;

SESSION ann: CALL book(1, 9, 11);
SESSION ben: CALL book(2, 10, 12);

ASSERT 'no two bookings overlap':
  NOT EXISTS (SELECT 1 FROM booking a JOIN booking b ON a.id < b.id AND a.starts < b.ends AND b.starts < a.ends);
