CREATE TABLE job (id INT PRIMARY KEY, v INT NOT NULL);
INSERT INTO job VALUES (1,0),(2,0);
-- name: take
BEGIN;
SELECT pg_try_advisory_xact_lock(1);
UPDATE job SET v = v + 1 WHERE id = :i;
COMMIT;
