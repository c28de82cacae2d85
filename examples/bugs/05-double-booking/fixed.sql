-- dialect: postgres
-- A calendar (cal.com #13397) books times. The right fix: an exclusion constraint, by which the database itself refuses bookings that have
-- an hour in common; constraints are checked on the latest state at every level. (PostgreSQL wants the extension intarray for it.)
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read passes, serializable passes
CREATE TABLE booking (
  id INT PRIMARY KEY, starts INT NOT NULL, ends INT NOT NULL, hours INT[] NOT NULL,
  EXCLUDE USING gist (hours WITH &&)
);

CREATE PROCEDURE book(IN number INT, IN begin_hour INT, IN end_hour INT, IN all_hours INT[])
BEGIN
  INSERT INTO booking VALUES (number, begin_hour, end_hour, all_hours);
END;

SESSION ann: CALL book(1, 9, 11, '{9,10}');
SESSION ben: CALL book(2, 10, 12, '{10,11}');

ASSERT 'no two bookings overlap':
  NOT EXISTS (SELECT 1 FROM booking a JOIN booking b ON a.id < b.id AND a.starts < b.ends AND b.starts < a.ends);
