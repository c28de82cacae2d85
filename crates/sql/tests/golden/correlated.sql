CREATE TABLE c1 (a int);
INSERT INTO c1 VALUES (1), (2), (3);
CREATE TABLE c2 (id int PRIMARY KEY, v int);
INSERT INTO c2 VALUES (1, 0), (2, 0), (3, 0);
CREATE SEQUENCE counter
----
CREATE TABLE
INSERT 3
CREATE TABLE
INSERT 3
CREATE SEQUENCE

-- a common table expression that looks at the row outside has other rows for each of them
SELECT a, (WITH c AS (SELECT a*10 AS f) SELECT (SELECT f FROM c)) FROM c1
----
a|f
1|10
2|20
3|30

SELECT a, (WITH c AS (SELECT a*10 AS f), d AS (SELECT f + 1 AS g FROM c) SELECT (SELECT (SELECT g FROM d))) FROM c1
----
a|g
1|11
2|21
3|31

SELECT a FROM c1 WHERE EXISTS (WITH c AS (SELECT a*10 AS f) SELECT 1 WHERE (SELECT f FROM c) = 20)
----
a
2

SELECT a, l.x FROM c1, LATERAL (WITH c AS (SELECT a*10 AS f) SELECT (SELECT f FROM c) AS x) l
----
a|x
1|10
2|20
3|30

SELECT a FROM c1 WHERE 20 IN (WITH c AS (SELECT a*10 AS f) SELECT (SELECT f FROM c WHERE f IN (SELECT f FROM c)))
----
a
2

SELECT a, (WITH c AS (SELECT a*10 AS f UNION ALL SELECT a) SELECT sum((SELECT max(f) FROM c) + d.f) FROM c d) FROM c1
----
a|sum
1|31
2|62
3|93

SELECT a, (WITH RECURSIVE r AS (SELECT a AS n UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT max(c1.a) FROM c1)) SELECT (SELECT count(*) FROM r)) FROM c1
----
a|count
1|3
2|2
3|1

SELECT a, (WITH c AS (SELECT a AS f) SELECT count(*) FROM c1 x JOIN c ON c.f = x.a WHERE EXISTS (SELECT 1 FROM c WHERE c.f = x.a)) FROM c1
----
a|count
1|1
2|1
3|1

UPDATE c2 SET v = (WITH c AS (SELECT id*10 AS f) SELECT (SELECT f FROM c)) RETURNING id, v
----
id|v
1|10
2|20
3|30
UPDATE 3

-- one that does not is evaluated once
SELECT a, (WITH c AS (SELECT nextval('counter') AS f) SELECT f*100 + a FROM c) FROM c1
----
a|?column?
1|101
2|102
3|103

SELECT a, l.* FROM c1, LATERAL (WITH c AS (SELECT nextval('counter') AS f) SELECT f, c1.a AS b FROM c) l
----
a|f|b
1|2|1
2|2|2
3|2|3

SELECT a, (WITH c AS (SELECT a AS f), d AS (SELECT nextval('counter') AS g FROM c) SELECT (SELECT g FROM d) + 0*f FROM c) FROM c1
----
a|?column?
1|3
2|4
3|5

CREATE TABLE sorted (a int, b text);
INSERT INTO sorted VALUES (1, 'x'), (2, 'y'), (NULL, NULL), (2, 'Z'), (3, '')
----
CREATE TABLE
INSERT 5

SELECT a FROM sorted ORDER BY a USING >
----
a
NULL
3
2
2
1

SELECT a FROM sorted ORDER BY a USING <
----
a
1
2
2
3
NULL

SELECT a, b FROM sorted ORDER BY a USING > NULLS LAST, b USING <
----
a|b
3|
2|Z
2|y
1|x
NULL|NULL

SELECT a FROM sorted ORDER BY a USING OPERATOR(pg_catalog.>) NULLS LAST
----
a
3
2
2
1
NULL

SELECT b FROM sorted ORDER BY b USING ~>~
----
b
NULL
y
x
Z


SELECT array_agg(a ORDER BY a USING >), string_agg(b, ',' ORDER BY b USING >) FROM sorted
----
array_agg|string_agg
{NULL,3,2,2,1}|y,x,Z,

SELECT a FROM sorted UNION SELECT 9 ORDER BY a USING >
----
a
NULL
9
3
2
1

SELECT a, row_number() OVER (ORDER BY a USING >, b) FROM sorted ORDER BY 2
----
a|row_number
NULL|1
3|2
2|3
2|4
1|5

SELECT a FROM sorted ORDER BY a USING <=
----
ERROR 42809: operator <= is not a valid ordering operator

SELECT a FROM sorted ORDER BY a USING ~<~
----
ERROR 42883: operator does not exist: integer ~<~ integer

SELECT a FROM sorted ORDER BY a USING OPERATOR(nope.>)
----
ERROR 3F000: schema "nope" does not exist

SELECT 'a%b' LIKE 'a%%b' ESCAPE '%', 'axb' LIKE 'a%b' ESCAPE '%', 'a_b' LIKE 'a__b' ESCAPE '_', 'axb' LIKE 'a__b' ESCAPE '_'
----
?column?|?column?|?column?|?column?
t|f|t|f

SELECT 'a#' LIKE 'a##' ESCAPE '#', 'a%' LIKE 'a#%' ESCAPE '#', 'ax' LIKE 'a#%' ESCAPE '#', 'a%b' NOT LIKE 'a%%b' ESCAPE '%', 'A%B' ILIKE 'a%%b' ESCAPE '%'
----
?column?|?column?|?column?|?column?|?column?
t|t|f|f|t

SELECT 'a\b' LIKE 'a\b' ESCAPE '', 'ab' LIKE 'a\b' ESCAPE '', 'a\b' LIKE 'a\b' ESCAPE '#', 'a\b' LIKE 'a#\b' ESCAPE '#', 'a\b' LIKE 'a\\b' ESCAPE '\'
----
?column?|?column?|?column?|?column?|?column?
t|f|t|t|t

SELECT 'aé' LIKE 'aéé' ESCAPE 'é', 'aBc' LIKE 'aBBc' ESCAPE 'B', 'abc' ILIKE 'aBbc' ESCAPE 'B', 'a' LIKE 'a' ESCAPE NULL
----
?column?|?column?|?column?|?column?
t|t|t|NULL

SELECT like_escape('a%%b', '%'), like_escape('a\b', '\'), like_escape('a\b', '')
----
like_escape|like_escape|like_escape
a\%b|a\b|a\\b

SELECT 'a' LIKE 'a' ESCAPE 'xx'
----
ERROR 22025: invalid escape string

SELECT 'ab' LIKE 'a%' ESCAPE '%'
----
ERROR 22025: LIKE pattern must not end with escape character

-- arrays have one dimension; what would have more is refused
SELECT array_agg(x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[3, 4])) v(x)
----
ERROR 0A000: an array of more than one dimension is not supported

SELECT ARRAY(SELECT ARRAY[a] FROM c1)
----
ERROR 0A000: an array of more than one dimension is not supported

SELECT array_agg(ARRAY[a, a]) OVER () FROM c1
----
ERROR 0A000: an array of more than one dimension is not supported

CREATE SEQUENCE up MINVALUE 1 MAXVALUE 3 CYCLE;
CREATE SEQUENCE down INCREMENT -1 MINVALUE -3 MAXVALUE -1 CYCLE;
CREATE SEQUENCE ends MINVALUE 1 MAXVALUE 2 NO CYCLE;
CREATE SEQUENCE plain MINVALUE 1 MAXVALUE 2;
CREATE SEQUENCE steps INCREMENT 2 MINVALUE 1 MAXVALUE 4 START 2 CYCLE
----
CREATE SEQUENCE
CREATE SEQUENCE
CREATE SEQUENCE
CREATE SEQUENCE
CREATE SEQUENCE

SELECT nextval('up'), nextval('down'), nextval('steps') FROM generate_series(1, 5)
----
nextval|nextval|nextval
1|-1|2
2|-2|4
3|-3|1
1|-1|3
2|-2|1

SELECT nextval('ends') FROM generate_series(1, 2)
----
nextval
1
2

SELECT nextval('ends')
----
ERROR 2200H: nextval: reached maximum value of sequence "ends" (2)

SELECT nextval('plain') FROM generate_series(1, 3)
----
ERROR 2200H: nextval: reached maximum value of sequence "plain" (2)

SELECT setval('up', 3), nextval('up'), setval('up', 2, false), nextval('up'), currval('up')
----
setval|nextval|setval|nextval|currval
3|1|2|2|2

SELECT setval('up', 4)
----
ERROR 22003: setval: value 4 is out of bounds for sequence "up" (1..3)
