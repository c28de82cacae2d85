-- A shop (PrestaShop #28757) numbers its invoices: the next number is the highest one plus one. A wrong fix: the invoice with the
-- highest number is locked while it is read. The other order waits, but for a row that nobody changes, and then goes on from it.
--
-- expect: read-committed fails, snapshot fails, serializable passes
-- postgres: read-committed fails, repeatable-read fails, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE invoice (purchase INT PRIMARY KEY, number INT NOT NULL);
INSERT INTO invoice VALUES (10, 1);

CREATE PROCEDURE make_invoice(IN bought INT)
BEGIN
  DECLARE highest INT;
  SELECT number INTO highest FROM invoice ORDER BY number DESC LIMIT 1 FOR UPDATE;
  INSERT INTO invoice VALUES (bought, highest + 1);
END;

SESSION till_1: CALL make_invoice(11);
SESSION till_2: CALL make_invoice(12);

ASSERT 'numbers are unique': (SELECT COUNT(DISTINCT number) = COUNT(*) FROM invoice);
