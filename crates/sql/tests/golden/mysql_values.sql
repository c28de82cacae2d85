-- dialect: mysql
SELECT CAST(1.239 AS DECIMAL(5,2)) * 2 AS a, date '2024-01-31' + interval 1 day AS b, date_add('2024-01-31', interval 1 month) AS c, '2024-01-31' - interval 1 day AS d;
----
a|b|c|d
2.48|2024-02-01|2024-02-29|2024-01-30

SELECT date_add(date '2024-01-31', interval 1 month) AS a, date_sub(timestamp '2024-03-31 10:00:00', interval 1 month) AS b, interval 2 day + date '2024-01-31' AS c, date '2024-01-31' + 1 AS d, adddate('2024-01-31 10:00:00', interval 90 minute) AS e;
----
a|b|c|d|e
2024-02-29|2024-02-29 10:00:00|2024-02-02|20240132|2024-01-31 11:30:00

SELECT CAST(12345 AS CHAR) AS a, CAST('abc' AS CHAR(2)) AS b, CONVERT(1.50, CHAR) AS c;
----
a|b|c
12345|ab|1.50

SELECT CAST('2.9' AS SIGNED) AS a, CAST('abc' AS SIGNED) AS b, CAST('12abc' AS DECIMAL(5,1)) AS c, CAST('abc' AS DATETIME) AS d, CAST('2024-02-30' AS DATE) AS e, year('abc') AS f, CAST('-5' AS UNSIGNED) AS g, CAST('1e3' AS SIGNED) AS h, CAST('99999999999999999999' AS SIGNED) AS i;
----
a|b|c|d|e|f|g|h|i
2|0|12.0|NULL|NULL|NULL|18446744073709551611|1|9223372036854775807

SELECT DATE 'abc';
----
ERROR 22007: invalid input syntax for type date: "abc"

SELECT year('2024-05-06') AS a, hour('10:20:30') AS b, minute('2024-05-06 11:22:33') AS c, datediff('2024-01-31', '2024-01-01') AS d;
----
a|b|c|d
2024|10|22|30

SELECT hex(255) AS a, hex(255.5) AS b, hex('abc') AS c, hex(-1) AS d, hex(date '2024-01-01') AS e;
----
a|b|c|d|e
FF|100|616263|FFFFFFFFFFFFFFFF|323032342D30312D3031

SELECT regexp_replace('foo bar', '(o+)', '<$1>') AS a, regexp_replace('abc', 'b', '\\$0') AS b, regexp_replace('abc', 'b', '[$0]') AS c;
----
a|b|c
f<oo> bar|a$0c|a[b]c

SELECT CAST('--9223372036854775807:0' AS TIME) AS a, CAST('0:-9223372036854775807' AS TIME) AS b, CAST('-1 10:20' AS TIME) AS c, CAST('101112' AS TIME) AS d, locate('a', 'ba', 18446744073709551616) AS e;
----
a|b|c|d|e
NULL|NULL|-34:20:00|10:11:12|0

SELECT TRIM('x' FROM 'xxaxx') AS a, TRIM(LEADING 'x' FROM 'xxaxx') AS b, TRIM('  a ') AS c, upper('straße') AS d, 'a\\' LIKE 'a\\' AS e;
----
a|b|c|d|e
a|axx|a|STRAßE|1

SELECT TIMESTAMPDIFF(MONTH, '2024-01-31', '2024-03-30') AS a, TIMESTAMPDIFF(DAY, '2024-01-31', '2024-03-30') AS b, TIMESTAMPADD(MONTH, 1, '2024-01-31') AS c, ~1 AS d, 1 << 4 AS e, 256 >> 4 AS f, 1 << 64 AS g;
----
a|b|c|d|e|f|g
1|59|2024-02-29|18446744073709551614|16|16|0

SELECT coalesce(NULL, 'a', 1) AS a, ifnull(NULL, 'x') AS b, if(1, 'yes', 0) AS c, CASE WHEN 1 = 2 THEN 'a' ELSE 3 END AS d;
----
a|b|c|d
a|x|yes|3

SELECT 7 / 2 AS a, '7' / '2' AS b, '7abc' / 2 AS c, 7e0 / 2 AS d, '7' % 4 AS e, 1e-200 * 1e-200 AS f;
----
a|b|c|d|e|f
3.5000|3.5|3.5|3.5|3|0

SELECT date '2024-01-31' + interval 25 hour AS a, date_add(date '2024-01-31', interval 30 minute) AS b, date_sub(date '2024-01-31', interval 2 day) AS c;
----
a|b|c
2024-02-01 01:00:00|2024-01-31 00:30:00|2024-01-29
