-- A shop (nopCommerce #8085) adjusts the stock of a product. A wrong fix: a transaction around the whole checkout, with the line of
-- the stock's history. Now quantity and history change together or not at all; but the quantity was still read before it was written, and
-- at read committed a transaction does not keep others from writing in between.
--
-- expect: read-committed fails, snapshot passes, serializable passes
-- postgres: read-committed fails, repeatable-read refuses, serializable refuses
-- mysql: read-committed fails, repeatable-read fails, snapshot-isolation refuses, serializable refuses
CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL);
CREATE TABLE stock_history (reference INT PRIMARY KEY, product INT NOT NULL, difference INT NOT NULL);
INSERT INTO product VALUES (1, 10);

CREATE PROCEDURE adjust(IN reference_number INT, IN item INT, IN amount INT)
BEGIN
  DECLARE quantity INT;
  SELECT stock INTO quantity FROM product WHERE id = item;
  INSERT INTO stock_history VALUES (reference_number, item, amount);
  UPDATE product SET stock = quantity + amount WHERE id = item;
END;

SESSION sale:     CALL adjust(1, 1, -3);
SESSION delivery: CALL adjust(2, 1, 5);

ASSERT 'the stock is the sum of all adjustments':
  (SELECT stock FROM product WHERE id = 1) = 10 + (SELECT SUM(difference) FROM stock_history WHERE product = 1);
