CREATE TABLE post (id INT PRIMARY KEY, comments INT NOT NULL);
CREATE TABLE remark (id INT PRIMARY KEY);
INSERT INTO post VALUES (1, 0);

CREATE PROCEDURE add(IN number INT, OUT before INT, OUT after INT)
BEGIN
  SELECT COUNT(*) INTO before FROM remark;
  UPDATE post SET comments = comments + 1 WHERE id = 1;
  SELECT COUNT(*) INTO after FROM remark;
  INSERT INTO remark VALUES (number);
END;

SESSION ann: CALL add(1, @before, @after);
SESSION bob: CALL add(2, @before, @after);

ASSERT 'what is counted after the write is right':
  ann[1].outcome = 'aborted' OR bob[1].outcome = 'aborted' OR ann[1].after + bob[1].after = 1;
ASSERT 'what is counted before the write is right':
  ann[1].outcome = 'aborted' OR bob[1].outcome = 'aborted' OR ann[1].before + bob[1].before = 1;
