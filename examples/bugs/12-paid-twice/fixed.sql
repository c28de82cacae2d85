-- A shop (woocommerce-payments #3520) hears twice that an order is paid. The right fix: the UPDATE itself asks whether the order is still
-- pending, and only who changed the row completes the order.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE purchase (id INT PRIMARY KEY, status VARCHAR(10) NOT NULL);
CREATE TABLE completion (source VARCHAR(10) PRIMARY KEY, purchase INT NOT NULL);
INSERT INTO purchase VALUES (1, 'pending');

CREATE PROCEDURE complete(IN who VARCHAR(10), IN number INT)
BEGIN
  UPDATE purchase SET status = 'paid' WHERE id = number AND status = 'pending';
  IF ROW_COUNT() = 1 THEN
    INSERT INTO completion VALUES (who, number);
  END IF;
END;

SESSION webhook:  CALL complete('webhook', 1);
SESSION redirect: CALL complete('redirect', 1);

ASSERT 'completed once': (SELECT COUNT(*) FROM completion WHERE purchase = 1) = 1;
