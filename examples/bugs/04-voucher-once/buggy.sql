-- A shop (django-oscar #2101 and #4580, litemall #581) allows a voucher once per customer: it counts the applications, and inserts one if
-- there is none. Two requests of one customer both count none. They insert different rows, so that snapshot isolation sees no conflict.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable refuses
CREATE TABLE application (id INT PRIMARY KEY, voucher INT NOT NULL, customer INT NOT NULL);

CREATE PROCEDURE apply_voucher(IN number INT, IN code INT, IN person INT)
BEGIN
  DECLARE times INT;
  SELECT COUNT(*) INTO times FROM application WHERE voucher = code AND customer = person;
  IF times > 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the voucher was used already';
  END IF;
  INSERT INTO application VALUES (number, code, person);
END;

SESSION first_tab:  CALL apply_voucher(1, 1, 7);
SESSION second_tab: CALL apply_voucher(2, 1, 7);

ASSERT 'a customer uses the voucher at most once':
  (SELECT COUNT(*) FROM application WHERE voucher = 1 AND customer = 7) <= 1;
