-- What people type into psql: tables, rows, transactions, descriptions, copies. Its output on PostgreSQL is psql.expected.
\set ON_ERROR_STOP on
\pset pager off
SET client_min_messages TO warning;

CREATE TABLE shelf (
    shelf_id serial PRIMARY KEY,
    label varchar(40) NOT NULL UNIQUE,
    room text DEFAULT 'hall'
);
CREATE TABLE book (
    book_id integer PRIMARY KEY,
    shelf_id integer REFERENCES shelf ON DELETE CASCADE,
    title text NOT NULL,
    price numeric(10, 2) CHECK (price >= 0.0),
    printed date,
    seen timestamp,
    cover bytea,
    is_lent boolean NOT NULL DEFAULT false
);
CREATE INDEX book_title ON book (title);
CREATE VIEW cheap AS SELECT book_id, title FROM book WHERE price < 10;

INSERT INTO shelf (label) VALUES ('left'), ('right') RETURNING shelf_id, label, room;
INSERT INTO book VALUES
    (1, 1, 'Candide', 4.50, '1759-01-15', '2024-02-29 12:30:00', '\x00ff10', false),
    (2, 1, 'Ulysses', 18.00, '1922-02-02', NULL, NULL, true),
    (3, 2, 'Мастер и Маргарита', 12.25, NULL, NULL, '\x', false),
    (4, NULL, '源氏物語 📖', NULL, NULL, NULL, NULL, false);

SELECT * FROM book ORDER BY book_id;
SELECT label, count(book_id), sum(price), avg(price)::numeric(8, 3) FROM shelf LEFT JOIN book USING (shelf_id) GROUP BY label ORDER BY label;
SELECT title, price * 1.1 AS dearer, coalesce(price, 0) = 0 AS free FROM book ORDER BY price NULLS LAST, book_id;
SELECT * FROM cheap;
TABLE shelf;

\dt
\d
\d shelf
\d book
\d cheap
\di
\ds
\dv
\dn

BEGIN;
UPDATE book SET price = price + 1 WHERE shelf_id = 1;
SELECT book_id, price FROM book WHERE shelf_id = 1 ORDER BY book_id;
SAVEPOINT before;
DELETE FROM book;
SELECT count(*) FROM book;
ROLLBACK TO before;
SELECT count(*) FROM book;
ROLLBACK;
SELECT sum(price) FROM book;
BEGIN;
DELETE FROM shelf WHERE label = 'right';
COMMIT;
SELECT book_id FROM book ORDER BY book_id;

\set ON_ERROR_STOP off
BEGIN;
INSERT INTO shelf (label) VALUES ('left');
SELECT 1;
COMMIT;
INSERT INTO book (book_id, shelf_id, title) VALUES (9, 77, 'x');
\set VERBOSITY terse
INSERT INTO book (book_id, title, price) VALUES (9, 'x', -1);
INSERT INTO book (book_id) VALUES (9);
SELECT 1 / 0;
\echo :SQLSTATE
\set VERBOSITY sqlstate
SELECT nothing FROM book;
SELECT 1 FROM nowhere;
SELEC 1;
\set VERBOSITY default
\set ON_ERROR_STOP on

\copy book (book_id, title, price) TO 'books.txt'
\copy (SELECT title, price FROM book ORDER BY book_id) TO 'books.csv' WITH (FORMAT csv, HEADER)
\! cat books.txt books.csv
CREATE TABLE copied (book_id integer, title text, price numeric);
\copy copied FROM 'books.txt'
SELECT * FROM copied ORDER BY book_id;
TRUNCATE copied;
\copy copied (title, price) FROM 'books.csv' WITH (FORMAT csv, HEADER)
SELECT * FROM copied ORDER BY title;
COPY copied (book_id, title) FROM STDIN;
7	a tab\tand a line\nend
8	\N
\.
SELECT book_id, title, length(title) FROM copied WHERE book_id IS NOT NULL ORDER BY book_id;
COPY copied (book_id) TO STDOUT WITH (NULL 'none');

PREPARE dear (numeric) AS SELECT title FROM book WHERE price > $1 ORDER BY title;
EXECUTE dear (5);
DEALLOCATE dear;
SELECT book_id, title FROM book WHERE book_id < 3 ORDER BY book_id \gx
SELECT title AS "found" FROM book WHERE book_id = 1 \gset
\echo :found
\x on
SELECT count(*) FROM book;
\x off
ALTER TABLE shelf ADD COLUMN height integer DEFAULT 3;
ALTER TABLE shelf RENAME COLUMN room TO place;
SELECT * FROM shelf;
DROP VIEW cheap;
DROP TABLE book, shelf, copied;
\dt
