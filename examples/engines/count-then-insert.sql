CREATE TABLE seat (number INT PRIMARY KEY, holder TEXT NOT NULL);

CREATE PROCEDURE take_next(IN person TEXT)
BEGIN
  DECLARE taken INT;
  SELECT COUNT(*) INTO taken FROM seat;
  INSERT INTO seat VALUES (taken + 1, person);
END;

SESSION ann: CALL take_next('ann');
SESSION bob: CALL take_next('bob');

ASSERT 'nobody is refused': ann[1].outcome = 'committed' AND bob[1].outcome = 'committed';
