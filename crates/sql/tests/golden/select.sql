CREATE TABLE t (id int PRIMARY KEY, a int, b text, c numeric(10,2));
INSERT INTO t VALUES (1, 10, 'x', 1.50), (2, 20, 'y', 2.25), (3, NULL, 'x', NULL), (4, 10, NULL, 0.25)
----
CREATE TABLE
INSERT 4

SELECT 1, 'a', NULL, true, 1.5, -9223372036854775808
----
?column?|?column?|?column?|bool|?column?|?column?
1|a|NULL|t|1.5|-9223372036854775808

SELECT * FROM t WHERE a = 10 ORDER BY id
----
id|a|b|c
1|10|x|1.50
4|10|NULL|0.25

SELECT id, a + 1 AS more, b || '!' FROM t ORDER BY a DESC, id
----
id|more|?column?
3|NULL|x!
2|21|y!
1|11|x!
4|11|NULL

SELECT t.*, x.id AS other FROM t JOIN t AS x ON x.id = t.id + 1 ORDER BY t.id
----
id|a|b|c|other
1|10|x|1.50|2
2|20|y|2.25|3
3|NULL|x|NULL|4

SELECT b, count(*), sum(a), avg(c), min(id), max(b) FROM t GROUP BY b ORDER BY b
----
b|count|sum|avg|min|max
x|2|10|1.50000000000000000000|1|x
y|1|20|2.2500000000000000|2|y
NULL|1|10|0.25000000000000000000|4|NULL

SELECT b, count(*) FROM t GROUP BY 1 HAVING count(*) > 1
----
b|count
x|2

SELECT count(*), count(a), count(DISTINCT a), sum(a) FILTER (WHERE id < 3) FROM t
----
count|count|count|sum
4|3|2|30

SELECT count(*) FROM t WHERE false
----
count
0

SELECT sum(a) FROM t WHERE false
----
sum
NULL

SELECT id, b FROM t GROUP BY id ORDER BY id
----
id|b
1|x
2|y
3|x
4|NULL

SELECT a, b FROM t GROUP BY a
----
ERROR 42803: column "t.b" must appear in the GROUP BY clause or be used in an aggregate function

SELECT a FROM t WHERE count(*) > 1
----
ERROR 42803: aggregate functions are not allowed in WHERE

SELECT DISTINCT a FROM t ORDER BY a
----
a
10
20
NULL

SELECT DISTINCT ON (b) b, id FROM t ORDER BY b, id DESC
----
b|id
x|3
y|2
NULL|4

SELECT a FROM t ORDER BY a NULLS FIRST, id LIMIT 2 OFFSET 1
----
a
10
10

SELECT id FROM t WHERE a IN (10, NULL) ORDER BY id
----
id
1
4

SELECT id FROM t WHERE a NOT IN (20, NULL) ORDER BY id
----
id

SELECT id FROM t WHERE a NOT IN (SELECT a FROM t WHERE a = 20)
----
id
1
4

SELECT id FROM t WHERE a NOT IN (SELECT a FROM t)
----
id

SELECT id FROM t WHERE a > ALL (SELECT a FROM t WHERE id = 1)
----
id
2

SELECT id FROM t WHERE a = ANY (ARRAY[10, 30]) ORDER BY id
----
id
1
4

SELECT id, (SELECT count(*) FROM t AS u WHERE u.a = t.a) FROM t ORDER BY id
----
id|count
1|2
2|1
3|0
4|2

SELECT id FROM t WHERE (SELECT id FROM t) = 1
----
ERROR 21000: more than one row returned by a subquery used as an expression

SELECT id, CASE WHEN a > 10 THEN 'big' WHEN a IS NULL THEN 'none' ELSE 'small' END FROM t ORDER BY id
----
id|case
1|small
2|big
3|none
4|small

SELECT COALESCE(a, 0), NULLIF(a, 10), GREATEST(a, id, 5), LEAST(a, id) FROM t ORDER BY id
----
coalesce|nullif|greatest|least
10|NULL|10|1
20|20|20|2
0|NULL|5|3
10|NULL|10|4

SELECT a IS DISTINCT FROM 10, a IS NULL, (a = 10) IS TRUE, (a = 10) IS NOT TRUE FROM t ORDER BY id
----
?column?|?column?|?column?|?column?
f|f|t|f
t|f|f|t
t|t|f|t
f|f|t|f

SELECT id FROM t WHERE NOT (a = 10 AND b = 'x') ORDER BY id
----
id
2

SELECT 1 UNION SELECT 2 UNION SELECT 1 ORDER BY 1
----
?column?
1
2

SELECT a FROM t UNION ALL SELECT id FROM t ORDER BY a LIMIT 3
----
a
1
2
3

SELECT a FROM t INTERSECT SELECT 10
----
a
10

SELECT a FROM t EXCEPT SELECT 10 ORDER BY 1
----
a
20
NULL

SELECT a FROM t EXCEPT ALL SELECT 10 ORDER BY 1
----
a
10
20
NULL

VALUES (1, 'a'), (2, NULL)
----
column1|column2
1|a
2|NULL

SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (n, s) WHERE n = 2
----
n|s
2|b

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i), count(*) FROM n
----
sum|count
15|5

WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b
----
x|y
1|2

SELECT * FROM t AS l LEFT JOIN t AS r ON r.id = l.a / 10 ORDER BY l.id
----
id|a|b|c|id|a|b|c
1|10|x|1.50|1|10|x|1.50
2|20|y|2.25|2|20|y|2.25
3|NULL|x|NULL|NULL|NULL|NULL|NULL
4|10|NULL|0.25|1|10|x|1.50

SELECT l.id, r.id FROM t AS l RIGHT JOIN t AS r ON r.id = l.a / 10 ORDER BY r.id, l.id
----
id|id
1|1
4|1
2|2
NULL|3
NULL|4

SELECT l.id, r.id FROM (SELECT * FROM t WHERE id < 3) AS l FULL JOIN (SELECT * FROM t WHERE id > 1) AS r ON r.id = l.id ORDER BY 1, 2
----
id|id
1|NULL
2|2
NULL|3
NULL|4

SELECT * FROM (SELECT 1 AS id, 2 AS x) AS l JOIN (SELECT 1 AS id, 3 AS y) AS r USING (id)
----
id|x|y
1|2|3

SELECT * FROM (SELECT 1 AS id, 2 AS x) AS l NATURAL JOIN (SELECT 1 AS id, 3 AS y) AS r
----
id|x|y
1|2|3

SELECT t.id, l.m FROM t, LATERAL (SELECT max(u.id) AS m FROM t AS u WHERE u.a = t.a) AS l ORDER BY t.id
----
id|m
1|4
2|2
3|NULL
4|4

SELECT id, row_number() OVER (ORDER BY id DESC), sum(a) OVER (PARTITION BY b ORDER BY id), rank() OVER (ORDER BY a) FROM t ORDER BY id
----
id|row_number|sum|rank
1|4|10|1
2|3|20|3
3|2|10|4
4|1|10|1

SELECT id, lag(id) OVER (ORDER BY id), lead(id, 2, 0) OVER (ORDER BY id), sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t ORDER BY id
----
id|lag|lead|sum
1|NULL|3|3
2|1|4|6
3|2|0|9
4|3|0|7

SELECT b, sum(a), sum(sum(a)) OVER () FROM t GROUP BY b ORDER BY b
----
b|sum|sum
x|10|40
y|20|40
NULL|10|40

SELECT a, b, count(*), GROUPING(a, b) FROM t GROUP BY ROLLUP (a, b) ORDER BY 4, 1, 2
----
a|b|count|grouping
10|x|1|0
10|NULL|1|0
20|y|1|0
NULL|x|1|0
10|NULL|2|1
20|NULL|1|1
NULL|NULL|1|1
NULL|NULL|4|3

SELECT string_agg(b, ',' ORDER BY id DESC) FROM t
----
string_agg
x,y,x

SELECT * FROM generate_series(1, 3) AS g
----
g
1
2
3

SELECT g, s FROM generate_series(1, 2) AS g, generate_series(g, 2) AS s ORDER BY 1, 2
----
g|s
1|1
1|2
2|2

SELECT (ARRAY[5, 6, 7])[2], ARRAY(SELECT id FROM t ORDER BY id)
----
array|array
6|{1,2,3,4}

SELECT DATE '2024-02-29' + 1, INTERVAL '1 day', EXTRACT(year FROM DATE '2024-02-29')
----
?column?|interval|extract
2024-03-01|1 day|2024

SELECT '12'::int + 1, CAST('2.50' AS numeric(4,1)), substring('hello' FROM 2 FOR 3), trim(both 'x' from 'xxaxx'), position('l' in 'hello')
----
?column?|numeric|substring|btrim|position
13|2.5|ell|a|3

SELECT 1 / 0
----
ERROR 22012: division by zero

SELECT nosuch FROM t
----
ERROR 42703: column "nosuch" does not exist

SELECT id FROM t JOIN t AS u ON true
----
ERROR 42702: column reference "id" is ambiguous

SELECT * FROM missing
----
ERROR 42P01: relation "missing" does not exist

SELECT x.id FROM t
----
ERROR 42P01: missing FROM-clause entry for table "x"

SELEC 1
----
ERROR 42601: syntax error: Expected: an SQL statement, found: SELEC at 1:1

SELECT 'abc' + 1
----
ERROR 22P02: invalid input syntax for type integer: "abc"

SELECT id FROM t WHERE a
----
ERROR 42804: argument of WHERE must be type boolean, not type integer

-- parameters: 3 x
SELECT id, $2 || '?' FROM t WHERE id = $1
----
id|?column?
3|x?

-- parameters: 2
SELECT id FROM t ORDER BY id LIMIT $1
----
id
1
2

CREATE VIEW v AS SELECT id, a * 2 AS twice FROM t WHERE a IS NOT NULL
----
CREATE VIEW

SELECT * FROM v WHERE id = 2
----
id|twice
2|40

-- reads
SELECT * FROM v WHERE id = 2
----
get 1/2

SELECT a, b FROM t WHERE (a, b) = (10, 'x')
----
a|b
10|x

SELECT id FROM t WHERE (a, id) < (10, 4) ORDER BY id
----
id
1

SELECT id FROM t WHERE (a, b) IN (SELECT 10, 'x')
----
id
1

SELECT count(*) FROM t a, t b, t c WHERE a.id = b.id AND b.id = c.id
----
count
4

CREATE TABLE guarded (id int PRIMARY KEY, day date, amount numeric(5, 2))
----
CREATE TABLE

-- parameters: 1 2020-01-01 3.5
INSERT INTO guarded SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM guarded WHERE id = $1)
----
INSERT 1

SELECT * FROM guarded
----
id|day|amount
1|2020-01-01|3.50
