-- A shop (django-oscar #2101 and #4580, litemall #581) allows a voucher once per customer. A wrong fix: the applications are read FOR
-- UPDATE. That locks the rows that are there, and there are none.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read refuses, snapshot-isolation refuses, serializable refuses
CREATE TABLE application (id INT PRIMARY KEY, voucher INT NOT NULL, customer INT NOT NULL);

CREATE PROCEDURE apply_voucher(IN number INT, IN code INT, IN person INT)
BEGIN
  FOR earlier IN (SELECT id FROM application WHERE voucher = code AND customer = person FOR UPDATE) DO
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the voucher was used already';
  END FOR;
  INSERT INTO application VALUES (number, code, person);
END;

SESSION first_tab:  CALL apply_voucher(1, 1, 7);
SESSION second_tab: CALL apply_voucher(2, 1, 7);

ASSERT 'a customer uses the voucher at most once':
  (SELECT COUNT(*) FROM application WHERE voucher = 1 AND customer = 7) <= 1;
