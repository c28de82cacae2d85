-- dialect: mysql
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), n INT);
INSERT INTO t (name, n) VALUES ('Ann', 1), ('bob', 2), (NULL, NULL)
----
CREATE TABLE
INSERT 3

SELECT * FROM t WHERE name = 'ANN'
----
id|name|n
1|Ann|1

SELECT `id`, n + 1 AS m FROM t HAVING m > 2
----
id|m
2|3

SELECT id FROM t ORDER BY n
----
id
3
1
2

SELECT 1 = 1, NOT 0, 5 DIV 2, 5 / 2, 'a' || 0, '1' || 0
----
1 = 1|NOT 0|5 DIV 2|5 / 2|'a' || 0|'1' || 0
1|1|2|2.5000|0|1

-- reads
SELECT * FROM t WHERE id = '2'
----
get 1/2

SELECT IF(n > 1, 'big', 'small'), IFNULL(n, 0) FROM t ORDER BY id
----
IF(n > 1, 'big', 'small')|IFNULL(n, 0)
small|1
big|2
small|0

SET @x = 5
----
SET

SELECT @x + 1
----
@x + 1
6

-- parameters: 2 1
SELECT id + ? FROM t WHERE n = ?
----
id + ?
3

SELECT n <=> NULL FROM t ORDER BY id
----
n <=> NULL
0
0
1

SELECT COUNT(*), GROUP_CONCAT(name ORDER BY id DESC SEPARATOR ';') FROM t
----
COUNT(*)|GROUP_CONCAT(name ORDER BY id DESC SEPARATOR ';')
3|bob;Ann

CREATE TABLE day_of (day date PRIMARY KEY, n int)
----
CREATE TABLE

INSERT INTO day_of VALUES ('2020-01-01', 1), ('2020-01-02', 2), ('2020-01-03', 3)
----
INSERT 3

SELECT n FROM day_of WHERE day = '2020-01-01'
----
n
1

SELECT n FROM day_of WHERE day >= '2020-01-02'
----
n
2
3

SELECT n FROM day_of WHERE day > '2020-01-01 12:00:00' AND day < '2020-01-03 00:00:00'
----
n
2
