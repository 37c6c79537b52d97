CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40000)
  INSERT INTO t SELECT x, 'row ' || (x * 7919 % 1009), x / 3.0 FROM n;
CREATE INDEX i ON t (b, c);
SELECT b, count(*), round(sum(c), 3) FROM t GROUP BY b ORDER BY b LIMIT 20;
SELECT count(*) FROM t x JOIN t y ON x.b = y.b WHERE x.a < 300;
UPDATE t SET b = upper(b) WHERE a % 3 = 0;
DELETE FROM t WHERE a % 5 = 0;
VACUUM;
SELECT count(*), min(b), max(b), group_concat(DISTINCT substr(b, 1, 3)) FROM t;
SELECT json_group_array(a) FROM (SELECT a FROM t WHERE a < 50);
