-- A shop (nopCommerce #8085) adjusts the stock of a product. The right fix: the database adds the difference. An UPDATE locks the row and
-- reads its latest version, so that no increment is lost at any level.
--
-- expect: read-committed passes, snapshot passes, serializable passes
-- postgres: read-committed passes, repeatable-read refuses, serializable refuses
-- mysql: read-committed passes, repeatable-read passes, snapshot-isolation passes, serializable passes
CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL);
INSERT INTO product VALUES (1, 10);

CREATE PROCEDURE adjust(IN item INT, IN difference INT)
BEGIN
  UPDATE product SET stock = stock + difference WHERE id = item;
END;

SESSION sale:     CALL adjust(1, -3);
SESSION delivery: CALL adjust(1, 5);

ASSERT 'the stock is the sum of all adjustments':
  (SELECT stock FROM product WHERE id = 1)
    = 10 - (CASE WHEN sale[1].outcome = 'committed' THEN 3 ELSE 0 END)
      + (CASE WHEN delivery[1].outcome = 'committed' THEN 5 ELSE 0 END);
