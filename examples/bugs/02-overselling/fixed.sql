-- A shop (saleor #543, vendure #3508) looks whether enough of a variant is left, and allocates it later. The right fix: whoever
-- allocates looks again, and locks the row while looking.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE stock (variant INT PRIMARY KEY, quantity INT NOT NULL, allocated INT NOT NULL);
INSERT INTO stock VALUES (1, 1, 0);

CREATE PROCEDURE check_availability(IN item INT, IN wanted INT, OUT available BOOLEAN)
BEGIN
  SELECT quantity - allocated >= wanted INTO available FROM stock WHERE variant = item;
END;

CREATE PROCEDURE allocate(IN item INT, IN wanted INT, IN available BOOLEAN)
BEGIN
  DECLARE still_left INT;
  IF available THEN
    SELECT quantity - allocated INTO still_left FROM stock WHERE variant = item FOR UPDATE;
    IF still_left < wanted THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'sold out meanwhile';
    END IF;
    UPDATE stock SET allocated = allocated + wanted WHERE variant = item;
  END IF;
END;

SESSION ann: CALL check_availability(1, 1, @ann); CALL allocate(1, 1, @ann);
SESSION ben: CALL check_availability(1, 1, @ben); CALL allocate(1, 1, @ben);

ASSERT 'no more is allocated than there is': (SELECT allocated <= quantity FROM stock WHERE variant = 1);
