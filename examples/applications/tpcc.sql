-- TPC-C, small: one warehouse with two districts, a customer and an undelivered order in each, and two items in stock. An order has
-- one line. The five transactions are those of the benchmark, the assertions its twelve consistency conditions (clause 3.3.2).
CREATE TABLE warehouse (id INT PRIMARY KEY, ytd INT NOT NULL);
CREATE TABLE district (id INT PRIMARY KEY, ytd INT NOT NULL, next_order INT NOT NULL);
CREATE TABLE customer (
  district INT PRIMARY KEY, balance INT NOT NULL, paid INT NOT NULL, payments INT NOT NULL, deliveries INT NOT NULL
);
CREATE TABLE history (id INT PRIMARY KEY, district INT NOT NULL, amount INT NOT NULL);
CREATE TABLE orders (district INT, id INT, carrier INT, line_count INT NOT NULL, PRIMARY KEY (district, id));
CREATE TABLE new_order (district INT, id INT, PRIMARY KEY (district, id));
CREATE TABLE order_line (
  district INT, order_id INT, item INT NOT NULL, amount INT NOT NULL, delivered BOOLEAN NOT NULL, PRIMARY KEY (district, order_id)
);
CREATE TABLE stock (item INT PRIMARY KEY, quantity INT NOT NULL);
INSERT INTO warehouse VALUES (1, 0);
INSERT INTO district VALUES (1, 0, 2), (2, 0, 2);
INSERT INTO customer VALUES (1, 0, 0, 0, 0), (2, 0, 0, 0, 0);
INSERT INTO orders VALUES (1, 1, NULL, 1), (2, 1, NULL, 1);
INSERT INTO new_order VALUES (1, 1), (2, 1);
INSERT INTO order_line VALUES (1, 1, 1, 10, FALSE), (2, 1, 2, 10, FALSE);
INSERT INTO stock VALUES (1, 20), (2, 20);

-- draw: 2 new_order(1..2, 1..2, 1..3)
CREATE PROCEDURE new_order(IN area INT, IN wanted INT, IN pieces INT)
BEGIN
  DECLARE number, left_over INT;
  SELECT next_order INTO number FROM district WHERE id = area;
  UPDATE district SET next_order = number + 1 WHERE id = area;
  INSERT INTO orders VALUES (area, number, NULL, 1);
  INSERT INTO new_order VALUES (area, number);
  SELECT quantity INTO left_over FROM stock WHERE item = wanted;
  UPDATE stock SET quantity = CASE WHEN left_over > 10 + pieces THEN left_over - pieces ELSE left_over - pieces + 91 END WHERE item = wanted;
  INSERT INTO order_line VALUES (area, number, wanted, 10 * pieces, FALSE);
END;

-- draw: 2 payment(new, 1..2, 1..3)
CREATE PROCEDURE payment(IN number INT, IN area INT, IN money INT)
BEGIN
  DECLARE owed, so_far, times INT;
  UPDATE warehouse SET ytd = ytd + money WHERE id = 1;
  UPDATE district SET ytd = ytd + money WHERE id = area;
  SELECT balance, paid, payments INTO owed, so_far, times FROM customer WHERE district = area;
  UPDATE customer SET balance = owed - money, paid = so_far + money, payments = times + 1 WHERE district = area;
  INSERT INTO history VALUES (number, area, money);
END;

-- draw: order_status(1..2, out)
CREATE PROCEDURE order_status(IN area INT, OUT handed_over BOOLEAN)
BEGIN
  DECLARE owed, number INT;
  SELECT balance INTO owed FROM customer WHERE district = area;
  SELECT MAX(id) INTO number FROM orders WHERE district = area;
  SELECT delivered INTO handed_over FROM order_line WHERE district = area AND order_id = number;
END;

-- draw: delivery(1..2, 1..2)
CREATE PROCEDURE delivery(IN area INT, IN lorry INT)
BEGIN
  DECLARE number, money INT;
  SELECT MIN(id) INTO number FROM new_order WHERE district = area;
  IF number IS NOT NULL THEN
    DELETE FROM new_order WHERE district = area AND id = number;
    UPDATE orders SET carrier = lorry WHERE district = area AND id = number;
    UPDATE order_line SET delivered = TRUE WHERE district = area AND order_id = number;
    SELECT amount INTO money FROM order_line WHERE district = area AND order_id = number;
    UPDATE customer SET balance = balance + money, deliveries = deliveries + 1 WHERE district = area;
  END IF;
END;

-- draw: stock_level(1..2, 15..25, out)
CREATE PROCEDURE stock_level(IN area INT, IN threshold INT, OUT low INT)
BEGIN
  DECLARE number INT;
  SELECT next_order INTO number FROM district WHERE id = area;
  SELECT COUNT(DISTINCT s.item) INTO low FROM order_line l JOIN stock s ON s.item = l.item
    WHERE l.district = area AND l.order_id >= number - 20 AND l.order_id < number AND s.quantity < threshold;
END;

SESSION terminal_1: CALL new_order(1, 1, 2); CALL payment(1, 1, 3); CALL order_status(1, @handed_over);
SESSION terminal_2: CALL payment(2, 1, 2); CALL stock_level(1, 20, @low); CALL new_order(2, 1, 1);
SESSION terminal_3: CALL delivery(1, 1); CALL delivery(1, 2); CALL payment(3, 2, 1);

ASSERT '1: the warehouse has earned what its districts have':
  (SELECT ytd FROM warehouse WHERE id = 1) = (SELECT SUM(ytd) FROM district);
ASSERT '2: a district''s next order follows its last':
  NOT EXISTS (SELECT 1 FROM district d WHERE next_order - 1 <> (SELECT MAX(id) FROM orders o WHERE o.district = d.id));
ASSERT '3: new orders have no gaps':
  NOT EXISTS (SELECT 1 FROM new_order GROUP BY district HAVING MAX(id) - MIN(id) + 1 <> COUNT(*));
ASSERT '4: a district has as many lines as its orders say':
  NOT EXISTS (SELECT 1 FROM district d WHERE (SELECT SUM(line_count) FROM orders o WHERE o.district = d.id)
    <> (SELECT COUNT(*) FROM order_line l WHERE l.district = d.id));
ASSERT '5: an order has a carrier unless it is new':
  NOT EXISTS (SELECT 1 FROM orders o WHERE (carrier IS NULL)
    <> EXISTS (SELECT 1 FROM new_order n WHERE n.district = o.district AND n.id = o.id));
ASSERT '6: an order has as many lines as it says':
  NOT EXISTS (SELECT 1 FROM orders o
    WHERE line_count <> (SELECT COUNT(*) FROM order_line l WHERE l.district = o.district AND l.order_id = o.id));
ASSERT '7: a line is delivered when its order has a carrier':
  NOT EXISTS (SELECT 1 FROM order_line l JOIN orders o ON l.district = o.district AND l.order_id = o.id
    WHERE l.delivered <> (o.carrier IS NOT NULL));
ASSERT '8: the warehouse has earned what was paid':
  (SELECT ytd FROM warehouse WHERE id = 1) = (SELECT COALESCE(SUM(amount), 0) FROM history);
ASSERT '9: a district has earned what was paid there':
  NOT EXISTS (SELECT 1 FROM district d
    WHERE ytd <> (SELECT COALESCE(SUM(amount), 0) FROM history h WHERE h.district = d.id));
ASSERT '10: a customer owes what was delivered and not paid':
  NOT EXISTS (SELECT 1 FROM customer c WHERE balance
    <> (SELECT COALESCE(SUM(amount), 0) FROM order_line l WHERE l.district = c.district AND l.delivered)
     - (SELECT COALESCE(SUM(amount), 0) FROM history h WHERE h.district = c.district));
ASSERT '11: the orders that are not new were delivered':
  NOT EXISTS (SELECT 1 FROM customer c WHERE deliveries
    <> (SELECT COUNT(*) FROM orders o WHERE o.district = c.district)
     - (SELECT COUNT(*) FROM new_order n WHERE n.district = c.district));
ASSERT '12: a customer''s balance and payments are what was delivered':
  NOT EXISTS (SELECT 1 FROM customer c WHERE balance + paid
    <> (SELECT COALESCE(SUM(amount), 0) FROM order_line l WHERE l.district = c.district AND l.delivered));
