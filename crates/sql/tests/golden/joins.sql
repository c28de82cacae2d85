CREATE TABLE o (id int PRIMARY KEY, b int, t text, n numeric, c char(4), v bigint);
CREATE TABLE i (id int PRIMARY KEY, a int, t text, n numeric, c char(4), w smallint);
CREATE TABLE j (id int PRIMARY KEY, a int, k int);
CREATE TABLE empty (id int PRIMARY KEY, a int);
CREATE TABLE keyed (id int PRIMARY KEY, a int UNIQUE, r int);
CREATE INDEX keyed_r ON keyed (r);
CREATE TABLE heap (a int, b int)
----
CREATE TABLE
CREATE TABLE
CREATE TABLE
CREATE TABLE
CREATE TABLE
CREATE INDEX
CREATE TABLE

INSERT INTO o VALUES (1, 1, 'x', 1.0, 'a', 1), (2, 2, 'y', 2.50, 'b ', 2), (3, NULL, NULL, NULL, NULL, NULL), (4, 2, 'Y', 3, 'c', 3), (5, 9, 'z', 9, 'z', 9);
INSERT INTO i VALUES (1, 2, 'y', 2.5, 'b', 2), (2, 2, 'x', 1, 'a   ', 1), (3, NULL, NULL, NULL, NULL, NULL), (4, 3, 'w', 3.00, 'q', 3), (5, 1, 'x', 7, 'c', 4);
INSERT INTO j VALUES (1, 1, 5), (2, 2, 1), (3, 2, 2), (4, NULL, 4);
INSERT INTO keyed VALUES (1, 2, 1), (2, 1, 1), (3, NULL, 2), (4, 9, NULL);
INSERT INTO heap VALUES (1, 1), (2, 1), (2, NULL), (NULL, 3)
----
INSERT 5
INSERT 5
INSERT 4
INSERT 4
INSERT 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
id
3
5

-- reads once
SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE o.b = i.a AND i.id > 1)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE o.b = i.a AND i.id > 1)
----
scan 1 rows 5
scan 2 from 2 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.id > 1 AND i.a = o.b AND i.t = o.t)
----
id
1

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.id > 1 AND i.a = o.b AND i.t = o.t)
----
scan 1 rows 5
scan 2 from 2 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND i.t < o.t)
----
id
2

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND i.t < o.t)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a < o.b)
----
id
2
4
5

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a < o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a IS NOT DISTINCT FROM o.b)
----
id
1
2
3
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a IS NOT DISTINCT FROM o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.t = o.t)
----
id
1
2

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.n = o.n)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.n = o.n)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.n)
----
id
1
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.n)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.n = o.b)
----
id
1

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.n = o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.w = o.v)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.w = o.v)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.c = o.c)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.c = o.c)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.t = o.c)
----
id

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.t = o.c)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a + 1 = o.b)
----
id
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a + 1 = o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b + 1)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b + 1)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE (SELECT k FROM j WHERE j.id = i.id) > 1 AND i.a = o.b)
----
id
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE (SELECT k FROM j WHERE j.id = i.id) > 1 AND i.a = o.b)
----
scan 1 rows 5
scan 2 rows 5
get 3/1
get 3/2
get 3/3
get 3/4
get 3/5 absent

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND (SELECT k FROM j WHERE j.id = i.id) > 1)
----
id
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND (SELECT k FROM j WHERE j.id = i.id) > 1)
----
scan 1 rows 5
scan 2 rows 5
get 3/3
get 3/5 absent
get 3/1
get 3/2
get 3/4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND EXISTS (SELECT 1 FROM j WHERE j.a = i.a AND j.k = o.id))
----
id
2

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND EXISTS (SELECT 1 FROM j WHERE j.a = i.a AND j.k = o.id))
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b OR i.t = o.t)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b OR i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.id = o.b)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.id = o.b)
----
scan 1 rows 5
get 5/1
get 5/2
get 5/9 absent

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.a = o.b)
----
id
1
2
4
5

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.a = o.b)
----
scan 1 rows 5
get 6/1
get 5/2
get 6/2
get 5/1
get 6/9
get 5/4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.r = o.b)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.r = o.b)
----
scan 1 rows 5
scan 7/1 rows 2
get 5/1
scan 7/2 rows 1
get 5/3
scan 7/9 rows 0

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM empty WHERE empty.a = o.b)
----
id

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM empty WHERE empty.a = o.b)
----
scan 1 rows 5
scan 4 rows 0

SELECT id FROM empty WHERE EXISTS (SELECT 1 FROM i WHERE i.a = empty.a)
----
id

-- reads once
SELECT id FROM empty WHERE EXISTS (SELECT 1 FROM i WHERE i.a = empty.a)
----
scan 4 rows 0

SELECT id FROM o WHERE id = 99 AND EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
id

-- reads once
SELECT id FROM o WHERE id = 99 AND EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
get 1/99 absent

SELECT id FROM o WHERE b > 100 AND EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
id

-- reads once
SELECT id FROM o WHERE b > 100 AND EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i JOIN j ON i.a = j.a WHERE i.t = o.t)
----
id
1
2

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i JOIN j ON i.a = j.a WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i JOIN j ON i.a = j.a AND j.k = o.id WHERE i.t = o.t)
----
id
1
2

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i JOIN j ON i.a = j.a AND j.k = o.id WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i LEFT JOIN j ON i.a = j.a WHERE i.t = o.t AND j.id IS NULL)
----
id

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i LEFT JOIN j ON i.a = j.a WHERE i.t = o.t AND j.id IS NULL)
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i JOIN keyed ON keyed.id = i.a WHERE i.t = o.t)
----
id
1
2

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i JOIN keyed ON keyed.id = i.a WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5
get 5/2

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM heap WHERE heap.a = o.b)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM heap WHERE heap.a = o.b)
----
scan 1 rows 5
scan 8 rows 4

SELECT id FROM o WHERE b IN (SELECT a FROM i)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE b IN (SELECT a FROM i)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b NOT IN (SELECT a FROM i)
----
id

-- reads once
SELECT id FROM o WHERE b NOT IN (SELECT a FROM i)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b NOT IN (SELECT a FROM i WHERE a IS NOT NULL)
----
id
5

-- reads once
SELECT id FROM o WHERE b NOT IN (SELECT a FROM i WHERE a IS NOT NULL)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b IN (SELECT a FROM i WHERE i.t = o.t)
----
id
1
2

-- reads once
SELECT id FROM o WHERE b IN (SELECT a FROM i WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b NOT IN (SELECT a FROM i WHERE i.t = o.t)
----
id
3
4
5

-- reads once
SELECT id FROM o WHERE b NOT IN (SELECT a FROM i WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE (b, t) IN (SELECT a, t FROM i)
----
id
1
2

-- reads once
SELECT id FROM o WHERE (b, t) IN (SELECT a, t FROM i)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE (b, t) NOT IN (SELECT a, t FROM i)
----
id

-- reads once
SELECT id FROM o WHERE (b, t) NOT IN (SELECT a, t FROM i)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE n IN (SELECT a FROM i)
----
id
1
4

-- reads once
SELECT id FROM o WHERE n IN (SELECT a FROM i)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b IN (SELECT n FROM i)
----
id
1

-- reads once
SELECT id FROM o WHERE b IN (SELECT n FROM i)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b IN (SELECT a FROM empty)
----
id

-- reads once
SELECT id FROM o WHERE b IN (SELECT a FROM empty)
----
scan 1 rows 5
scan 4 rows 0

SELECT id FROM o WHERE b = ANY (SELECT a FROM i)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE b = ANY (SELECT a FROM i)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b <> ALL (SELECT a FROM i WHERE a IS NOT NULL)
----
id
5

-- reads once
SELECT id FROM o WHERE b <> ALL (SELECT a FROM i WHERE a IS NOT NULL)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b = ANY (SELECT a FROM i WHERE i.t = o.t)
----
id
1
2

-- reads once
SELECT id FROM o WHERE b = ANY (SELECT a FROM i WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b > ALL (SELECT a FROM i WHERE i.t = o.t)
----
id
3
4
5

-- reads once
SELECT id FROM o WHERE b > ALL (SELECT a FROM i WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE b IN (1, 2, NULL, 7)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE b IN (1, 2, NULL, 7)
----
scan 1 rows 5

SELECT id FROM o WHERE b NOT IN (1, 2, NULL, 7)
----
id

-- reads once
SELECT id FROM o WHERE b NOT IN (1, 2, NULL, 7)
----
scan 1 rows 5

SELECT id FROM o WHERE b NOT IN (1, 7)
----
id
2
4
5

-- reads once
SELECT id FROM o WHERE b NOT IN (1, 7)
----
scan 1 rows 5

SELECT id FROM o WHERE n IN (1, 2.5, 9)
----
id
1
2
5

-- reads once
SELECT id FROM o WHERE n IN (1, 2.5, 9)
----
scan 1 rows 5

SELECT id FROM o WHERE b IN (1, 2.5, 9)
----
id
1
5

-- reads once
SELECT id FROM o WHERE b IN (1, 2.5, 9)
----
scan 1 rows 5

SELECT id FROM o WHERE t IN ('x', 'Y', 'nothing')
----
id
1
4

-- reads once
SELECT id FROM o WHERE t IN ('x', 'Y', 'nothing')
----
scan 1 rows 5

SELECT id FROM o WHERE c IN ('b', 'a  ', 'q')
----
id
1
2

-- reads once
SELECT id FROM o WHERE c IN ('b', 'a  ', 'q')
----
scan 1 rows 5

SELECT id FROM o WHERE b IN (1, (SELECT max(a) FROM j), 9)
----
id
1
2
4
5

-- reads once
SELECT id FROM o WHERE b IN (1, (SELECT max(a) FROM j), 9)
----
scan 1 rows 5
scan 3 rows 4

SELECT id FROM o WHERE b IN (1, id, 9)
----
id
1
2
5

-- reads once
SELECT id FROM o WHERE b IN (1, id, 9)
----
scan 1 rows 5

SELECT id FROM o WHERE b IN (SELECT a FROM i WHERE a > o.id)
----
id

-- reads once
SELECT id FROM o WHERE b IN (SELECT a FROM i WHERE a > o.id)
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (SELECT count(*) FROM i WHERE i.a = o.b) FROM o
----
id|count
1|1
2|2
3|0
4|2
5|0

-- reads once
SELECT id, (SELECT count(*) FROM i WHERE i.a = o.b) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (SELECT max(t) FROM i WHERE i.a = o.b AND i.id < 3) FROM o
----
id|max
1|NULL
2|y
3|NULL
4|y
5|NULL

-- reads once
SELECT id, (SELECT max(t) FROM i WHERE i.a = o.b AND i.id < 3) FROM o
----
scan 1 rows 5
scan 2 to 2 rows 2

SELECT id, (SELECT i.id FROM i WHERE i.a = o.b ORDER BY i.id DESC LIMIT 1) FROM o
----
id|id
1|5
2|2
3|NULL
4|2
5|NULL

-- reads once
SELECT id, (SELECT i.id FROM i WHERE i.a = o.b ORDER BY i.id DESC LIMIT 1) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (SELECT i.id FROM i WHERE i.a = o.b LIMIT 1) FROM o
----
id|id
1|5
2|1
3|NULL
4|1
5|NULL

-- reads once
SELECT id, (SELECT i.id FROM i WHERE i.a = o.b LIMIT 1) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, ARRAY(SELECT i.id FROM i WHERE i.a = o.b) FROM o
----
id|array
1|{5}
2|{1,2}
3|{}
4|{1,2}
5|{}

-- reads once
SELECT id, ARRAY(SELECT i.id FROM i WHERE i.a = o.b) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (SELECT sum(k) FROM i JOIN j ON j.a = i.a WHERE i.t = o.t) FROM o
----
id|sum
1|8
2|3
3|NULL
4|NULL
5|NULL

-- reads once
SELECT id, (SELECT sum(k) FROM i JOIN j ON j.a = i.a WHERE i.t = o.t) FROM o
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT id, (SELECT string_agg(d.t, ',') FROM (SELECT DISTINCT t FROM i WHERE i.a = o.b) d) FROM o
----
id|string_agg
1|x
2|y,x
3|NULL
4|y,x
5|NULL

-- reads once
SELECT id, (SELECT string_agg(d.t, ',') FROM (SELECT DISTINCT t FROM i WHERE i.a = o.b) d) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (SELECT count(*) FROM (SELECT a FROM i GROUP BY a HAVING count(*) > 1) g WHERE g.a = o.b) FROM o
----
id|count
1|0
2|1
3|0
4|1
5|0

-- reads once
SELECT id, (SELECT count(*) FROM (SELECT a FROM i GROUP BY a HAVING count(*) > 1) g WHERE g.a = o.b) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (SELECT count(*) FROM i WHERE i.a = o.b UNION ALL SELECT 1 WHERE false) FROM o
----
id|?column?
1|1
2|2
3|0
4|2
5|0

-- reads once
SELECT id, (SELECT count(*) FROM i WHERE i.a = o.b UNION ALL SELECT 1 WHERE false) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (WITH c AS (SELECT a FROM i WHERE i.a = o.b) SELECT count(*) FROM c) FROM o
----
id|count
1|1
2|2
3|0
4|2
5|0

-- reads once
SELECT id, (WITH c AS (SELECT a FROM i WHERE i.a = o.b) SELECT count(*) FROM c) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT id, (WITH c AS (SELECT a FROM i) SELECT count(*) FROM c WHERE c.a = o.b) FROM o
----
id|count
1|1
2|2
3|0
4|2
5|0

-- reads once
SELECT id, (WITH c AS (SELECT a FROM i) SELECT count(*) FROM c WHERE c.a = o.b) FROM o
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, l.id FROM o, LATERAL (SELECT id FROM i WHERE i.a = o.b) l
----
id|id
1|5
2|1
2|2
4|1
4|2

-- reads once
SELECT o.id, l.id FROM o, LATERAL (SELECT id FROM i WHERE i.a = o.b) l
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, l.id FROM o LEFT JOIN LATERAL (SELECT id FROM i WHERE i.a = o.b) l ON true
----
id|id
1|5
2|1
2|2
3|NULL
4|1
4|2
5|NULL

-- reads once
SELECT o.id, l.id FROM o LEFT JOIN LATERAL (SELECT id FROM i WHERE i.a = o.b) l ON true
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, l.s FROM o, LATERAL (SELECT sum(id) AS s FROM i WHERE i.a = o.b) l
----
id|s
1|5
2|3
3|NULL
4|3
5|NULL

-- reads once
SELECT o.id, l.s FROM o, LATERAL (SELECT sum(id) AS s FROM i WHERE i.a = o.b) l
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, l.id FROM o, LATERAL (SELECT id FROM i WHERE i.a = o.b LIMIT 1) l
----
id|id
1|5
2|1
4|1

-- reads once
SELECT o.id, l.id FROM o, LATERAL (SELECT id FROM i WHERE i.a = o.b LIMIT 1) l
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o JOIN i ON i.a = o.b
----
id|id
1|5
2|1
2|2
4|1
4|2

-- reads once
SELECT o.id, i.id FROM o JOIN i ON i.a = o.b
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o JOIN i ON i.a = o.n
----
id|id
1|5
4|4

-- reads once
SELECT o.id, i.id FROM o JOIN i ON i.a = o.n
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o JOIN i ON i.c = o.c
----
id|id
1|2
2|1
4|5

-- reads once
SELECT o.id, i.id FROM o JOIN i ON i.c = o.c
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o LEFT JOIN i ON i.a = o.b
----
id|id
1|5
2|1
2|2
3|NULL
4|1
4|2
5|NULL

-- reads once
SELECT o.id, i.id FROM o LEFT JOIN i ON i.a = o.b
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o LEFT JOIN i ON i.a = o.b AND i.id > 1 AND o.id > 2
----
id|id
1|NULL
2|NULL
3|NULL
4|2
5|NULL

-- reads once
SELECT o.id, i.id FROM o LEFT JOIN i ON i.a = o.b AND i.id > 1 AND o.id > 2
----
scan 1 rows 5
scan 2 from 2 rows 4

SELECT o.id, i.id FROM o RIGHT JOIN i ON i.a = o.b
----
id|id
2|1
4|1
2|2
4|2
NULL|3
NULL|4
1|5

-- reads once
SELECT o.id, i.id FROM o RIGHT JOIN i ON i.a = o.b
----
scan 2 rows 5
scan 1 rows 5

SELECT o.id, i.id FROM o FULL JOIN i ON i.a = o.b
----
id|id
1|5
2|1
2|2
3|NULL
4|1
4|2
5|NULL
NULL|3
NULL|4

-- reads once
SELECT o.id, i.id FROM o FULL JOIN i ON i.a = o.b
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o FULL JOIN i ON i.a = o.b AND i.t = o.t
----
id|id
1|5
2|1
3|NULL
4|NULL
5|NULL
NULL|2
NULL|3
NULL|4

-- reads once
SELECT o.id, i.id FROM o FULL JOIN i ON i.a = o.b AND i.t = o.t
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o FULL JOIN i ON i.a < o.b
----
id|id
1|NULL
2|5
3|NULL
4|5
5|1
5|2
5|4
5|5
NULL|3

-- reads once
SELECT o.id, i.id FROM o FULL JOIN i ON i.a < o.b
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o JOIN i ON i.a < o.b
----
id|id
2|5
4|5
5|1
5|2
5|4
5|5

-- reads once
SELECT o.id, i.id FROM o JOIN i ON i.a < o.b
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM o JOIN i ON (SELECT k FROM j WHERE j.id = i.id) = o.b
----
id|id
1|2
2|3
4|3

-- reads once
SELECT o.id, i.id FROM o JOIN i ON (SELECT k FROM j WHERE j.id = i.id) = o.b
----
scan 1 rows 5
scan 2 rows 5
get 3/1
get 3/2
get 3/3
get 3/4
get 3/5 absent

SELECT o.id, i.id FROM o JOIN i ON i.a = o.b LIMIT 1
----
id|id
1|5

-- reads once
SELECT o.id, i.id FROM o JOIN i ON i.a = o.b LIMIT 1
----
scan 1 rows 5
scan 2 rows 5

SELECT o.id, i.id FROM empty o JOIN i ON i.a = o.a
----
id|id

-- reads once
SELECT o.id, i.id FROM empty o JOIN i ON i.a = o.a
----
scan 4 rows 0

SELECT o.id, i.id FROM empty o LEFT JOIN i ON i.a = o.a
----
id|id

-- reads once
SELECT o.id, i.id FROM empty o LEFT JOIN i ON i.a = o.a
----
scan 4 rows 0

SELECT o.id, i.id FROM i LEFT JOIN empty o ON i.a = o.a
----
id|id
NULL|1
NULL|2
NULL|3
NULL|4
NULL|5

-- reads once
SELECT o.id, i.id FROM i LEFT JOIN empty o ON i.a = o.a
----
scan 2 rows 5
scan 4 rows 0

SELECT o.id, i.id FROM empty o RIGHT JOIN i ON i.a = o.a
----
id|id
NULL|1
NULL|2
NULL|3
NULL|4
NULL|5

-- reads once
SELECT o.id, i.id FROM empty o RIGHT JOIN i ON i.a = o.a
----
scan 2 rows 5
scan 4 rows 0

SELECT o.id, i.id FROM empty o FULL JOIN i ON i.a = o.a
----
id|id
NULL|1
NULL|2
NULL|3
NULL|4
NULL|5

-- reads once
SELECT o.id, i.id FROM empty o FULL JOIN i ON i.a = o.a
----
scan 4 rows 0
scan 2 rows 5

SELECT o.id, i.id, j.id FROM o JOIN i ON i.a = o.b JOIN j ON j.a = i.a
----
id|id|id
1|5|1
2|1|2
2|1|3
2|2|2
2|2|3
4|1|2
4|1|3
4|2|2
4|2|3

-- reads once
SELECT o.id, i.id, j.id FROM o JOIN i ON i.a = o.b JOIN j ON j.a = i.a
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT o.id, keyed.id FROM o JOIN keyed ON keyed.id = o.b
----
id|id
1|1
2|2
4|2

-- reads once
SELECT o.id, keyed.id FROM o JOIN keyed ON keyed.id = o.b
----
scan 1 rows 5
get 5/1
get 5/2
get 5/9 absent

SELECT o.id, keyed.id FROM o LEFT JOIN keyed ON keyed.a = o.b
----
id|id
1|2
2|1
3|NULL
4|1
5|4

-- reads once
SELECT o.id, keyed.id FROM o LEFT JOIN keyed ON keyed.a = o.b
----
scan 1 rows 5
get 6/1
get 5/2
get 6/2
get 5/1
get 6/9
get 5/4

SELECT o.id, keyed.id FROM o JOIN keyed ON keyed.r = o.b
----
id|id
1|1
1|2
2|3
4|3

-- reads once
SELECT o.id, keyed.id FROM o JOIN keyed ON keyed.r = o.b
----
scan 1 rows 5
scan 7/1 rows 2
get 5/1
get 5/2
scan 7/2 rows 1
get 5/3
scan 7/9 rows 0

SELECT x.id, y.id FROM o x JOIN o y ON x.b = y.b
----
id|id
1|1
2|2
2|4
4|2
4|4
5|5

-- reads once
SELECT x.id, y.id FROM o x JOIN o y ON x.b = y.b
----
scan 1 rows 5

SELECT id FROM o x WHERE EXISTS (SELECT 1 FROM o y WHERE y.b = x.b AND y.id <> x.id)
----
id
2
4

-- reads once
SELECT id FROM o x WHERE EXISTS (SELECT 1 FROM o y WHERE y.b = x.b AND y.id <> x.id)
----
scan 1 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) AND EXISTS (SELECT 1 FROM j WHERE j.a = o.b)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) AND EXISTS (SELECT 1 FROM j WHERE j.a = o.b)
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) OR EXISTS (SELECT 1 FROM j WHERE j.a = o.b)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) OR EXISTS (SELECT 1 FROM j WHERE j.a = o.b)
----
scan 1 rows 5
scan 2 rows 5
scan 3 rows 4

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) ORDER BY id LIMIT 1
----
id
1

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) ORDER BY id LIMIT 1
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) LIMIT 1
----
id
1

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) LIMIT 1
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b FOR UPDATE)
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b FOR UPDATE)
----
scan 1 rows 5
scan 2 rows 5
get 2/5 for update
get 2/1 for update

SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) FOR UPDATE
----
id
1
2
4

-- reads once
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) FOR UPDATE
----
scan 1 rows 5
scan 2 rows 5
get 1/1 for update
get 1/2 for update
get 1/4 for update

SELECT id FROM o WHERE CASE WHEN id > 2 THEN EXISTS (SELECT 1 FROM i WHERE i.a = o.b) ELSE false END
----
id
4

-- reads once
SELECT id FROM o WHERE CASE WHEN id > 2 THEN EXISTS (SELECT 1 FROM i WHERE i.a = o.b) ELSE false END
----
scan 1 rows 5
scan 2 rows 5

SELECT b, count(*) FROM o GROUP BY b HAVING EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
b|count
1|1
2|2

-- reads once
SELECT b, count(*) FROM o GROUP BY b HAVING EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
scan 1 rows 5
scan 2 rows 5

SELECT id FROM o ORDER BY (SELECT count(*) FROM i WHERE i.a = o.b), id
----
id
3
5
1
2
4

-- reads once
SELECT id FROM o ORDER BY (SELECT count(*) FROM i WHERE i.a = o.b), id
----
scan 1 rows 5
scan 2 rows 5

WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT r.x + 1 FROM r WHERE EXISTS (SELECT 1 FROM i WHERE i.a = r.x)) SELECT * FROM r
----
x
1
2
3
4

-- reads once
WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT r.x + 1 FROM r WHERE EXISTS (SELECT 1 FROM i WHERE i.a = r.x)) SELECT * FROM r
----
scan 2 rows 5

WITH RECURSIVE r AS (SELECT 1 AS x UNION SELECT j.k FROM r JOIN j ON j.a = r.x) SELECT * FROM r
----
x
1
5

-- reads once
WITH RECURSIVE r AS (SELECT 1 AS x UNION SELECT j.k FROM r JOIN j ON j.a = r.x) SELECT * FROM r
----
scan 3 rows 4

WITH m AS (SELECT a FROM i) SELECT id FROM o WHERE EXISTS (SELECT 1 FROM m WHERE m.a = o.b)
----
id
1
2
4

-- reads once
WITH m AS (SELECT a FROM i) SELECT id FROM o WHERE EXISTS (SELECT 1 FROM m WHERE m.a = o.b)
----
scan 2 rows 5
scan 1 rows 5

WITH m AS (SELECT a FROM i) SELECT id FROM o WHERE b IN (SELECT a FROM m) AND b NOT IN (SELECT a FROM m WHERE a > 1)
----
id
1

-- reads once
WITH m AS (SELECT a FROM i) SELECT id FROM o WHERE b IN (SELECT a FROM m) AND b NOT IN (SELECT a FROM m WHERE a > 1)
----
scan 2 rows 5
scan 1 rows 5

-- reads once
UPDATE o SET v = (SELECT count(*) FROM i WHERE i.a = o.b)
----
scan 1 rows 5
get 1/1 for update
get 1/2 for update
get 1/3 for update
get 1/4 for update
get 1/5 for update
scan 2 rows 5
put 1/1 columns [5]
put 1/2 columns [5]
put 1/3 columns [5]
put 1/4 columns [5]
put 1/5 columns [5]

TABLE o
----
id|b|t|n|c|v
1|1|x|1.0|a   |1
2|2|y|2.50|b   |2
3|NULL|NULL|NULL|NULL|0
4|2|Y|3|c   |2
5|9|z|9|z   |0

-- reads once
UPDATE o SET v = v + 1 WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
scan 1 rows 5
scan 2 rows 5
get 1/1 for update
get 1/2 for update
get 1/4 for update
put 1/1 columns [5]
put 1/2 columns [5]
put 1/4 columns [5]

TABLE o
----
id|b|t|n|c|v
1|1|x|1.0|a   |2
2|2|y|2.50|b   |3
3|NULL|NULL|NULL|NULL|0
4|2|Y|3|c   |3
5|9|z|9|z   |0

-- reads once
UPDATE o SET v = (SELECT count(*) FROM o p WHERE p.b = o.b)
----
scan 1 rows 5
get 1/1 for update
get 1/2 for update
get 1/3 for update
get 1/4 for update
get 1/5 for update
put 1/1 columns [5]
put 1/2 columns [5]
put 1/3 columns [5]
put 1/4 columns [5]
put 1/5 columns [5]

TABLE o
----
id|b|t|n|c|v
1|1|x|1.0|a   |1
2|2|y|2.50|b   |2
3|NULL|NULL|NULL|NULL|0
4|2|Y|3|c   |2
5|9|z|9|z   |1

-- reads once
UPDATE o SET v = i.id FROM i WHERE i.a = o.b AND i.t = o.t
----
scan 1 rows 5
scan 2 rows 5
get 1/1 for update
get 1/2 for update
put 1/1 columns [5]
put 1/2 columns [5]

TABLE o
----
id|b|t|n|c|v
1|1|x|1.0|a   |5
2|2|y|2.50|b   |1
3|NULL|NULL|NULL|NULL|0
4|2|Y|3|c   |2
5|9|z|9|z   |1

-- reads once
UPDATE o SET b = 2 WHERE b IN (SELECT a FROM i WHERE i.t = o.t)
----
scan 1 rows 5
scan 2 rows 5
get 1/1 for update
get 1/2 for update
put 1/1 columns [1]
put 1/2 columns [1]

TABLE o
----
id|b|t|n|c|v
1|2|x|1.0|a   |5
2|2|y|2.50|b   |1
3|NULL|NULL|NULL|NULL|0
4|2|Y|3|c   |2
5|9|z|9|z   |1

-- reads once
INSERT INTO j SELECT id + 10, b, 0 FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b)
----
scan 1 rows 5
scan 2 rows 5
get 3/11 for update absent
put 3/11
get 3/12 for update absent
put 3/12
get 3/14 for update absent
put 3/14

TABLE o
----
id|b|t|n|c|v
1|2|x|1.0|a   |5
2|2|y|2.50|b   |1
3|NULL|NULL|NULL|NULL|0
4|2|Y|3|c   |2
5|9|z|9|z   |1

-- reads once
DELETE FROM j WHERE EXISTS (SELECT 1 FROM i WHERE i.a = j.a AND j.id > 10)
----
scan 3 rows 7
scan 2 rows 5
get 3/11 for update
get 3/12 for update
get 3/14 for update
delete 3/11
delete 3/12
delete 3/14

TABLE j
----
id|a|k
1|1|5
2|2|1
3|2|2
4|NULL|4

-- reads once
DELETE FROM j USING i WHERE i.t = 'w' AND i.a = j.k
----
scan 3 rows 4
scan 2 rows 5

TABLE j
----
id|a|k
1|1|5
2|2|1
3|2|2
4|NULL|4

-- reads once
DELETE FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a = o.b) RETURNING id, (SELECT count(*) FROM i WHERE i.a > o.b)
----
scan 1 rows 5
scan 2 rows 5
get 1/3 for update
get 1/5 for update
delete 1/3
delete 1/5

TABLE o
----
id|b|t|n|c|v
1|2|x|1.0|a   |5
2|2|y|2.50|b   |1
4|2|Y|3|c   |2

-- reads once
WITH gone AS (DELETE FROM i WHERE id = 5 RETURNING a) SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b) AND b IN (SELECT a FROM gone)
----
ERROR 0A000: a statement that uses "i" besides changing it in WITH is not supported

TABLE o
----
id|b|t|n|c|v
1|2|x|1.0|a   |5
2|2|y|2.50|b   |1
4|2|Y|3|c   |2
