-- dialect: mysql
-- An encyclopedia: anybody reads pages, members watch pages and edit them. An edit adds a revision that names the one it was made
-- from, moves the page on to it, counts the member's edits, and leaves a line in the log.
CREATE TABLE page (id INT PRIMARY KEY, latest INT NOT NULL);
CREATE TABLE revision (id INT PRIMARY KEY, page INT NOT NULL, parent INT NOT NULL, author INT NOT NULL);
CREATE TABLE member (id INT PRIMARY KEY, edits INT NOT NULL);
CREATE TABLE watched (member INT, page INT, PRIMARY KEY (member, page));
CREATE TABLE edit_log (revision INT PRIMARY KEY, member INT NOT NULL);
INSERT INTO page VALUES (1, 1001), (2, 1002);
INSERT INTO revision VALUES (1001, 1, 0, 0), (1002, 2, 0, 0);
INSERT INTO member VALUES (1, 0), (2, 0);
INSERT INTO watched VALUES (1, 1);

-- draw: get_page_anonymous(1..2, out)
CREATE PROCEDURE get_page_anonymous(IN wanted INT, OUT shown INT)
BEGIN
  DECLARE newest INT;
  SELECT latest INTO newest FROM page WHERE id = wanted;
  SELECT id INTO shown FROM revision WHERE id = newest;
END;

-- draw: get_page_authenticated(1..2, 1..2, out)
CREATE PROCEDURE get_page_authenticated(IN who INT, IN wanted INT, OUT shown INT)
BEGIN
  DECLARE newest, own_edits INT;
  SELECT edits INTO own_edits FROM member WHERE id = who;
  SELECT latest INTO newest FROM page WHERE id = wanted;
  SELECT id INTO shown FROM revision WHERE id = newest;
END;

-- draw: add_watched(1..2, 1..2)
CREATE PROCEDURE add_watched(IN who INT, IN wanted INT)
BEGIN
  INSERT IGNORE INTO watched VALUES (who, wanted);
END;

-- draw: remove_watched(1..2, 1..2)
CREATE PROCEDURE remove_watched(IN who INT, IN wanted INT)
BEGIN
  DELETE FROM watched WHERE member = who AND page = wanted;
END;

-- draw: 2 update_page(new, 1..2, 1..2)
CREATE PROCEDURE update_page(IN number INT, IN who INT, IN wanted INT)
BEGIN
  DECLARE newest INT;
  SELECT latest INTO newest FROM page WHERE id = wanted;
  INSERT INTO revision VALUES (number, wanted, newest, who);
  UPDATE page SET latest = number WHERE id = wanted;
  INSERT INTO edit_log VALUES (number, who);
  UPDATE member SET edits = edits + 1 WHERE id = who;
END;

SESSION reader: CALL get_page_anonymous(1, @seen); CALL get_page_anonymous(1, @again); CALL add_watched(2, 1);
SESSION ann:    CALL update_page(1, 1, 1); CALL get_page_authenticated(1, 1, @mine); CALL remove_watched(1, 1);
SESSION ben:    CALL update_page(2, 2, 1); CALL update_page(3, 1, 2); CALL get_page_authenticated(2, 2, @his);

ASSERT 'every edit is counted in its member':
  NOT EXISTS (SELECT 1 FROM member m WHERE edits <> (SELECT COUNT(*) FROM revision WHERE author = m.id));
ASSERT 'every edit is in the log':
  (SELECT COUNT(*) FROM edit_log) = (SELECT COUNT(*) FROM revision WHERE author > 0);
ASSERT 'no edit is lost: of the revisions of a page all but one were edited further':
  NOT EXISTS (SELECT 1 FROM revision a JOIN revision b ON a.parent = b.parent AND a.page = b.page AND a.id < b.id);
ASSERT 'what a page shows is one of its revisions':
  reader[1].shown IS NOT NULL AND reader[2].shown IS NOT NULL AND ann[2].shown IS NOT NULL AND ben[3].shown IS NOT NULL;
