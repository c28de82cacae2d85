-- A network of short messages: members follow each other, publish, and read the timeline of a member, their followers, and their
-- own news, which is what those whom they follow have published. Every member's row has the number of their messages, which is read, and
-- written with one more.
CREATE TABLE member (id INT PRIMARY KEY, tweets INT NOT NULL);
CREATE TABLE follows (follower INT, followed INT, PRIMARY KEY (follower, followed));
CREATE TABLE followers (followed INT, follower INT, PRIMARY KEY (followed, follower));
CREATE TABLE tweet (author INT, id INT, PRIMARY KEY (author, id));
INSERT INTO member VALUES (1, 0), (2, 1);
INSERT INTO tweet VALUES (2, 1000);

-- draw: follow(1..2, 1..2)
CREATE PROCEDURE follow(IN person INT, IN whom INT)
BEGIN
  IF person <> whom THEN
    INSERT INTO follows VALUES (person, whom);
    INSERT INTO followers VALUES (whom, person);
  END IF;
END;

-- draw: publish(1..2, new)
CREATE PROCEDURE publish(IN person INT, IN number INT)
BEGIN
  DECLARE published INT;
  SELECT tweets INTO published FROM member WHERE id = person;
  INSERT INTO tweet VALUES (person, number);
  UPDATE member SET tweets = published + 1 WHERE id = person;
END;

-- draw: get_timeline(1..2, out)
CREATE PROCEDURE get_timeline(IN person INT, OUT seen INT)
BEGIN
  SELECT COUNT(*) INTO seen FROM tweet WHERE author = person;
END;

-- draw: get_followers(1..2, out)
CREATE PROCEDURE get_followers(IN person INT, OUT seen INT)
BEGIN
  SELECT COUNT(*) INTO seen FROM followers WHERE followed = person;
END;

-- draw: get_newsfeed(1..2, out)
CREATE PROCEDURE get_newsfeed(IN person INT, OUT seen INT)
BEGIN
  DECLARE published INT;
  SET seen = 0;
  FOR friend IN (SELECT followed FROM follows WHERE follower = person) DO
    SELECT COUNT(*) INTO published FROM tweet WHERE author = friend.followed;
    SET seen = seen + published;
  END FOR;
END;

SESSION ann:       CALL follow(1, 2); CALL get_newsfeed(1, @news); CALL get_newsfeed(1, @more);
SESSION ben_home:  CALL publish(2, 1); CALL get_followers(2, @followers); CALL get_timeline(2, @home);
SESSION ben_phone: CALL publish(2, 2); CALL publish(1, 3); CALL get_timeline(2, @away);

ASSERT 'the number of messages is right':
  NOT EXISTS (SELECT 1 FROM member m WHERE tweets <> (SELECT COUNT(*) FROM tweet WHERE author = m.id));
ASSERT 'who follows is among the followers':
  (SELECT COUNT(*) FROM follows f JOIN followers g ON f.follower = g.follower AND f.followed = g.followed)
    = (SELECT COUNT(*) FROM follows);
ASSERT 'no news is lost': ann[2].seen <= ann[3].seen;
