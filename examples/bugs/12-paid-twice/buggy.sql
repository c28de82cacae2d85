-- A shop (woocommerce-payments #3520) hears twice that an order is paid: from the provider's webhook, and when the customer's browser comes
-- back. Whoever finds the order not paid completes it: mails are sent, the stock goes down. Both may find it so.
--
-- expect: read-committed fails, snapshot passes, serializable passes
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE purchase (id INT PRIMARY KEY, status VARCHAR(10) NOT NULL);
CREATE TABLE completion (source VARCHAR(10) PRIMARY KEY, purchase INT NOT NULL);
INSERT INTO purchase VALUES (1, 'pending');

CREATE PROCEDURE complete(IN who VARCHAR(10), IN number INT)
BEGIN
  DECLARE found VARCHAR(10);
  SELECT status INTO found FROM purchase WHERE id = number;
  IF found <> 'paid' THEN
    UPDATE purchase SET status = 'paid' WHERE id = number;
    INSERT INTO completion VALUES (who, number);
  END IF;
END;

SESSION webhook:  CALL complete('webhook', 1);
SESSION redirect: CALL complete('redirect', 1);

ASSERT 'completed once': (SELECT COUNT(*) FROM completion WHERE purchase = 1) = 1;
