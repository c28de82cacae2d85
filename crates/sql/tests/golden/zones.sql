-- All of this was compared with PostgreSQL 15.
SELECT set_config('TimeZone', 'europe/berlin', false), current_setting('timezone')
----
set_config|current_setting
Europe/Berlin|Europe/Berlin

CREATE TABLE visit (id int PRIMARY KEY, at timestamptz, stamp timestamp, day date)
----
CREATE TABLE

-- Skipped in spring, twice in autumn.
INSERT INTO visit VALUES (1, '2024-03-30 23:30', '2024-03-30 23:30', '2024-03-30'), (2, '2024-03-31 02:30', '2024-03-31 02:30', '2024-03-31'),
  (3, '2024-10-27 02:30', '2024-10-27 02:30', '2024-10-27'), (4, '2024-10-27 00:30+00', '2024-10-27 02:30', '2024-10-27'),
  (5, '2024-12-31 23:30:15.5', '2025-01-01', '2025-01-01'), (6, 'infinity', '-infinity', 'infinity'), (7, NULL, NULL, NULL)
----
INSERT 7

SELECT id, at, at AT TIME ZONE 'UTC' AS utc FROM visit ORDER BY id
----
id|at|utc
1|2024-03-30 23:30:00+01|2024-03-30 22:30:00
2|2024-03-31 03:30:00+02|2024-03-31 01:30:00
3|2024-10-27 02:30:00+01|2024-10-27 01:30:00
4|2024-10-27 02:30:00+02|2024-10-27 00:30:00
5|2024-12-31 23:30:15.5+01|2024-12-31 22:30:15.5
6|infinity|infinity
7|NULL|NULL

SELECT id, at::text, at::date, at::time, at::timestamp, stamp::timestamptz, day::timestamptz, at::timestamptz(0) FROM visit WHERE id < 6 ORDER BY id
----
id|at|at|at|at|stamp|day|at
1|2024-03-30 23:30:00+01|2024-03-30|23:30:00|2024-03-30 23:30:00|2024-03-30 23:30:00+01|2024-03-30 00:00:00+01|2024-03-30 23:30:00+01
2|2024-03-31 03:30:00+02|2024-03-31|03:30:00|2024-03-31 03:30:00|2024-03-31 03:30:00+02|2024-03-31 00:00:00+01|2024-03-31 03:30:00+02
3|2024-10-27 02:30:00+01|2024-10-27|02:30:00|2024-10-27 02:30:00|2024-10-27 02:30:00+01|2024-10-27 00:00:00+02|2024-10-27 02:30:00+01
4|2024-10-27 02:30:00+02|2024-10-27|02:30:00|2024-10-27 02:30:00|2024-10-27 02:30:00+01|2024-10-27 00:00:00+02|2024-10-27 02:30:00+02
5|2024-12-31 23:30:15.5+01|2024-12-31|23:30:15.5|2024-12-31 23:30:15.5|2025-01-01 00:00:00+01|2025-01-01 00:00:00+01|2024-12-31 23:30:16+01

SELECT at::date, stamp::timestamptz, day::timestamptz FROM visit WHERE id = 6
----
at|stamp|day
infinity|-infinity|infinity

-- Comparisons of what has a zone with what has none.
SELECT id, at = stamp AS same_stamp, at >= day AS after_day, at::date = day AS same_day, at < '2024-03-31' AS early FROM visit ORDER BY id
----
id|same_stamp|after_day|same_day|early
1|t|t|t|t
2|t|t|t|f
3|t|t|t|f
4|f|t|t|f
5|f|f|f|f
6|f|t|t|f
7|NULL|NULL|NULL|NULL

SELECT id FROM visit WHERE at BETWEEN date '2024-03-31' AND date '2024-10-27' ORDER BY id
----
id
2

SELECT id FROM visit WHERE at IN ('2024-03-31 03:30', timestamp '2024-10-27 02:30') ORDER BY id
----
id
2
3

SELECT array_agg(at ORDER BY id), min(at), max(at) FROM visit
----
array_agg|min|max
{"2024-03-30 23:30:00+01","2024-03-31 03:30:00+02","2024-10-27 02:30:00+01","2024-10-27 02:30:00+02","2024-12-31 23:30:15.5+01",infinity,NULL}|2024-03-30 23:30:00+01|infinity

SELECT json_agg(at ORDER BY id), jsonb_object_agg(at, id), json_build_object(min(at), 1) FROM visit WHERE id < 4
----
json_agg|jsonb_object_agg|json_build_object
["2024-03-30T23:30:00+01:00", "2024-03-31T03:30:00+02:00", "2024-10-27T02:30:00+01:00"]|{"2024-03-30T23:30:00+01:00": 1, "2024-03-31T03:30:00+02:00": 2, "2024-10-27T02:30:00+01:00": 3}|{"2024-03-30T23:30:00+01:00" : 1}

SELECT json_agg(DISTINCT at) FROM visit WHERE id < 4
----
json_agg
["2024-03-30T23:30:00+01:00", "2024-03-31T03:30:00+02:00", "2024-10-27T02:30:00+01:00"]

SELECT to_json(at), to_jsonb(visit), json_build_object('at', at), visit::text FROM visit WHERE id IN (1, 4, 6, 7) ORDER BY id
----
to_json|to_jsonb|json_build_object|visit
"2024-03-30T23:30:00+01:00"|{"at": "2024-03-30T23:30:00+01:00", "id": 1, "day": "2024-03-30", "stamp": "2024-03-30T23:30:00"}|{"at" : "2024-03-30T23:30:00+01:00"}|(1,"2024-03-30 23:30:00+01","2024-03-30 23:30:00",2024-03-30)
"2024-10-27T02:30:00+02:00"|{"at": "2024-10-27T02:30:00+02:00", "id": 4, "day": "2024-10-27", "stamp": "2024-10-27T02:30:00"}|{"at" : "2024-10-27T02:30:00+02:00"}|(4,"2024-10-27 02:30:00+02","2024-10-27 02:30:00",2024-10-27)
"infinity"|{"at": "infinity", "id": 6, "day": "infinity", "stamp": "-infinity"}|{"at" : "infinity"}|(6,infinity,-infinity,infinity)
NULL|{"at": null, "id": 7, "day": null, "stamp": null}|{"at" : null}|(7,,,)

SELECT concat(at, '!'), 'x' || at, format('%s', at), array_to_string(array[at], ','), quote_literal(at) FROM visit WHERE id < 3 ORDER BY id
----
concat|?column?|format|array_to_string|quote_literal
2024-03-30 23:30:00+01!|x2024-03-30 23:30:00+01|2024-03-30 23:30:00+01|2024-03-30 23:30:00+01|'2024-03-30 23:30:00+01'
2024-03-31 03:30:00+02!|x2024-03-31 03:30:00+02|2024-03-31 03:30:00+02|2024-03-31 03:30:00+02|'2024-03-31 03:30:00+02'

SELECT to_json('0044-03-15 BC'::timestamptz), to_json('1800-01-01'::timestamptz), to_json('2024-01-01'::timestamp)
----
to_json|to_json|to_json
"0044-03-15T00:00:00+00:53:28 BC"|"1800-01-01T00:00:00+00:53:28"|"2024-01-01T00:00:00"

SELECT date_trunc('day', at), date_trunc('hour', at), date_trunc('week', at), date_trunc('month', at), date_trunc('year', at) FROM visit ORDER BY id
----
date_trunc|date_trunc|date_trunc|date_trunc|date_trunc
2024-03-30 00:00:00+01|2024-03-30 23:00:00+01|2024-03-25 00:00:00+01|2024-03-01 00:00:00+01|2024-01-01 00:00:00+01
2024-03-31 00:00:00+01|2024-03-31 03:00:00+02|2024-03-25 00:00:00+01|2024-03-01 00:00:00+01|2024-01-01 00:00:00+01
2024-10-27 00:00:00+02|2024-10-27 02:00:00+01|2024-10-21 00:00:00+02|2024-10-01 00:00:00+02|2024-01-01 00:00:00+01
2024-10-27 00:00:00+02|2024-10-27 02:00:00+02|2024-10-21 00:00:00+02|2024-10-01 00:00:00+02|2024-01-01 00:00:00+01
2024-12-31 00:00:00+01|2024-12-31 23:00:00+01|2024-12-30 00:00:00+01|2024-12-01 00:00:00+01|2024-01-01 00:00:00+01
infinity|infinity|infinity|infinity|infinity
NULL|NULL|NULL|NULL|NULL

SELECT date_trunc('day', at, 'UTC'), date_trunc('day', at, 'Asia/Tokyo') FROM visit WHERE id < 3 ORDER BY id
----
date_trunc|date_trunc
2024-03-30 01:00:00+01|2024-03-30 16:00:00+01
2024-03-31 01:00:00+01|2024-03-30 16:00:00+01

SELECT extract(hour FROM at), extract(day FROM at), extract(epoch FROM at), extract(timezone FROM at), extract(timezone_hour FROM at), date_part('doy', at) FROM visit WHERE id < 6 ORDER BY id
----
extract|extract|extract|extract|extract|date_part
23|30|1711837800.000000|3600|1|90
3|31|1711848600.000000|7200|2|91
2|27|1729992600.000000|3600|1|301
2|27|1729989000.000000|7200|2|301
23|31|1735684215.500000|3600|1|366

SELECT date_part('epoch', date '2024-07-01'), extract(epoch FROM timestamp '2024-07-01'), extract(epoch FROM timestamptz '2024-07-01')
----
date_part|extract|extract
1719792000|1719792000.000000|1719784800.000000

SELECT extract(timezone FROM stamp) FROM visit
----
ERROR 22023: unit "timezone" not recognized for type timestamp without time zone

SELECT to_char(at, 'YYYY-MM-DD HH24:MI:SS TZ tz OF Dy'), to_char(stamp, 'HH24 TZ OF') FROM visit WHERE id < 6 ORDER BY id
----
to_char|to_char
2024-03-30 23:30:00 CET cet +01 Sat|23  +00
2024-03-31 03:30:00 CEST cest +02 Sun|02  +00
2024-10-27 02:30:00 CET cet +01 Sun|02  +00
2024-10-27 02:30:00 CEST cest +02 Sun|02  +00
2024-12-31 23:30:15 CET cet +01 Tue|00  +00

-- A day is not always 24 hours.
SELECT at + interval '1 day', at + interval '24 hours', at + interval '1 month', at - interval '1 day', interval '1 month 1 day 1 hour' + at FROM visit ORDER BY id
----
?column?|?column?|?column?|?column?|?column?
2024-03-31 23:30:00+02|2024-04-01 00:30:00+02|2024-04-30 23:30:00+02|2024-03-29 23:30:00+01|2024-05-02 00:30:00+02
2024-04-01 03:30:00+02|2024-04-01 03:30:00+02|2024-04-30 03:30:00+02|2024-03-30 03:30:00+01|2024-05-01 04:30:00+02
2024-10-28 02:30:00+01|2024-10-28 02:30:00+01|2024-11-27 02:30:00+01|2024-10-26 02:30:00+02|2024-11-28 03:30:00+01
2024-10-28 02:30:00+01|2024-10-28 01:30:00+01|2024-11-27 02:30:00+01|2024-10-26 02:30:00+02|2024-11-28 03:30:00+01
2025-01-01 23:30:15.5+01|2025-01-01 23:30:15.5+01|2025-01-31 23:30:15.5+01|2024-12-30 23:30:15.5+01|2025-02-02 00:30:15.5+01
infinity|infinity|infinity|infinity|infinity
NULL|NULL|NULL|NULL|NULL

SELECT at - '2024-01-01', age(at, '2024-01-01'), age('2024-07-01'::timestamptz, at) FROM visit WHERE id < 6 ORDER BY id
----
?column?|age|age
89 days 23:30:00|2 mons 29 days 23:30:00|3 mons 1 day 00:30:00
90 days 02:30:00|2 mons 30 days 03:30:00|3 mons 20:30:00
300 days 02:30:00|9 mons 26 days 02:30:00|-3 mons -26 days -02:30:00
300 days 01:30:00|9 mons 26 days 02:30:00|-3 mons -26 days -02:30:00
365 days 23:30:15.5|11 mons 30 days 23:30:15.5|-5 mons -30 days -23:30:15.5

-- Later on the clock of the world, earlier on that of the wall.
SELECT age('2024-10-27 01:10+00'::timestamptz, '2024-10-27 00:30+00'::timestamptz)
----
age
-1 mons +30 days 23:40:00

SELECT * FROM generate_series('2024-03-30'::timestamptz, '2024-04-02', '1 day') AS days
----
days
2024-03-30 00:00:00+01
2024-03-31 00:00:00+01
2024-04-01 00:00:00+02
2024-04-02 00:00:00+02

SELECT * FROM generate_series('2024-03-31'::timestamptz, '2024-03-31 05:00', '1 hour') AS hours
----
hours
2024-03-31 00:00:00+01
2024-03-31 01:00:00+01
2024-03-31 03:00:00+02
2024-03-31 04:00:00+02
2024-03-31 05:00:00+02

SELECT make_timestamptz(2024, 3, 31, 2, 30, 0), make_timestamptz(2024, 10, 27, 2, 30, 1.5), make_timestamptz(2024, 1, 1, 0, 0, 0, 'UTC'), make_timestamptz(2024, 1, 1, 0, 0, 0, '+03')
----
make_timestamptz|make_timestamptz|make_timestamptz|make_timestamptz
2024-03-31 03:30:00+02|2024-10-27 02:30:01.5+01|2024-01-01 01:00:00+01|2023-12-31 22:00:00+01

SELECT to_timestamp('2024-07-01 10:20', 'YYYY-MM-DD HH24:MI'), to_timestamp(0), date('2024-07-01 23:30+00'::timestamptz)
----
to_timestamp|to_timestamp|date
2024-07-01 10:20:00+02|1970-01-01 01:00:00+01|2024-07-02

SELECT now()::date = current_date, localtimestamp = now()::timestamp, localtime = now()::time, now() = localtimestamp, current_date <= now()
----
?column?|?column?|?column?|?column?|?column?
t|t|t|t|t

SELECT coalesce(at, stamp), greatest(at, stamp), CASE WHEN id > 3 THEN at ELSE stamp END FROM visit WHERE id IN (2, 4) ORDER BY id
----
coalesce|greatest|stamp
2024-03-31 03:30:00+02|2024-03-31 03:30:00+02|2024-03-31 03:30:00+02
2024-10-27 02:30:00+02|2024-10-27 02:30:00+01|2024-10-27 02:30:00+02

SELECT at FROM visit WHERE id = 1 UNION SELECT stamp FROM visit WHERE id = 3 UNION SELECT day FROM visit WHERE id = 5 ORDER BY 1
----
at
2024-03-30 23:30:00+01
2024-10-27 02:30:00+01
2025-01-01 00:00:00+01

-- Far from now.
SELECT '1883-11-18 12:00'::timestamptz, '1916-05-01'::timestamptz, '1945-06-01'::timestamptz, '2150-07-01'::timestamptz
----
timestamptz|timestamptz|timestamptz|timestamptz
1883-11-18 12:00:00+00:53:28|1916-05-01 00:00:00+02|1945-06-01 00:00:00+03|2150-07-01 00:00:00+02

-- Keys.
CREATE TABLE beat (at timestamptz PRIMARY KEY)
----
CREATE TABLE

INSERT INTO beat VALUES ('2024-07-01'), (date '2024-07-02'), (timestamp '2024-07-03 10:00')
----
INSERT 3

INSERT INTO beat VALUES (date '2024-07-01')
----
ERROR 23505: duplicate key value violates unique constraint "beat_pkey"

-- reads
SELECT * FROM beat WHERE at = date '2024-07-02'
----
get 2/2024-07-01 22:00:00

SELECT * FROM beat WHERE at = date '2024-07-02' OR at = timestamp '2024-07-03 10:00' OR at IN (SELECT date '2024-07-01') ORDER BY at
----
at
2024-07-01 00:00:00+02
2024-07-02 00:00:00+02
2024-07-03 10:00:00+02

SELECT beat.at FROM beat JOIN (VALUES (date '2024-07-02'), (date '2024-07-09')) AS other (day) ON beat.at = other.day
----
at
2024-07-02 00:00:00+02

-- parameters: 2024-07-01T00:00
SELECT * FROM beat WHERE at = $1
----
at
2024-07-01 00:00:00+02

-- parameters: 2024-07-02
SELECT * FROM beat WHERE at = $1::date
----
at
2024-07-02 00:00:00+02

-- What is computed once and found again must not depend on the zone.
CREATE INDEX ON beat ((at::date))
----
ERROR 42P17: functions in index expression must be marked IMMUTABLE

CREATE INDEX ON beat ((date_trunc('day', at)))
----
ERROR 42P17: functions in index expression must be marked IMMUTABLE

CREATE INDEX ON beat (at) WHERE at > date '2024-01-01'
----
ERROR 42P17: functions in index predicate must be marked IMMUTABLE

CREATE TABLE wrong (at timestamptz, day date GENERATED ALWAYS AS (at::date) STORED)
----
ERROR 42P17: generation expression is not immutable

CREATE INDEX ON beat ((timezone('UTC', at)))
----
CREATE INDEX

-- Nor what is kept as text.
CREATE TABLE wrong (at timestamptz DEFAULT '2024-01-01')
----
ERROR 0A000: the definition '2024-01-01', whose timestamps depend on the TimeZone of the session is not supported

CREATE VIEW wrong AS SELECT * FROM beat WHERE at > '2024-01-01'
----
ERROR 0A000: the definition SELECT "beat"."at" FROM beat WHERE at > '2024-01-01', whose timestamps depend on the TimeZone of the session is not supported

CREATE VIEW late AS SELECT at, at::date AS day FROM beat WHERE at > '2024-07-02 00:00+00'
----
CREATE VIEW

SELECT * FROM late
----
at|day
2024-07-03 10:00:00+02|2024-07-03

CREATE TABLE copied AS SELECT at, at::date AS day, '2024-01-01'::timestamptz AS start FROM beat
----
SELECT

ALTER TABLE copied ALTER COLUMN day TYPE timestamptz
----
ALTER TABLE

ALTER TABLE copied ALTER COLUMN at TYPE timestamp
----
ALTER TABLE

ALTER TABLE copied ALTER COLUMN start TYPE text USING (start - '2023-12-31'::timestamptz)::text
----
ALTER TABLE

SELECT * FROM copied ORDER BY 1
----
at|day|start
2024-07-01 00:00:00|2024-07-01 00:00:00+02|1 day
2024-07-02 00:00:00|2024-07-02 00:00:00+02|1 day
2024-07-03 10:00:00|2024-07-03 00:00:00+02|1 day

-- A literal is of the zone in which it was prepared, a cast of that in which it is executed, as in PostgreSQL.
PREPARE twice AS SELECT '2024-01-01'::timestamptz AS literal, timestamp '2024-01-01'::timestamptz AS computed
----
PREPARE

SELECT set_config('TimeZone', 'Asia/Kolkata', false), '2024-01-01 00:00+00'::timestamptz, now()::timestamp = timezone('Asia/Kolkata', now()) AS changed
----
set_config|timestamptz|changed
Asia/Kolkata|2024-01-01 05:30:00+05:30|t

EXECUTE twice
----
literal|computed
2024-01-01 04:30:00+05:30|2024-01-01 00:00:00+05:30

SELECT * FROM late
----
at|day
2024-07-03 13:30:00+05:30|2024-07-03

SELECT to_char(at, 'TZ OF') FROM late
----
to_char
IST +05:30

SELECT set_config('TimeZone', '<+03>-03', false), to_char('2024-01-01'::timestamptz, 'TZ OF')
----
set_config|to_char
<+03>-03|+03 +03

SELECT set_config('TimeZone', 'Nowhere/Land', false)
----
ERROR 22023: invalid value for parameter "TimeZone": "Nowhere/Land"
