-- A shop (saleor #543, vendure #3508) looks in one transaction whether enough of a variant is left, and allocates it in a later one. In
-- between, another customer gets what was left. No isolation level helps against what lies between two transactions.
--
-- expect: read-committed fails, snapshot fails, serializable fails
-- postgres: read-committed fails, repeatable-read fails, serializable fails
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable fails
CREATE TABLE stock (variant INT PRIMARY KEY, quantity INT NOT NULL, allocated INT NOT NULL);
INSERT INTO stock VALUES (1, 1, 0);

CREATE PROCEDURE check_availability(IN item INT, IN wanted INT, OUT available BOOLEAN)
BEGIN
  SELECT quantity - allocated >= wanted INTO available FROM stock WHERE variant = item;
END;

CREATE PROCEDURE allocate(IN item INT, IN wanted INT, IN available BOOLEAN)
BEGIN
  DECLARE taken INT;
  IF available THEN
    SELECT allocated INTO taken FROM stock WHERE variant = item;
    UPDATE stock SET allocated = taken + wanted WHERE variant = item;
  END IF;
END;

SESSION ann: CALL check_availability(1, 1, @ann); CALL allocate(1, 1, @ann);
SESSION ben: CALL check_availability(1, 1, @ben); CALL allocate(1, 1, @ben);

ASSERT 'no more is allocated than there is': (SELECT allocated <= quantity FROM stock WHERE variant = 1);
