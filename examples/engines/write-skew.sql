CREATE TABLE doctor (id INT PRIMARY KEY, on_call INT NOT NULL);
INSERT INTO doctor VALUES (1, 1), (2, 1);

CREATE PROCEDURE go_home(IN me INT)
BEGIN
  DECLARE others INT;
  SELECT COUNT(*) INTO others FROM doctor WHERE on_call = 1 AND id <> me;
  IF others > 0 THEN
    UPDATE doctor SET on_call = 0 WHERE id = me;
  END IF;
END;

SESSION ann: CALL go_home(1);
SESSION bob: CALL go_home(2);

ASSERT 'somebody is on call': (SELECT COUNT(*) FROM doctor WHERE on_call = 1) > 0;
