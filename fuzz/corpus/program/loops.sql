-- dialect: mysql
CREATE TABLE queue (id INT PRIMARY KEY, state VARCHAR(10) NOT NULL, tries INT DEFAULT 0);
INSERT INTO queue VALUES (1, 'new', 0), (2, 'new', 3), (3, 'done', 1);
DELIMITER //
CREATE PROCEDURE drain(IN most INT, INOUT seen INT, OUT last INT)
BEGIN
  DECLARE n, m INT DEFAULT 0;
  SET last = NULL, m = most * 2;
  FOR job IN (SELECT id, tries FROM queue WHERE state = 'new' ORDER BY id) DO
    IF job.tries > 2 THEN
      DELETE FROM queue WHERE id = job.id;
    ELSEIF job.tries = 0 THEN
      UPDATE queue SET state = 'done', tries = tries + 1 WHERE id = job.id;
    ELSE
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'never';
    END IF;
    SET last = job.id, n = n + 1;
  END FOR;
  again: WHILE n < m DO
    SET n = n + 1;
    CASE n WHEN 3 THEN LEAVE again; ELSE ITERATE again; END CASE;
  END WHILE again;
  SET seen = seen + n;
  IF seen > 100 THEN ROLLBACK; END IF;
END //
DELIMITER ;
SESSION a: CALL drain(2, @s, @l); CALL drain(1, @s, @l) AT snapshot;
SESSION b: CALL drain(5, @t, @l) AT rc;
ASSERT 'nothing new': (SELECT COUNT(*) FROM queue WHERE state = 'new') = 0 AND a[1].outcome = 'committed' AND b[1].last IS NULL;
