CREATE TABLE c1 (a int);
INSERT INTO c1 VALUES (1), (2), (3);
CREATE TABLE c2 (id int PRIMARY KEY, v int);
INSERT INTO c2 VALUES (1, 0), (2, 0), (3, 0);
CREATE SEQUENCE counter

-- a common table expression that looks at the row outside has other rows for each of them
SELECT a, (WITH c AS (SELECT a*10 AS f) SELECT (SELECT f FROM c)) FROM c1

SELECT a, (WITH c AS (SELECT a*10 AS f), d AS (SELECT f + 1 AS g FROM c) SELECT (SELECT (SELECT g FROM d))) FROM c1

SELECT a FROM c1 WHERE EXISTS (WITH c AS (SELECT a*10 AS f) SELECT 1 WHERE (SELECT f FROM c) = 20)

SELECT a, l.x FROM c1, LATERAL (WITH c AS (SELECT a*10 AS f) SELECT (SELECT f FROM c) AS x) l

SELECT a FROM c1 WHERE 20 IN (WITH c AS (SELECT a*10 AS f) SELECT (SELECT f FROM c WHERE f IN (SELECT f FROM c)))

SELECT a, (WITH c AS (SELECT a*10 AS f UNION ALL SELECT a) SELECT sum((SELECT max(f) FROM c) + d.f) FROM c d) FROM c1

SELECT a, (WITH RECURSIVE r AS (SELECT a AS n UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT max(c1.a) FROM c1)) SELECT (SELECT count(*) FROM r)) FROM c1

SELECT a, (WITH c AS (SELECT a AS f) SELECT count(*) FROM c1 x JOIN c ON c.f = x.a WHERE EXISTS (SELECT 1 FROM c WHERE c.f = x.a)) FROM c1

UPDATE c2 SET v = (WITH c AS (SELECT id*10 AS f) SELECT (SELECT f FROM c)) RETURNING id, v

-- one that does not is evaluated once
SELECT a, (WITH c AS (SELECT nextval('counter') AS f) SELECT f*100 + a FROM c) FROM c1

SELECT a, l.* FROM c1, LATERAL (WITH c AS (SELECT nextval('counter') AS f) SELECT f, c1.a AS b FROM c) l

SELECT a, (WITH c AS (SELECT a AS f), d AS (SELECT nextval('counter') AS g FROM c) SELECT (SELECT g FROM d) + 0*f FROM c) FROM c1

CREATE TABLE sorted (a int, b text);
INSERT INTO sorted VALUES (1, 'x'), (2, 'y'), (NULL, NULL), (2, 'Z'), (3, '')

SELECT a FROM sorted ORDER BY a USING >

SELECT a FROM sorted ORDER BY a USING <

SELECT a, b FROM sorted ORDER BY a USING > NULLS LAST, b USING <

SELECT a FROM sorted ORDER BY a USING OPERATOR(pg_catalog.>) NULLS LAST

SELECT b FROM sorted ORDER BY b USING ~>~

SELECT array_agg(a ORDER BY a USING >), string_agg(b, ',' ORDER BY b USING >) FROM sorted

SELECT a FROM sorted UNION SELECT 9 ORDER BY a USING >

SELECT a, row_number() OVER (ORDER BY a USING >, b) FROM sorted ORDER BY 2

SELECT a FROM sorted ORDER BY a USING <=

SELECT a FROM sorted ORDER BY a USING ~<~

SELECT a FROM sorted ORDER BY a USING OPERATOR(nope.>)

SELECT 'a%b' LIKE 'a%%b' ESCAPE '%', 'axb' LIKE 'a%b' ESCAPE '%', 'a_b' LIKE 'a__b' ESCAPE '_', 'axb' LIKE 'a__b' ESCAPE '_'

SELECT 'a#' LIKE 'a##' ESCAPE '#', 'a%' LIKE 'a#%' ESCAPE '#', 'ax' LIKE 'a#%' ESCAPE '#', 'a%b' NOT LIKE 'a%%b' ESCAPE '%', 'A%B' ILIKE 'a%%b' ESCAPE '%'

SELECT 'a\b' LIKE 'a\b' ESCAPE '', 'ab' LIKE 'a\b' ESCAPE '', 'a\b' LIKE 'a\b' ESCAPE '#', 'a\b' LIKE 'a#\b' ESCAPE '#', 'a\b' LIKE 'a\\b' ESCAPE '\'

SELECT 'aé' LIKE 'aéé' ESCAPE 'é', 'aBc' LIKE 'aBBc' ESCAPE 'B', 'abc' ILIKE 'aBbc' ESCAPE 'B', 'a' LIKE 'a' ESCAPE NULL

SELECT like_escape('a%%b', '%'), like_escape('a\b', '\'), like_escape('a\b', '')

SELECT 'a' LIKE 'a' ESCAPE 'xx'

SELECT 'ab' LIKE 'a%' ESCAPE '%'

-- arrays have one dimension; what would have more is refused
SELECT array_agg(x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[3, 4])) v(x)

SELECT ARRAY(SELECT ARRAY[a] FROM c1)

SELECT array_agg(ARRAY[a, a]) OVER () FROM c1

CREATE SEQUENCE up MINVALUE 1 MAXVALUE 3 CYCLE;
CREATE SEQUENCE down INCREMENT -1 MINVALUE -3 MAXVALUE -1 CYCLE;
CREATE SEQUENCE ends MINVALUE 1 MAXVALUE 2 NO CYCLE;
CREATE SEQUENCE plain MINVALUE 1 MAXVALUE 2;
CREATE SEQUENCE steps INCREMENT 2 MINVALUE 1 MAXVALUE 4 START 2 CYCLE

SELECT nextval('up'), nextval('down'), nextval('steps') FROM generate_series(1, 5)

SELECT nextval('ends') FROM generate_series(1, 2)

SELECT nextval('ends')

SELECT nextval('plain') FROM generate_series(1, 3)

SELECT setval('up', 3), nextval('up'), setval('up', 2, false), nextval('up'), currval('up')

SELECT setval('up', 4)
