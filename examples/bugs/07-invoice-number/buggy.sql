-- A shop (PrestaShop #28757) numbers its invoices: the next number is the highest one plus one. Two orders at the same time find the
-- same highest number.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation fails, serializable refuses
CREATE TABLE invoice (purchase INT PRIMARY KEY, number INT NOT NULL);
INSERT INTO invoice VALUES (10, 1);

CREATE PROCEDURE make_invoice(IN bought INT)
BEGIN
  DECLARE highest INT;
  SELECT MAX(number) INTO highest FROM invoice;
  INSERT INTO invoice VALUES (bought, highest + 1);
END;

SESSION till_1: CALL make_invoice(11);
SESSION till_2: CALL make_invoice(12);

ASSERT 'numbers are unique': (SELECT COUNT(DISTINCT number) = COUNT(*) FROM invoice);
