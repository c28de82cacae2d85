CREATE TABLE setting (id INT PRIMARY KEY, value INT NOT NULL);

CREATE PROCEDURE save(IN wanted INT)
BEGIN
  UPDATE setting SET value = wanted WHERE id = 1;
  IF ROW_COUNT() = 0 THEN
    INSERT INTO setting VALUES (1, wanted);
  END IF;
END;

SESSION ann: CALL save(10);
SESSION bob: CALL save(20);

ASSERT 'nobody is refused': ann[1].outcome = 'committed' AND bob[1].outcome = 'committed';
