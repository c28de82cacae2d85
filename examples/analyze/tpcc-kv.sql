-- dialect: postgres
-- The five transactions of TPC-C as point statements: every statement finds one row by its whole key, and all rows are there from the
-- beginning. Items, history, new orders, MIN and MAX, the deletion and the loop are left out; an order has two lines.
CREATE TABLE warehouse (w INT PRIMARY KEY, info INT NOT NULL, ytd INT NOT NULL);
CREATE TABLE district (w INT, d INT, info INT NOT NULL, next INT NOT NULL, ytd INT NOT NULL, PRIMARY KEY (w, d));
CREATE TABLE customer (w INT, d INT, c INT, info INT NOT NULL, balance INT NOT NULL, PRIMARY KEY (w, d, c));
CREATE TABLE orders (w INT, d INT, o INT, c INT NOT NULL, status INT NOT NULL, PRIMARY KEY (w, d, o));
CREATE TABLE order_line (w INT, d INT, o INT, n INT, i INT NOT NULL, quantity INT NOT NULL, delivery INT NOT NULL, PRIMARY KEY (w, d, o, n));
CREATE TABLE stock (w INT, i INT, quantity INT NOT NULL, PRIMARY KEY (w, i));
INSERT INTO warehouse VALUES (1, 0, 0);
INSERT INTO district VALUES (1, 1, 0, 1, 0);
INSERT INTO customer VALUES (1, 1, 1, 0, 0);
INSERT INTO orders VALUES (1, 1, 1, 0, 0);
INSERT INTO order_line VALUES (1, 1, 1, 1, 0, 0, 0), (1, 1, 1, 2, 0, 0, 0);
INSERT INTO stock VALUES (1, 1, 10), (1, 2, 10);

CREATE PROCEDURE new_order(IN pw INT, IN pd INT, IN pc INT, IN po INT, IN i1 INT, IN i2 INT, IN q INT)
BEGIN
  DECLARE tax, discount INT;
  SELECT info INTO tax FROM warehouse WHERE w = pw;
  UPDATE district SET next = next + 1 WHERE w = pw AND d = pd;
  SELECT info INTO discount FROM customer WHERE w = pw AND d = pd AND c = pc;
  UPDATE orders SET c = pc, status = 0 WHERE w = pw AND d = pd AND o = po;
  UPDATE stock SET quantity = quantity - q WHERE w = pw AND i = i1;
  UPDATE order_line SET i = i1, quantity = q, delivery = 0 WHERE w = pw AND d = pd AND o = po AND n = 1;
  UPDATE stock SET quantity = quantity - q WHERE w = pw AND i = i2;
  UPDATE order_line SET i = i2, quantity = q, delivery = 0 WHERE w = pw AND d = pd AND o = po AND n = 2;
END;

CREATE PROCEDURE delivery(IN pw INT, IN pd INT, IN po INT, IN pc INT, IN amount INT)
BEGIN
  UPDATE orders SET status = 1 WHERE w = pw AND d = pd AND o = po;
  UPDATE order_line SET delivery = 1 WHERE w = pw AND d = pd AND o = po AND n = 1;
  UPDATE order_line SET delivery = 1 WHERE w = pw AND d = pd AND o = po AND n = 2;
  UPDATE customer SET balance = balance + amount WHERE w = pw AND d = pd AND c = pc;
END;

CREATE PROCEDURE payment(IN pw INT, IN pd INT, IN pc INT, IN amount INT)
BEGIN
  UPDATE warehouse SET ytd = ytd + amount WHERE w = pw;
  UPDATE district SET ytd = ytd + amount WHERE w = pw AND d = pd;
  UPDATE customer SET balance = balance - amount WHERE w = pw AND d = pd AND c = pc;
END;

CREATE PROCEDURE order_status(IN pw INT, IN pd INT, IN pc INT, IN po INT, OUT owed INT, OUT state INT, OUT line1 INT, OUT line2 INT)
BEGIN
  SELECT balance INTO owed FROM customer WHERE w = pw AND d = pd AND c = pc;
  SELECT status INTO state FROM orders WHERE w = pw AND d = pd AND o = po;
  SELECT quantity + delivery INTO line1 FROM order_line WHERE w = pw AND d = pd AND o = po AND n = 1;
  SELECT quantity + delivery INTO line2 FROM order_line WHERE w = pw AND d = pd AND o = po AND n = 2;
END;

CREATE PROCEDURE stock_level(IN pw INT, IN pi INT, OUT left_over INT)
BEGIN
  SELECT quantity INTO left_over FROM stock WHERE w = pw AND i = pi;
END;

SESSION seller: CALL new_order(1, 1, 1, 1, 1, 2, 3);
SESSION clerk: CALL payment(1, 1, 1, 5);
SESSION reader: CALL order_status(1, 1, 1, 1, @owed, @state, @line1, @line2);
