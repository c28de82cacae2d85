-- A shopping cart that a customer has open in three places: items are added, removed, looked at, and their quantities changed. Of an item at
-- most three can be ordered, which is looked at before a quantity grows.
--
-- Lines `draw:` say for a generator of other sessions which calls there are, and from which arguments.
CREATE TABLE cart_item (id INT PRIMARY KEY, quantity INT NOT NULL);
INSERT INTO cart_item VALUES (1, 2), (2, 1);

-- draw: add_item(1..3, 1..2)
CREATE PROCEDURE add_item(IN item INT, IN more INT)
BEGIN
  DECLARE found INT;
  SELECT quantity INTO found FROM cart_item WHERE id = item;
  IF found + more > 3 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'at most three of an item';
  END IF;
  IF found IS NULL THEN
    INSERT INTO cart_item VALUES (item, more);
  ELSE
    UPDATE cart_item SET quantity = quantity + more WHERE id = item;
  END IF;
END;

-- draw: remove_item(1..3)
CREATE PROCEDURE remove_item(IN item INT)
BEGIN
  DELETE FROM cart_item WHERE id = item;
END;

-- draw: change_quantity(1..3, 1..3)
CREATE PROCEDURE change_quantity(IN item INT, IN wanted INT)
BEGIN
  DECLARE found INT;
  SELECT quantity INTO found FROM cart_item WHERE id = item;
  IF found IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not in the cart';
  END IF;
  UPDATE cart_item SET quantity = wanted WHERE id = item;
END;

-- draw: get_item(1..3, out)
CREATE PROCEDURE get_item(IN item INT, OUT found INT)
BEGIN
  SELECT quantity INTO found FROM cart_item WHERE id = item;
END;

-- draw: get_list(out, out)
CREATE PROCEDURE get_list(OUT items INT, OUT pieces INT)
BEGIN
  SELECT COUNT(*), SUM(quantity) INTO items, pieces FROM cart_item;
END;

SESSION phone:  CALL add_item(1, 1); CALL remove_item(2); CALL get_list(@items, @pieces);
SESSION laptop: CALL add_item(1, 1); CALL change_quantity(2, 3); CALL get_item(1, @found);
SESSION tablet: CALL get_list(@items, @pieces); CALL remove_item(3); CALL add_item(3, 2);

ASSERT 'at most three of an item': NOT EXISTS (SELECT 1 FROM cart_item WHERE quantity > 3);
ASSERT 'an item that was removed does not come back':
  phone[2].outcome = 'aborted' OR NOT EXISTS (SELECT 1 FROM cart_item WHERE id = 2);
