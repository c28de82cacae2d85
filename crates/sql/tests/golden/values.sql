SELECT 1.239::numeric(5,2)*2 AS a, CAST('abcdef'::varchar(3) AS text) AS b, '2024-01-01 10:20:30.6'::timestamp(0)::timestamp AS c;
----
a|b|c
2.48|abc|2024-01-01 10:20:31

SELECT 40000::smallint + 1;
----
ERROR 22003: smallint out of range

SELECT CAST(1.239 AS numeric(5,2)) = 1.24 AS a, COALESCE(1.239::numeric(5,2), 7) AS b;
----
a|b
t|1.24

SELECT '1e-9223372036854775808'::numeric;
----
ERROR 22003: value overflows numeric format

SELECT '1e131072'::numeric;
----
ERROR 22003: value overflows numeric format

SELECT '1e-16384'::numeric;
----
ERROR 22003: value overflows numeric format

SELECT '1e-17000'::numeric;
----
ERROR 22003: value overflows numeric format

SELECT '{"a": 1e131072}'::jsonb;
----
ERROR 22003: value overflows numeric format

SELECT '1e131071'::numeric > 1 AS a, '1e-16383'::numeric > 0 AS b, '0e5'::numeric AS c, '-1.50e2'::numeric AS d, '1.5e-3'::numeric AS e;
----
a|b|c|d|e
t|t|0|-150|0.0015

SELECT '123é456'::date;
----
ERROR 22007: invalid input syntax for type date: "123é456"

SELECT '9223372036854775807-01-01 BC'::date;
----
ERROR 22008: date/time field value out of range: "9223372036854775807-01-01 BC"

SELECT '9223372036854775807:00:00'::time;
----
ERROR 22008: date/time field value out of range: "9223372036854775807:00:00"

SELECT '5874898-01-01'::date;
----
ERROR 22008: date out of range

SELECT '5874897-12-31'::date AS a, '4714-11-24 BC'::date AS b;
----
a|b
5874897-12-31|4714-11-24 BC

SELECT 'infinity'::date - date '2020-01-01';
----
ERROR 22008: cannot subtract infinite dates

SELECT date(timestamp 'infinity') AS a, timestamp 'infinity'::time AS b, to_char(timestamp 'infinity','YYYY') AS c, 'infinity'::date + time '10:00' AS d, isfinite(timestamp '-infinity') AS e;
----
a|b|c|d|e
infinity|NULL|NULL|infinity|f

SELECT 'a[b' ~ '[[]' AS a, 'a&&b' ~ '^a[&&]+b$' AS b, 'x~y' ~ '[~~]' AS c, '٣' ~ '\d' AS d, 'x3' ~ '[\d]$' AS e, 'b]' ~ '[]]' AS f, 'q' ~ '[[:alpha:]]' AS g;
----
a|b|c|d|e|f|g
t|t|t|f|t|t|t

SELECT regexp_match('xaby','a|ab') AS a, regexp_replace('abcab', 'a|ab', '<\&>', 'g') AS b, regexp_substr('foobar','o(b)') AS c, substring('foobar' from 'o(b)') AS d;
----
a|b|c|d
{ab}|<ab>c<ab>|ob|b

SELECT regexp_split_to_array('abc','') AS a, regexp_split_to_array('a, b,c',',\s*') AS b, regexp_count('aab','a*') AS c, regexp_replace('aab','a*','X','g') AS d;
----
a|b|c|d
{a,b,c}|{a,b,c}|3|XXbX

SELECT regexp_match('foo-12','(foo|bar)-(\d+)') AS a, regexp_replace('a.b', '\.', '\\', 'g') AS b, substring('foobar' from 'o+?') AS c;
----
a|b|c
{foo,12}|a\b|o

SELECT '[]'::jsonb < 'null'::jsonb AS a, '[1]'::jsonb > '2'::jsonb AS b, '[[]]'::jsonb < '[1]'::jsonb AS c, '{"b":1}'::jsonb > '{"aa":1}'::jsonb AS d;
----
a|b|c|d
t|t|f|t

SELECT '"a"'::jsonb -> 0 AS a, '"a"'::jsonb -> -1 AS b, '"a"'::json -> 0 AS c, '"a"'::jsonb ->> 0 AS d, '"a"'::jsonb -> 1 AS e;
----
a|b|c|d|e
"a"|"a"|NULL|a|NULL

SELECT jsonb_set('{"a":1}','{}','3') AS a, '{"a":1}'::jsonb #- '{}' AS b, jsonb_set('{"a":[1,2]}','{a,-1}','3') AS c;
----
a|b|c
{"a": 1}|{"a": 1}|{"a": [1, 3]}

SELECT jsonb_set('1','{a}','2');
----
ERROR 22023: cannot set path in scalar

SELECT jsonb_set('[1,2]','{a}','3');
----
ERROR 22P02: path element at position 1 is not an integer: "a"

SELECT jsonb_set('{"a":[1,2]}','{a,b}','3');
----
ERROR 22P02: path element at position 2 is not an integer: "b"

SELECT '1'::jsonb #- '{a}';
----
ERROR 22023: cannot delete path in scalar

SELECT json_strip_nulls('{"a" : null, "b" : [1, null, {"c":null, "d" : "x\u0041"}], "b":2}') AS a, jsonb_strip_nulls('{"a":null,"b":1}') AS b;
----
a|b
{"b":[1,null,{"d":"xA"}],"b":2}|{"b": 1}

SELECT '{"a":1,"b":2,"c":3}'::jsonb - array['a','c'] AS a, '["a","b"]'::jsonb - array['a'] AS b;
----
a|b
{"b": 2}|["b"]

SELECT '1e1000'::numeric::float8;
----
ERROR 22003: double precision out of range

SELECT '1e-400'::float8;
----
ERROR 22003: "1e-400" is out of range for type double precision

SELECT '1e-50'::real;
----
ERROR 22003: "1e-50" is out of range for type real

SELECT 1e-50::float8::real;
----
ERROR 22003: real out of range

SELECT 1e-200::float8 * 1e-200::float8;
----
ERROR 22003: value out of range: underflow

SELECT 1e-200::float8 / 1e200::float8;
----
ERROR 22003: value out of range: underflow

SELECT exp((-1000)::float8);
----
ERROR 22003: value out of range: underflow

SELECT power(1e-200::float8, 2);
----
ERROR 22003: value out of range: underflow

SELECT sum(x) FROM (VALUES (1e308::float8), (1e308::float8)) v(x);
----
ERROR 22003: value out of range: overflow

SELECT sum(x) AS a, avg(x) AS b FROM (VALUES ('infinity'::float8), (1::float8)) v(x);
----
a|b
Infinity|Infinity

SELECT '0e-400'::float8 AS a, 0::float8 * 5 AS b, 1::float8 / 'infinity'::float8 AS c, 0::float8::real AS d;
----
a|b|c|d
0|0|0|0

SELECT justify_days('2147483647 months 40 days'::interval);
----
ERROR 22008: interval out of range

SELECT upper('straße') AS a, initcap('ßx éa') AS b, lower('İΣ') AS c;
----
a|b|c
STRAßE|ßx Éa|iσ

SELECT timestamp(0) '1999-12-31 23:59:58.5' AS a, timestamp(0) '2000-01-01 00:00:01.5' AS b, timestamp(0) '1970-01-01 00:00:00.5' AS c, timestamp(1) '1999-12-31 23:59:59.99' AS d;
----
a|b|c|d
1999-12-31 23:59:58|2000-01-01 00:00:02|1970-01-01 00:00:00|2000-01-01 00:00:00

SELECT extract(century from date '0001-01-01 BC') AS a, extract(millennium from date '1000-01-01 BC') AS b, extract(isoyear from date '0001-01-01 BC') AS c, extract(century from date '0101-06-01 BC') AS d, extract(century from date '2000-12-31') AS e;
----
a|b|c|d|e
-1|-1|-2|-2|20

SELECT 'abc' LIKE 'a\';
----
ERROR 22025: LIKE pattern must not end with escape character

SELECT 'a' LIKE 'a\' AS a, 'abc' LIKE 'x\' AS b;
----
a|b
f|f

SELECT array_agg(DISTINCT x) AS a, string_agg(DISTINCT x::text, ',') AS b, array_agg(DISTINCT x ORDER BY x DESC) AS c, count(DISTINCT x) AS d FROM (VALUES (3), (1), (NULL), (2), (3)) v(x);
----
a|b|c|d
{1,2,3,NULL}|1,2,3|{NULL,3,2,1}|3

SELECT 2::numeric^10 AS a, 2::numeric^0.5 AS b, 2 ^ 0.5 AS c, 10.5::numeric^3 AS d, 0.5::numeric^100 AS e, power(1.1,0.3) AS f, power(0.0,0.5) AS g, power(-8.0,3) AS h, power(2.0,-3) AS i, power(-8.0,-3) AS j, power(1.0000001, 1000000) AS k;
----
a|b|c|d|e|f|g|h|i|j|k
1024.0000000000000000|1.4142135623730950|1.4142135623730950|1157.6250000000000000|0.0000000000000000|1.0290057594210950|0.0000000000000000|-512.0000000000000000|0.1250000000000000|-0.0019531250000000|1.1051709125497934

SELECT exp(1.0) AS a, exp(-3.25) AS b, exp(100.0) AS c, exp(0.0) AS d, ln(2.0) AS e, ln(1.05) AS f, ln(0.001) AS g, ln(123456789.123) AS h, ln(1.0) AS i;
----
a|b|c|d|e|f|g|h|i
2.7182818284590452|0.03877420783172201|26881171418161354484126255515800135873611118.8|1.0000000000000000|0.6931471805599453|0.048790164169432003|-6.9077552789821371|18.631401767164318|0.0000000000000000

SELECT log(100.0) AS a, log(2.0,64.0) AS b, log(0.5) AS c, log(1.0) AS d, exp(1) AS e, ln(2) AS f, log(3, 81) AS g;
----
a|b|c|d|e|f|g
2.0000000000000000|6.0000000000000000|-0.3010299956639812|0.0000000000000000|2.718281828459045|0.6931471805599453|4.0000000000000000

SELECT power(-8.0,0.5);
----
ERROR 2201F: a negative number raised to a non-integer power yields a complex result

SELECT ln(0.0);
----
ERROR 2201E: cannot take logarithm of zero

SELECT log(1.0, 5.0);
----
ERROR 22012: division by zero

SELECT exp(6001.0);
----
ERROR 22003: value overflows numeric format

SELECT to_char(1234.5::float8, 'FM9,999.00') AS a, trim(both 'x' from 'xxaxx') AS b, trim(leading from '  a ') AS c, trim(both from '  a ') AS d;
----
a|b|c|d
1,234.50|a|a |a

SELECT width_bucket('infinity'::float8, 0, 10, 5) AS a, width_bucket(5, 0, 10, 5) AS b;
----
a|b
6|3

SELECT 2.0 ^ 3.00000000000000000000 AS a, 2.0 ^ 0 AS b, 0.0 ^ 0 AS c, 0.99::numeric ^ 1000000 AS d, 1.0000001 ^ 123456789 AS e, 2 ^ 0.50000000000000000001 AS f, power(3.7, 20.25) AS g;
----
a|b|c|d|e|f|g
8.0000000000000000|1.0000000000000000|1.0000000000000000|0.0000000000000000|229964.0526159301784424|1.41421356237309504881|320689626892.34503

SELECT regexp_match('abc', '(a|ab)(bc|c)');
----
ERROR 0A000: the parts of a match of "(?s)(a|ab)(bc|c)", which has groups that could match in several ways is not supported

SELECT regexp_match('abc123', '(.*?)(\d+)');
----
ERROR 0A000: the parts of a match of "(?s)(.*?)([0-9]+)", which has greedy and non-greedy repetitions is not supported

SELECT 'abc' ~ '(a|ab)(bc|c)' AS a, 'abc123' ~ '^(.*?)(\d+)$' AS b;
----
a|b
t|t

SELECT timestamp '2024-07-01 12:00' AT TIME ZONE 'America/New_York' AS a, timestamptz '2024-01-01 12:00+00' AT TIME ZONE 'europe/berlin' AS b, timestamp '2024-03-10 02:30' AT TIME ZONE 'America/New_York' AS c, timestamp '2024-11-03 01:30' AT TIME ZONE 'America/New_York' AS d, timestamp 'infinity' AT TIME ZONE 'Asia/Tokyo' AS e, timestamp '2024-01-01' AT TIME ZONE '+02' AS f;
----
a|b|c|d|e|f
2024-07-01 16:00:00+00|2024-01-01 13:00:00|2024-03-10 07:30:00+00|2024-11-03 06:30:00+00|infinity|2024-01-01 02:00:00+00

SELECT now() AT TIME ZONE 'Mars/Olympus';
----
ERROR 22023: time zone "Mars/Olympus" not recognized

SELECT (array[1,2,3])[2:3] AS a, (array[1,2,3])[:2] AS b, (array[1,2,3])[0:1] AS c, (array[1,2,3])[5:9] AS d, (array[1,2,3])[3:1] AS e, (array['a','b'])[2:] AS f, (array[1,2])[NULL:1] AS g;
----
a|b|c|d|e|f|g
{2,3}|{1,2}|{1}|{}|{}|{b}|NULL

-- Labels.
CREATE TYPE mood AS ENUM ('sad', 'happy')
----
CREATE TYPE

SELECT 'x'::mood
----
ERROR 22P02: invalid input value for enum mood: "x"

-- parameters: x
SELECT $1::mood
----
ERROR 22P02: invalid input value for enum mood: "x"

-- parameters: x
SELECT $1::text::mood
----
ERROR 22P02: invalid input value for enum mood: "x"

-- parameters: {sad,x}
SELECT $1::text::mood[]
----
ERROR 22P02: invalid input value for enum mood: "x"

SELECT '{sad,x}'::mood[]
----
ERROR 22P02: invalid input value for enum mood: "x"

SELECT array['sad', 'x']::text[]::mood[]
----
ERROR 22P02: invalid input value for enum mood: "x"

SELECT '{sad,NULL}'::mood[], array['happy']::mood[]
----
mood|array
{sad,NULL}|{happy}
