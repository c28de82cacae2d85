CREATE TABLE item (id INT PRIMARY KEY, price INT NOT NULL, sold INT NOT NULL);
INSERT INTO item VALUES (1, 5, 0);

CREATE PROCEDURE set_price(IN wanted INT)
BEGIN
  DECLARE so_far INT;
  SELECT sold INTO so_far FROM item WHERE id = 1 FOR UPDATE;
  DELETE FROM item WHERE id = 1;
  INSERT INTO item VALUES (1, wanted, so_far);
END;

CREATE PROCEDURE sell()
BEGIN
  UPDATE item SET sold = sold + 1 WHERE id = 1;
END;

SESSION editor: CALL set_price(6);
SESSION till:   CALL sell();

ASSERT 'every sale is counted':
  (SELECT sold FROM item WHERE id = 1) = CASE till[1].outcome WHEN 'committed' THEN 1 ELSE 0 END;
