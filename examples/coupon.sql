-- A coupon may be used twice. Three customers look whether it was, and then use it. The increment itself is safe: the database locks
-- the row and reads its latest version. What was looked at before is not.
--
--   skew play coupon.sql --level causal
--   skew play coupon.sql --level snapshot
CREATE TABLE coupon (code VARCHAR(10) PRIMARY KEY, used INT NOT NULL, most INT NOT NULL);
CREATE TABLE redemption (customer INT PRIMARY KEY, code VARCHAR(10) NOT NULL);
INSERT INTO coupon VALUES ('SPRING', 0, 2);

CREATE PROCEDURE redeem(IN person INT, IN wanted VARCHAR(10))
BEGIN
  DECLARE times, limit_of INT;
  SELECT used, most INTO times, limit_of FROM coupon WHERE code = wanted;
  IF times >= limit_of THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the coupon is used up';
  END IF;
  UPDATE coupon SET used = used + 1 WHERE code = wanted;
  INSERT INTO redemption VALUES (person, wanted);
END;

SESSION ann:  CALL redeem(1, 'SPRING');
SESSION ben:  CALL redeem(2, 'SPRING');
SESSION cora: CALL redeem(3, 'SPRING');

ASSERT 'no more than the limit': (SELECT used <= most FROM coupon WHERE code = 'SPRING');
ASSERT 'every use is counted':
  (SELECT used FROM coupon WHERE code = 'SPRING') = (SELECT COUNT(*) FROM redemption WHERE code = 'SPRING');
