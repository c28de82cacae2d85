-- TPC-C with its nine tables, its loops, MIN and MAX, inserts and deletes. Analysed for every number of clients and every argument; the
-- sessions at the end are a small run of it.
CREATE TABLE warehouse (id INT PRIMARY KEY, tax INT NOT NULL, ytd INT NOT NULL);
CREATE TABLE district (
  warehouse INT, id INT, tax INT NOT NULL, ytd INT NOT NULL, next_order INT NOT NULL, PRIMARY KEY (warehouse, id)
);
CREATE TABLE customer (
  warehouse INT, district INT, id INT, name INT NOT NULL, discount INT NOT NULL, balance INT NOT NULL, paid INT NOT NULL,
  payments INT NOT NULL, deliveries INT NOT NULL, PRIMARY KEY (warehouse, district, id)
);
CREATE TABLE history (id INT PRIMARY KEY, warehouse INT NOT NULL, district INT NOT NULL, customer INT NOT NULL, amount INT NOT NULL);
CREATE TABLE orders (
  warehouse INT, district INT, id INT, customer INT NOT NULL, carrier INT, line_count INT NOT NULL,
  PRIMARY KEY (warehouse, district, id)
);
CREATE TABLE new_order (warehouse INT, district INT, id INT, PRIMARY KEY (warehouse, district, id));
CREATE TABLE order_line (
  warehouse INT, district INT, order_id INT, line INT, item INT NOT NULL, quantity INT NOT NULL, amount INT NOT NULL, delivered INT,
  PRIMARY KEY (warehouse, district, order_id, line)
);
CREATE TABLE item (id INT PRIMARY KEY, price INT NOT NULL);
CREATE TABLE stock (
  warehouse INT, item INT, quantity INT NOT NULL, ytd INT NOT NULL, order_count INT NOT NULL, PRIMARY KEY (warehouse, item)
);
INSERT INTO warehouse VALUES (1, 0, 0);
INSERT INTO district VALUES (1, 1, 0, 0, 2);
INSERT INTO customer VALUES (1, 1, 1, 7, 0, 0, 0, 0, 0);
INSERT INTO orders VALUES (1, 1, 1, 1, NULL, 1);
INSERT INTO new_order VALUES (1, 1, 1);
INSERT INTO order_line VALUES (1, 1, 1, 1, 1, 1, 10, NULL);
INSERT INTO item VALUES (1, 10), (2, 10);
INSERT INTO stock VALUES (1, 1, 20, 0, 0), (1, 2, 20, 0, 0);

-- Items first_item, first_item + 1, … are ordered, one line each.
CREATE PROCEDURE new_order(IN home INT, IN area INT, IN buyer INT, IN first_item INT, IN lines INT, IN pieces INT)
BEGIN
  DECLARE house_tax, area_tax, number, rebate, line_number, wanted, cost, left_over INT;
  SELECT tax INTO house_tax FROM warehouse WHERE id = home;
  SELECT tax, next_order INTO area_tax, number FROM district WHERE warehouse = home AND id = area;
  UPDATE district SET next_order = number + 1 WHERE warehouse = home AND id = area;
  SELECT discount INTO rebate FROM customer WHERE warehouse = home AND district = area AND id = buyer;
  INSERT INTO orders VALUES (home, area, number, buyer, NULL, lines);
  INSERT INTO new_order VALUES (home, area, number);
  SET line_number = 1;
  WHILE line_number <= lines DO
    SET wanted = first_item + line_number - 1;
    SELECT price INTO cost FROM item WHERE id = wanted;
    SELECT quantity INTO left_over FROM stock WHERE warehouse = home AND item = wanted;
    IF left_over > pieces + 10 THEN
      SET left_over = left_over - pieces;
    ELSE
      SET left_over = left_over - pieces + 91;
    END IF;
    UPDATE stock SET quantity = left_over, ytd = ytd + pieces, order_count = order_count + 1
      WHERE warehouse = home AND item = wanted;
    INSERT INTO order_line VALUES (home, area, number, line_number, wanted, pieces, cost * pieces, NULL);
    SET line_number = line_number + 1;
  END WHILE;
END;

CREATE PROCEDURE payment(IN number INT, IN home INT, IN area INT, IN buyer INT, IN money INT)
BEGIN
  DECLARE owed, so_far, times INT;
  UPDATE warehouse SET ytd = ytd + money WHERE id = home;
  UPDATE district SET ytd = ytd + money WHERE warehouse = home AND id = area;
  SELECT balance, paid, payments INTO owed, so_far, times FROM customer WHERE warehouse = home AND district = area AND id = buyer;
  UPDATE customer SET balance = owed - money, paid = so_far + money, payments = times + 1
    WHERE warehouse = home AND district = area AND id = buyer;
  INSERT INTO history VALUES (number, home, area, buyer, money);
END;

CREATE PROCEDURE order_status(IN home INT, IN area INT, IN buyer INT, OUT owed INT, OUT waiting INT)
BEGIN
  DECLARE number INT;
  SELECT balance INTO owed FROM customer WHERE warehouse = home AND district = area AND id = buyer;
  SELECT MAX(id) INTO number FROM orders WHERE warehouse = home AND district = area AND customer = buyer;
  SELECT COUNT(*) INTO waiting FROM order_line
    WHERE warehouse = home AND district = area AND order_id = number AND delivered IS NULL;
END;

CREATE PROCEDURE delivery(IN home INT, IN area INT, IN lorry INT)
BEGIN
  DECLARE number, buyer, money INT;
  SELECT MIN(id) INTO number FROM new_order WHERE warehouse = home AND district = area;
  IF number IS NOT NULL THEN
    DELETE FROM new_order WHERE warehouse = home AND district = area AND id = number;
    SELECT customer INTO buyer FROM orders WHERE warehouse = home AND district = area AND id = number;
    UPDATE orders SET carrier = lorry WHERE warehouse = home AND district = area AND id = number;
    UPDATE order_line SET delivered = 1 WHERE warehouse = home AND district = area AND order_id = number;
    SELECT SUM(amount) INTO money FROM order_line WHERE warehouse = home AND district = area AND order_id = number;
    UPDATE customer SET balance = balance + money, deliveries = deliveries + 1
      WHERE warehouse = home AND district = area AND id = buyer;
  END IF;
END;

CREATE PROCEDURE stock_level(IN home INT, IN area INT, IN threshold INT, OUT low INT)
BEGIN
  DECLARE number, pieces INT;
  SET low = 0;
  SELECT next_order INTO number FROM district WHERE warehouse = home AND id = area;
  FOR recent IN (SELECT DISTINCT item FROM order_line
      WHERE warehouse = home AND district = area AND order_id >= number - 20 AND order_id < number) DO
    SELECT quantity INTO pieces FROM stock WHERE warehouse = home AND item = recent.item;
    IF pieces < threshold THEN
      SET low = low + 1;
    END IF;
  END FOR;
END;

SESSION terminal_1: CALL new_order(1, 1, 1, 1, 2, 3);
SESSION terminal_2: CALL payment(1, 1, 1, 1, 5); CALL order_status(1, 1, 1, @owed, @waiting);
SESSION terminal_3: CALL delivery(1, 1, 4); CALL stock_level(1, 1, 20, @low);

ASSERT 'the warehouse has earned what its districts have':
  (SELECT ytd FROM warehouse WHERE id = 1) = (SELECT SUM(ytd) FROM district WHERE warehouse = 1);
ASSERT 'the next order follows the last':
  (SELECT next_order - 1 FROM district WHERE warehouse = 1 AND id = 1) = (SELECT MAX(id) FROM orders WHERE warehouse = 1 AND district = 1);
ASSERT 'a customer owes what was delivered and not paid':
  (SELECT balance FROM customer WHERE warehouse = 1 AND district = 1 AND id = 1)
    = (SELECT COALESCE(SUM(amount), 0) FROM order_line WHERE delivered = 1) - (SELECT COALESCE(SUM(amount), 0) FROM history);
