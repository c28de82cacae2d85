CREATE TABLE t (a INT, b INT, v INT NOT NULL, PRIMARY KEY (a, b));
INSERT INTO t VALUES (1,2,0),(1,3,0),(1,4,0);
CREATE PROCEDURE r(IN z INT, OUT x INT, OUT y INT)
BEGIN
  UPDATE t SET v = v + 1 WHERE ((a = 1 AND b = 2) OR (a = 1 AND b = 3)) AND a <> z;
  SELECT v INTO x FROM t WHERE a = 1 AND b = 2;
  SELECT v INTO y FROM t WHERE a = 1 AND b = 4;
END;
CREATE PROCEDURE w()
BEGIN
  UPDATE t SET v = v + 1 WHERE a = 1 AND b = 2;
  UPDATE t SET v = v + 1 WHERE a = 1 AND b = 4;
END;
SESSION s1: CALL r(1, @x, @y);
SESSION s2: CALL w();
