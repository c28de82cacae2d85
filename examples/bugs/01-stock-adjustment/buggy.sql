-- A shop (nopCommerce #8085) adjusts the stock of a product: it reads the quantity, computes, and saves the result. Two adjustments
-- at the same time read the same quantity, and the second save overwrites the first: one of the sales is not in the stock.
--
-- expect: read-committed fails, snapshot passes, serializable passes
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL);
INSERT INTO product VALUES (1, 10);

CREATE PROCEDURE adjust(IN item INT, IN difference INT)
BEGIN
  DECLARE quantity INT;
  SELECT stock INTO quantity FROM product WHERE id = item;
  UPDATE product SET stock = quantity + difference WHERE id = item;
END;

SESSION sale:     CALL adjust(1, -3);
SESSION delivery: CALL adjust(1, 5);

ASSERT 'the stock is the sum of all adjustments':
  (SELECT stock FROM product WHERE id = 1)
    = 10 - (CASE WHEN sale[1].outcome = 'committed' THEN 3 ELSE 0 END)
      + (CASE WHEN delivery[1].outcome = 'committed' THEN 5 ELSE 0 END);
