-- A shop (PrestaShop #28757) numbers its invoices. The right fix: a row that counts. The UPDATE locks it and reads its latest
-- version, and what the transaction reads afterwards is its own write.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE invoice (purchase INT PRIMARY KEY, number INT NOT NULL);
CREATE TABLE counter (id INT PRIMARY KEY, latest INT NOT NULL);
INSERT INTO invoice VALUES (10, 1);
INSERT INTO counter VALUES (1, 1);

CREATE PROCEDURE make_invoice(IN bought INT)
BEGIN
  DECLARE next_number INT;
  UPDATE counter SET latest = latest + 1 WHERE id = 1;
  SELECT latest INTO next_number FROM counter WHERE id = 1;
  INSERT INTO invoice VALUES (bought, next_number);
END;

SESSION till_1: CALL make_invoice(11);
SESSION till_2: CALL make_invoice(12);

ASSERT 'numbers are unique': (SELECT COUNT(DISTINCT number) = COUNT(*) FROM invoice);
