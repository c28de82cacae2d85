CREATE TABLE shop (id int PRIMARY KEY, name text UNIQUE, city text);
CREATE TABLE item (id int PRIMARY KEY, shop int, price int, name text);
CREATE INDEX item_price ON item (price);
CREATE INDEX item_shop_price ON item (shop, price);
CREATE TABLE line (orders int, number int, amount int, PRIMARY KEY (orders, number));
CREATE TABLE heap (a int, b text)
----
CREATE TABLE
CREATE TABLE
CREATE INDEX
CREATE INDEX
CREATE TABLE
CREATE TABLE

INSERT INTO shop VALUES (1, 'A', 'x'), (2, 'B', 'y');
INSERT INTO item VALUES (7, 1, 10, 'bolt'), (8, 1, 20, 'nut'), (9, 2, 30, 'saw'), (10, 2, NULL, 'axe');
INSERT INTO line VALUES (1, 1, 5), (1, 2, 6), (2, 1, 7);
INSERT INTO heap VALUES (1, 'x'), (2, 'y')
----
INSERT 2
INSERT 4
INSERT 3
INSERT 2

-- reads
SELECT * FROM item WHERE id = 7
----
get 3/7

-- reads
-- parameters: 7
SELECT * FROM item WHERE id = $1
----
get 3/7

-- reads
SELECT * FROM item WHERE id = 7 AND price > 100
----
get 3/7

-- reads
SELECT * FROM item WHERE id = 99
----
get 3/99 absent

-- reads
SELECT * FROM item WHERE id IN (9, 7, 9)
----
get 3/9
get 3/7

-- reads
SELECT * FROM item WHERE id = 7 OR id = 8
----
get 3/7
get 3/8

-- reads
-- parameters: {7,9}
SELECT * FROM item WHERE id = ANY($1)
----
get 3/7
get 3/9

-- reads
SELECT * FROM item WHERE id = NULL
----

-- reads
SELECT * FROM shop WHERE name = 'B'
----
get 2/B
get 1/2

-- reads
SELECT * FROM item WHERE price = 20
----
scan 4/20 rows 1
get 3/8

-- reads
SELECT * FROM item WHERE price BETWEEN 10 AND 20
----
scan 4 from 10 to 20 rows 2
get 3/7
get 3/8

-- reads
SELECT * FROM item WHERE shop = 1 AND price > 10
----
scan 5/1 from 11 rows 1
get 3/8

-- reads
SELECT * FROM item WHERE id > 7 AND id < 9
----
scan 3 from 8 to 8 rows 1

-- reads
SELECT * FROM line WHERE orders = 1
----
scan 6/1 rows 2

-- reads
SELECT * FROM line WHERE (orders, number) = (1, 2)
----
get 6/1/2

-- reads
SELECT * FROM line WHERE (orders, number) IN ((1, 2), (2, 1))
----
get 6/1/2
get 6/2/1

-- reads
SELECT * FROM shop WHERE name LIKE 'A%'
----
scan 2 from A to B rows 2
get 1/1
get 1/2

-- reads
SELECT * FROM item WHERE lower(name) = 'bolt'
----
scan 3 rows 4

-- reads
SELECT * FROM item ORDER BY id LIMIT 2
----
scan 3 rows 2

-- reads
SELECT * FROM item ORDER BY id DESC LIMIT 1
----
scan 3 rows 1

-- reads
SELECT * FROM item ORDER BY price LIMIT 1
----
scan 4 rows 1
get 3/7

-- reads
SELECT * FROM line WHERE orders = 1 ORDER BY number DESC LIMIT 1
----
scan 6/1 rows 1

-- reads
SELECT * FROM item WHERE id > 7 ORDER BY id LIMIT 1
----
scan 3 from 8 rows 1

-- reads
SELECT max(price) FROM item WHERE shop = 2
----
scan 5/2 rows 2
get 3/9
get 3/10

-- reads
SELECT * FROM item, shop WHERE item.id = 7 AND shop.id = item.shop
----
get 3/7
get 1/1

-- reads
SELECT * FROM shop JOIN item ON item.shop = shop.id WHERE shop.id = 2
----
get 1/2
scan 5/2 rows 2
get 3/9
get 3/10

-- reads
SELECT * FROM item LEFT JOIN shop ON shop.id = item.shop WHERE item.id = 9
----
get 3/9
get 1/2

-- reads
SELECT * FROM (SELECT id, price * 2 AS twice FROM item) AS d WHERE d.id = 8
----
get 3/8

-- reads
WITH c AS (SELECT * FROM item) SELECT * FROM c WHERE id = 8
----
get 3/8

-- reads
SELECT * FROM item WHERE id = (SELECT min(number) + 6 FROM line WHERE orders = 2)
----
scan 6/2 rows 1
get 3/7

-- reads
SELECT * FROM item WHERE id IN (SELECT 7 UNION SELECT 9)
----
get 3/7
get 3/9

-- reads
SELECT * FROM shop WHERE EXISTS (SELECT 1 FROM item WHERE item.shop = shop.id AND price = 30)
----
scan 1 rows 2
scan 5/1/30 rows 0
scan 5/2/30 rows 1
get 3/9

-- reads
SELECT * FROM item WHERE id = 7 FOR UPDATE
----
get 3/7 for update

-- reads
SELECT * FROM item WHERE price = 20 FOR UPDATE
----
scan 4/20 rows 1
get 3/8 for update

-- reads
SELECT * FROM item i JOIN shop s ON s.id = i.shop WHERE i.id = 7 FOR SHARE OF s
----
get 3/7
get 1/1
get 1/1 for share

-- reads
SELECT * FROM item WHERE id = 7 FOR UPDATE SKIP LOCKED
----
get 3/7 for update

-- reads
UPDATE item SET price = price + 1 WHERE id = 7
----
get 3/7 for update
put 3/7 columns [2]
delete 4/10/7
put 4/11/7
delete 5/1/10/7
put 5/1/11/7

-- reads
UPDATE item SET name = 'n' WHERE name = 'saw'
----
scan 3 rows 4
get 3/9 for update
put 3/9 columns [3]

-- reads
DELETE FROM line WHERE orders = 2 AND number = 1
----
get 6/2/1 for update
delete 6/2/1

-- reads
SELECT * FROM heap WHERE a = 1
----
scan 7 rows 2

-- reads
UPDATE heap SET b = 'z' WHERE a = 2
----
scan 7 rows 2
get 7/2 for update
put 7/2 columns [1]

SELECT * FROM heap ORDER BY a
----
a|b
1|x
2|z

EXPLAIN SELECT * FROM item WHERE id = 7
----
QUERY PLAN
point read item/7

EXPLAIN SELECT * FROM item WHERE shop = 1 AND price >= 10
----
QUERY PLAN
range item@item_shop_price/1 10..

EXPLAIN SELECT * FROM item, shop WHERE item.shop = shop.id AND shop.name = 'A'
----
QUERY PLAN
nested loop
  point read shop@shop_name_key/A, filtered
  range item@item_shop_price/…

EXPLAIN SELECT * FROM item a JOIN item b ON a.name = b.name
----
QUERY PLAN
hash join
  scan item
  scan item
