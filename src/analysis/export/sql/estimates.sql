-- Estimates with intervals from the tables of an exported recording, in the SQL that
-- SQLite (with its mathematical functions) and PostgreSQL have in common. The formulas
-- are those of docs/internals/estimators.md, and so are the letters; docs/guide/sql.md has examples and
-- the errors of the two approximations: the normal quantile and the gamma quantile.
--
-- Two habits of PostgreSQL shape the text: underflow and overflow are errors there, so
-- exponents are bounded, and conditions stand in CASE, which alone keeps its order.

-- The level in use: alpha, the quantile z that leaves alpha/2 above it (Wichura's
-- algorithm AS 241, the shorter form: 1e-7 relative), and the exponential law's
-- quantile ln(2/alpha).
CREATE VIEW confidence AS
WITH
  tail AS (SELECT level, 1.0 - level AS alpha, (1.0 - level) / 2.0 AS p FROM settings),
  variable AS (
    SELECT level, alpha, p, 0.5 - p AS q,
           CASE WHEN p < 0.075 THEN SQRT(-LN(p)) ELSE 0.180625 - (0.5 - p) * (0.5 - p) END AS r
    FROM tail)
SELECT
  level, alpha, -LN(p) AS exponential_quantile,
  CASE
    WHEN p >= 0.075 THEN
      q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179)
        / (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0)
    WHEN r <= 5.0 THEN
      (((0.17023821103 * (r - 1.6) + 1.3067284816) * (r - 1.6) + 2.7568153900) * (r - 1.6)
        + 1.4234372777)
        / ((0.12021132975 * (r - 1.6) + 0.73700164250) * (r - 1.6) + 1.0)
    ELSE
      (((0.017337203997 * (r - 5.0) + 0.42868294337) * (r - 5.0) + 3.0812263860) * (r - 5.0)
        + 6.6579051150)
        / ((0.012258202635 * (r - 5.0) + 0.24197894225) * (r - 5.0) + 1.0)
  END AS z
FROM variable;

-- The counts that each kind selects, with x = lambda z of those that chance selected; an object
-- of 0 bytes is sampled as one of 1.
-- `keep` is below 1 where how long samples live was followed only of that share of them:
-- of 'allocated' only where half of those that were followed chose an instant.
CREATE VIEW selected_counts AS
SELECT kind, process_id, stack_id, size, is_certain, is_open, n, rate_factor, keep,
       lambda * CASE WHEN size > 0 THEN size ELSE 1.0 END * CASE WHEN keep < 1 THEN 1.0 ELSE rate_factor END AS x
FROM (
  SELECT profiles.kind, profiles.rate_factor, counts.process_id, counts.stack_id, counts.is_open,
         CAST(counts.size AS DOUBLE PRECISION) AS size,
         CASE WHEN intervals.lambda IS NULL THEN 1 ELSE counts.is_certain END AS is_certain,
         CASE WHEN profiles.kind = 'allocated' AND profiles.rate_factor = 1 THEN 1.0
              ELSE processes.keep END AS keep,
         intervals.lambda,
         CASE profiles.kind WHEN 'allocated' THEN counts.allocated
                            WHEN 'live' THEN counts.live
                            ELSE counts.peak END AS n
  FROM counts
  JOIN intervals ON intervals.interval_id = counts.interval_id
  JOIN processes ON processes.process_id = counts.process_id
  CROSS JOIN profiles) AS chosen
WHERE n > 0;

-- How the samples were drawn: pi = 1 - e^-x of what chance selected, 1 for certain objects.
-- Below 1/32 the difference would cost digits; the series ends before its eighth term,
-- 1e-15 relative. `missed` is 1 - pi, taken as 0 where it is below 1e-260.
CREATE VIEW drawn_samples AS
SELECT kind, process_id, stack_id, size, is_certain, is_open, n, rate_factor, keep,
  CASE
    WHEN is_certain = 1 THEN 1.0
    WHEN x < 0.03125 THEN x * (1.0 - x / 2.0 * (1.0 - x / 3.0 * (1.0 - x / 4.0 *
                               (1.0 - x / 5.0 * (1.0 - x / 6.0 * (1.0 - x / 7.0))))))
    WHEN x > 600.0 THEN 1.0
    ELSE 1.0 - EXP(-x)
  END AS pi,
  CASE WHEN is_certain = 1 OR x > 600.0 THEN 0.0 ELSE EXP(-x) END AS missed
FROM selected_counts;

-- What half of the samples whose fates are known has in place of pi, where half chose an
-- instant: q = 1 - sqrt(1 - keep pi), and what is independent of that half among all.
CREATE VIEW thinned_samples AS
SELECT kind, process_id, stack_id, size, is_open, n,
  CASE WHEN rate_factor = 1 THEN keep * pi
       WHEN kind <> 'allocated' THEN keep * pi / (1.0 + SQRT(1.0 - keep * pi))
       ELSE (pi - keep * pi / (1.0 + SQRT(1.0 - keep * pi)))
            / (1.0 - keep * pi / (1.0 + SQRT(1.0 - keep * pi)))
  END AS pi
FROM drawn_samples WHERE keep < 1;

-- All together; pi is NULL for certain objects. Every process has a row of 0 samples outside
-- all stacks, so that sums over nothing exist.
CREATE VIEW selected_samples AS
SELECT kind, process_id, stack_id, size, is_certain, is_open, n,
       CASE WHEN is_certain = 1 THEN NULL ELSE pi END AS pi, missed
FROM drawn_samples WHERE keep = 1
UNION ALL
SELECT kind, process_id, stack_id, size, 0, is_open, n, pi, 1.0 - pi FROM thinned_samples
UNION ALL
SELECT kind, process_id, -1, 0.0, 1, 0, 0, NULL, 0.0 FROM profiles CROSS JOIN processes;

-- E per kind: the largest interval that anything was drawn with, over the least share
-- followed where fates count, and not less than that of any sample of those: large objects
-- too are missed there. 0 where nothing could be missed. E_o is without those of samples.
CREATE VIEW largest_intervals AS
SELECT kind, CASE WHEN of_samples > in_force THEN of_samples ELSE in_force END
         AS largest_interval, in_force AS object_interval
FROM (
  SELECT profiles.kind,
         CASE WHEN profiles.kind = 'allocated' OR thinning.keep = 1
              THEN drawn.step / profiles.rate_factor
              ELSE CASE WHEN drawn.step > 1 THEN drawn.step ELSE 1.0 END
                   / thinning.rate / profiles.rate_factor
         END AS in_force,
         COALESCE((SELECT MAX(size / CASE WHEN pi > 1e-9 THEN -LN(1.0 - pi) ELSE pi END)
                   FROM thinned_samples
                   WHERE thinned_samples.kind = profiles.kind AND pi < 1 AND size > 0), 0.0)
           AS of_samples
  FROM profiles
  CROSS JOIN (SELECT COALESCE(MAX(1.0 / lambda), 0.0) AS step FROM intervals) AS drawn
  -- Of objects as large as the interval, which one coin keeps or loses: 1 - 1/e is their pi.
  CROSS JOIN (SELECT keep, CASE WHEN keep > 1e-9 THEN -LN(1.0 - keep * 0.6321205588285577)
                                ELSE keep * 0.6321205588285577 END AS rate
              FROM (SELECT COALESCE(MIN(keep), 1.0) AS keep FROM processes) AS least)
    AS thinning) AS known;

-- The additive sums per stack and process: s, B, Y, V, C, VC, CB, and X and XC of the
-- certain objects, of what is known to count, and most_...: with what is open, which is in upper
-- limits only; c is the largest weight; the sizes are those of the others, NULL if there
-- are none.
CREATE VIEW stack_sums AS
SELECT
  kind, process_id, stack_id,
  CAST(SUM(CASE WHEN is_certain = 1 THEN 0 ELSE known END) AS BIGINT) AS samples,
  CAST(SUM(CASE WHEN is_certain = 1 THEN known ELSE 0 END) AS BIGINT) AS certain_samples,
  SUM(CASE WHEN is_certain = 1 THEN known * size ELSE 0.0 END) AS certain_bytes,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE known * size END) AS bytes_seen,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE known * (size / pi) END) AS weighted_bytes,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE known * (size / pi) * (size * missed / pi) END)
    AS bytes_variance,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE known / pi END) AS objects,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE known * missed / pi / pi END) AS objects_variance,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE known * size * missed / pi / pi END) AS covariance,
  CAST(SUM(CASE WHEN is_certain = 1 THEN 0 ELSE n END) AS BIGINT) AS most_samples,
  CAST(SUM(CASE WHEN is_certain = 1 THEN n ELSE 0 END) AS BIGINT) AS most_certain_samples,
  SUM(CASE WHEN is_certain = 1 THEN n * size ELSE 0.0 END) AS most_certain_bytes,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE n * size END) AS most_bytes_seen,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE n * (size / pi) END) AS most_weighted_bytes,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE n * (size / pi) * (size * missed / pi) END)
    AS most_bytes_variance,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE n / pi END) AS most_objects,
  SUM(CASE WHEN is_certain = 1 THEN 0.0 ELSE n * missed / pi / pi END) AS most_objects_variance,
  MAX(CASE WHEN is_certain = 1 THEN 0.0 ELSE 1.0 / pi END) AS largest_object_weight,
  MIN(CASE WHEN is_certain = 0 THEN CASE WHEN size > 0 THEN size ELSE 1.0 END END) AS smallest_size,
  MAX(CASE WHEN is_certain = 0 THEN CASE WHEN size > 0 THEN size ELSE 1.0 END END) AS largest_size
FROM (SELECT kind, process_id, stack_id, size, is_certain, n, pi, missed,
             CASE WHEN is_open = 1 THEN 0 ELSE n END AS known
      FROM selected_samples) AS answered
GROUP BY kind, process_id, stack_id;

-- Functions and modules of a stack, once each even where they recur; `is_own`: the
-- stack ends there.
CREATE VIEW stack_functions AS
SELECT stack_locations.stack_id, frames.function_id,
       MAX(CASE WHEN stack_locations.position = 0 AND frames.position = 0 THEN 1 ELSE 0 END)
         AS is_own
FROM stack_locations
JOIN frames ON frames.location_id = stack_locations.location_id
GROUP BY stack_locations.stack_id, frames.function_id;

CREATE VIEW stack_modules AS
SELECT stack_locations.stack_id, locations.module_id,
       MAX(CASE WHEN stack_locations.position = 0 THEN 1 ELSE 0 END) AS is_own
FROM stack_locations
JOIN locations ON locations.location_id = stack_locations.location_id
GROUP BY stack_locations.stack_id, locations.module_id;

-- Stacks that are not whole may have passed through every function: all of them are one more, -2,
-- which may be part of every total.
CREATE VIEW passing_sums AS
SELECT * FROM stack_sums
UNION ALL
SELECT kind, 0, -2, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       CAST(SUM(most_samples) AS BIGINT) AS most_samples,
       CAST(SUM(most_certain_samples) AS BIGINT) AS most_certain_samples,
       SUM(most_certain_bytes) AS most_certain_bytes,
       SUM(most_bytes_seen) AS most_bytes_seen,
       SUM(most_weighted_bytes) AS most_weighted_bytes,
       SUM(most_bytes_variance) AS most_bytes_variance,
       SUM(most_objects) AS most_objects,
       SUM(most_objects_variance) AS most_objects_variance,
       MAX(largest_object_weight), MIN(smallest_size), MAX(largest_size)
FROM stack_sums JOIN stacks ON stacks.stack_id = stack_sums.stack_id
WHERE is_whole = 0
GROUP BY kind;

-- Both scopes of what a stack passes. `share` is 0 where scope 'self' has nothing of the stack, so
-- that such a node still has a row; `most_share` also where stack -2 stands for it.
CREATE VIEW function_shares AS
SELECT stack_functions.stack_id, function_id, scope,
       CASE scope WHEN 'total' THEN 1 ELSE is_own END AS share,
       CASE scope WHEN 'total' THEN is_whole ELSE is_own END AS most_share
FROM stack_functions
JOIN stacks ON stacks.stack_id = stack_functions.stack_id
CROSS JOIN (SELECT 'total' AS scope UNION ALL SELECT 'self') AS scopes
UNION ALL
SELECT -2, function_id, 'total', 0, 1 FROM functions;

CREATE VIEW module_shares AS
SELECT stack_modules.stack_id, module_id, scope,
       CASE scope WHEN 'total' THEN 1 ELSE is_own END AS share,
       CASE scope WHEN 'total' THEN is_whole ELSE is_own END AS most_share
FROM stack_modules
JOIN stacks ON stacks.stack_id = stack_modules.stack_id
CROSS JOIN (SELECT 'total' AS scope UNION ALL SELECT 'self') AS scopes
UNION ALL
SELECT -2, module_id, 'total', 0, 1 FROM modules;

-- The sums of every node. Each part groups for itself, so that a question about one kind
-- of node leaves the others uncomputed.
CREATE VIEW grouped_sums AS
SELECT kind, 'total' AS node, 'total' AS scope, 0 AS node_id,
       CAST(SUM(samples) AS BIGINT) AS samples,
       CAST(SUM(certain_samples) AS BIGINT) AS certain_samples,
       SUM(certain_bytes) AS certain_bytes,
       SUM(bytes_seen) AS bytes_seen,
       SUM(weighted_bytes) AS weighted_bytes,
       SUM(bytes_variance) AS bytes_variance,
       SUM(objects) AS objects,
       SUM(objects_variance) AS objects_variance,
       SUM(covariance) AS covariance,
       CAST(SUM(most_samples) AS BIGINT) AS most_samples,
       CAST(SUM(most_certain_samples) AS BIGINT) AS most_certain_samples,
       SUM(most_certain_bytes) AS most_certain_bytes,
       SUM(most_bytes_seen) AS most_bytes_seen,
       SUM(most_weighted_bytes) AS most_weighted_bytes,
       SUM(most_bytes_variance) AS most_bytes_variance,
       SUM(most_objects) AS most_objects,
       SUM(most_objects_variance) AS most_objects_variance,
       MAX(largest_object_weight) AS largest_object_weight,
       MIN(smallest_size) AS smallest_size, MAX(largest_size) AS largest_size
FROM stack_sums
GROUP BY kind
UNION ALL
SELECT kind, 'process' AS node, 'total' AS scope, process_id AS node_id,
       CAST(SUM(samples) AS BIGINT) AS samples,
       CAST(SUM(certain_samples) AS BIGINT) AS certain_samples,
       SUM(certain_bytes) AS certain_bytes,
       SUM(bytes_seen) AS bytes_seen,
       SUM(weighted_bytes) AS weighted_bytes,
       SUM(bytes_variance) AS bytes_variance,
       SUM(objects) AS objects,
       SUM(objects_variance) AS objects_variance,
       SUM(covariance) AS covariance,
       CAST(SUM(most_samples) AS BIGINT) AS most_samples,
       CAST(SUM(most_certain_samples) AS BIGINT) AS most_certain_samples,
       SUM(most_certain_bytes) AS most_certain_bytes,
       SUM(most_bytes_seen) AS most_bytes_seen,
       SUM(most_weighted_bytes) AS most_weighted_bytes,
       SUM(most_bytes_variance) AS most_bytes_variance,
       SUM(most_objects) AS most_objects,
       SUM(most_objects_variance) AS most_objects_variance,
       MAX(largest_object_weight) AS largest_object_weight,
       MIN(smallest_size) AS smallest_size, MAX(largest_size) AS largest_size
FROM stack_sums
GROUP BY kind, process_id
UNION ALL
SELECT kind, 'stack' AS node, 'total' AS scope, stack_id AS node_id,
       CAST(SUM(samples) AS BIGINT) AS samples,
       CAST(SUM(certain_samples) AS BIGINT) AS certain_samples,
       SUM(certain_bytes) AS certain_bytes,
       SUM(bytes_seen) AS bytes_seen,
       SUM(weighted_bytes) AS weighted_bytes,
       SUM(bytes_variance) AS bytes_variance,
       SUM(objects) AS objects,
       SUM(objects_variance) AS objects_variance,
       SUM(covariance) AS covariance,
       CAST(SUM(most_samples) AS BIGINT) AS most_samples,
       CAST(SUM(most_certain_samples) AS BIGINT) AS most_certain_samples,
       SUM(most_certain_bytes) AS most_certain_bytes,
       SUM(most_bytes_seen) AS most_bytes_seen,
       SUM(most_weighted_bytes) AS most_weighted_bytes,
       SUM(most_bytes_variance) AS most_bytes_variance,
       SUM(most_objects) AS most_objects,
       SUM(most_objects_variance) AS most_objects_variance,
       MAX(largest_object_weight) AS largest_object_weight,
       MIN(smallest_size) AS smallest_size, MAX(largest_size) AS largest_size
FROM stack_sums
WHERE stack_id >= 0
GROUP BY kind, stack_id
UNION ALL
SELECT kind, 'function' AS node, scope AS scope, function_id AS node_id,
       CAST(SUM(share * samples) AS BIGINT) AS samples,
       CAST(SUM(share * certain_samples) AS BIGINT) AS certain_samples,
       SUM(share * certain_bytes) AS certain_bytes,
       SUM(share * bytes_seen) AS bytes_seen,
       SUM(share * weighted_bytes) AS weighted_bytes,
       SUM(share * bytes_variance) AS bytes_variance,
       SUM(share * objects) AS objects,
       SUM(share * objects_variance) AS objects_variance,
       SUM(share * covariance) AS covariance,
       CAST(SUM(most_share * most_samples) AS BIGINT) AS most_samples,
       CAST(SUM(most_share * most_certain_samples) AS BIGINT) AS most_certain_samples,
       SUM(most_share * most_certain_bytes) AS most_certain_bytes,
       SUM(most_share * most_bytes_seen) AS most_bytes_seen,
       SUM(most_share * most_weighted_bytes) AS most_weighted_bytes,
       SUM(most_share * most_bytes_variance) AS most_bytes_variance,
       SUM(most_share * most_objects) AS most_objects,
       SUM(most_share * most_objects_variance) AS most_objects_variance,
       MAX(CASE WHEN share + most_share > 0 THEN largest_object_weight ELSE 0.0 END)
         AS largest_object_weight,
       MIN(CASE WHEN share + most_share > 0 THEN smallest_size END) AS smallest_size,
       MAX(CASE WHEN share + most_share > 0 THEN largest_size ELSE 0.0 END) AS largest_size
FROM passing_sums
JOIN function_shares ON function_shares.stack_id = passing_sums.stack_id
GROUP BY kind, scope, function_id
HAVING MAX(passing_sums.stack_id) >= 0
UNION ALL
SELECT kind, 'module' AS node, scope AS scope, module_id AS node_id,
       CAST(SUM(share * samples) AS BIGINT) AS samples,
       CAST(SUM(share * certain_samples) AS BIGINT) AS certain_samples,
       SUM(share * certain_bytes) AS certain_bytes,
       SUM(share * bytes_seen) AS bytes_seen,
       SUM(share * weighted_bytes) AS weighted_bytes,
       SUM(share * bytes_variance) AS bytes_variance,
       SUM(share * objects) AS objects,
       SUM(share * objects_variance) AS objects_variance,
       SUM(share * covariance) AS covariance,
       CAST(SUM(most_share * most_samples) AS BIGINT) AS most_samples,
       CAST(SUM(most_share * most_certain_samples) AS BIGINT) AS most_certain_samples,
       SUM(most_share * most_certain_bytes) AS most_certain_bytes,
       SUM(most_share * most_bytes_seen) AS most_bytes_seen,
       SUM(most_share * most_weighted_bytes) AS most_weighted_bytes,
       SUM(most_share * most_bytes_variance) AS most_bytes_variance,
       SUM(most_share * most_objects) AS most_objects,
       SUM(most_share * most_objects_variance) AS most_objects_variance,
       MAX(CASE WHEN share + most_share > 0 THEN largest_object_weight ELSE 0.0 END)
         AS largest_object_weight,
       MIN(CASE WHEN share + most_share > 0 THEN smallest_size END) AS smallest_size,
       MAX(CASE WHEN share + most_share > 0 THEN largest_size ELSE 0.0 END) AS largest_size
FROM passing_sums
JOIN module_shares ON module_shares.stack_id = passing_sums.stack_id
GROUP BY kind, scope, module_id
HAVING MAX(passing_sums.stack_id) >= 0;

CREATE VIEW node_sums AS
SELECT grouped_sums.kind, node, scope, node_id, samples, certain_samples, certain_bytes, bytes_seen,
       weighted_bytes, bytes_variance, objects, objects_variance, covariance,
       most_samples, most_certain_samples, most_certain_bytes, most_bytes_seen,
       most_weighted_bytes, most_bytes_variance, most_objects, most_objects_variance,
       largest_object_weight, largest_interval, object_interval, smallest_size, largest_size
FROM grouped_sums JOIN largest_intervals ON largest_intervals.kind = grouped_sums.kind;

-- Bytes and objects have the same interval with other letters: what was seen (B or s),
-- what that stands for (Y or C), its variance, and what the next unseen event may add: E, or
-- for objects c' = max(c, 1/pi(z_min; 1/E_o)), and c'' where sizes differ by a factor of 2 or more.
-- Without samples, or with fewer than 4 of such sizes, no size is known, and N bytes hold at most
-- N objects. Of 1/pi(x) the series below x = 1/32 has an error of 1e-12.
CREATE VIEW node_quantities AS
SELECT kind, node, scope, node_id, 'bytes' AS quantity, samples, certain_samples,
       certain_bytes AS exact, bytes_seen AS seen, weighted_bytes AS weighted,
       bytes_variance AS variance, most_certain_bytes AS most_exact, most_bytes_seen AS most_seen,
       most_weighted_bytes AS most_weighted, most_bytes_variance AS most_variance,
       largest_interval AS event
FROM node_sums
UNION ALL
SELECT kind, node, scope, node_id, 'objects', samples, certain_samples,
       certain_samples * 1.0, samples * 1.0, objects, objects_variance,
       most_certain_samples * 1.0, most_samples * 1.0, most_objects, most_objects_variance,
       CASE WHEN most_samples = 0 OR (is_wide = 1 AND most_samples < 4) THEN object_interval
            WHEN is_wide = 0 OR smaller_ones <= next OR object_interval <= next THEN next
            WHEN smaller_ones < object_interval THEN smaller_ones
            ELSE object_interval END
FROM (
  SELECT kind, node, scope, node_id, samples, certain_samples, objects, objects_variance,
         most_samples, most_certain_samples, most_objects, most_objects_variance,
         object_interval, is_wide, smaller_ones,
         CASE WHEN heaviest > largest_object_weight THEN heaviest ELSE largest_object_weight END
           AS next
  FROM (
    SELECT kind, node, scope, node_id, samples, certain_samples, objects, objects_variance,
           most_samples, most_certain_samples, most_objects, most_objects_variance,
           object_interval, largest_object_weight,
           CASE WHEN largest_size >= 2.0 * smallest_size THEN 1 ELSE 0 END AS is_wide,
           largest_object_weight
             * (1.0 + CASE WHEN smallest_size > 8.0 THEN LN(smallest_size / 8.0) ELSE 0.0 END)
             AS smaller_ones,
           CASE WHEN x > 600.0 THEN 1.0
                WHEN x >= 0.03125 THEN 1.0 / (1.0 - EXP(-x))
                ELSE 1.0 / x + 0.5 + x / 12.0 * (1.0 - x * x / 60.0) END AS heaviest
    FROM (SELECT kind, node, scope, node_id, samples, certain_samples, objects, objects_variance,
                 most_samples, most_certain_samples, most_objects, most_objects_variance,
                 object_interval, largest_object_weight, smallest_size, largest_size,
                 CASE WHEN most_samples > 0 AND object_interval > 0
                      THEN smallest_size / object_interval END AS x
          FROM node_sums) AS relative) AS weights) AS events;

-- The two gamma laws of the interval by their means and by their deviations relative
-- to these. A gamma law of shape a has the relative deviation 1/sqrt(a).
CREATE VIEW node_laws AS
SELECT
  kind, node, scope, node_id, quantity, samples, certain_samples, exact, seen, weighted,
  variance, most_exact, most_seen, most_weighted, most_variance, upper_mean,
  CASE WHEN weighted > 0.0 THEN SQRT(variance) / weighted ELSE 0.0 END AS lower_deviation,
  CASE WHEN upper_mean > 0.0 THEN SQRT(most_variance + event * event) / upper_mean ELSE 0.0 END
    AS upper_deviation
FROM (
  SELECT kind, node, scope, node_id, quantity, samples, certain_samples, exact, seen, weighted,
         variance, most_exact, most_seen, most_weighted, most_variance, event,
         CASE WHEN most_weighted > most_seen THEN most_weighted - most_seen ELSE 0.0 END + event
           AS upper_mean
  FROM node_quantities) AS shifted;

-- Of what is known L = max(B, gq(alpha/2; Y, V)), and with what is open
-- U = B + gq(1 - alpha/2; Y - B + E, V + E^2), with Wilson and Hilferty's cube for the gamma
-- quantile gq. V = 0 leaves the exponential law of the next event, whose quantile is exact.
CREATE VIEW node_limits AS
SELECT
  kind, node, scope, node_id, quantity, samples, certain_samples, exact, seen, weighted,
  variance, most_exact, most_weighted, level, lower_deviation, upper_deviation,
  CASE WHEN lower_root > 0.0 THEN weighted * lower_root * lower_root * lower_root ELSE 0.0 END
    AS lower_limit,
  CASE WHEN most_variance > 0.0
       THEN most_seen + upper_mean * upper_root * upper_root * upper_root
       ELSE most_seen + upper_mean * exponential_quantile END AS upper_limit
FROM (
  SELECT kind, node, scope, node_id, quantity, samples, certain_samples, exact, seen, weighted,
         variance, most_exact, most_seen, most_weighted, most_variance, upper_mean, level,
         exponential_quantile, lower_deviation, upper_deviation,
         1.0 - lower_deviation * lower_deviation / 9.0 - z * lower_deviation / 3.0
           AS lower_root,
         1.0 - upper_deviation * upper_deviation / 9.0 + z * upper_deviation / 3.0
           AS upper_root
  FROM node_laws CROSS JOIN confidence) AS cubes;

-- The result: per kind, node ('total', 'process', 'stack', 'function', 'module'), scope
-- ('self' or 'total') and quantity ('bytes' or 'objects') a value with its interval,
-- which contains the value. `open`: what is in `hi` alone, beyond rounding. `upper_shape` tells how
-- good the upper limit is.
CREATE VIEW estimates AS
SELECT
  kind, node, scope, node_id, quantity, samples, certain_samples,
  exact + weighted AS value,
  exact + CASE WHEN seen > lower_limit THEN CASE WHEN seen < weighted THEN seen ELSE weighted END
               WHEN lower_limit < weighted THEN lower_limit
               ELSE weighted END AS lo,
  most_exact + CASE WHEN upper_limit > most_weighted THEN upper_limit ELSE most_weighted END AS hi,
  variance, exact,
  CASE WHEN most_exact + most_weighted > (exact + weighted) * (1.0 + 1e-12)
       THEN most_exact + most_weighted - exact - weighted ELSE 0.0 END AS open,
  level,
  CASE WHEN upper_deviation > 0.0 THEN 1.0 / (upper_deviation * upper_deviation) END
    AS upper_shape
FROM node_limits;

-- The same with names.
CREATE VIEW total_estimates AS
SELECT kind, quantity, samples, certain_samples, value, lo, hi, variance, exact, open, level
FROM estimates WHERE node = 'total';

CREATE VIEW process_estimates AS
SELECT kind, process_id, pid, executable, quantity, samples, certain_samples, value, lo, hi,
       variance, exact, open, level
FROM estimates JOIN processes ON process_id = node_id
WHERE node = 'process';

CREATE VIEW function_estimates AS
SELECT kind, function_id, name, file_name AS module, scope, quantity, samples, certain_samples,
       value, lo, hi, variance, exact, open, level
FROM estimates
JOIN functions ON function_id = node_id
JOIN modules ON modules.module_id = functions.module_id
WHERE node = 'function';

CREATE VIEW module_estimates AS
SELECT kind, module_id, path, scope, quantity, samples, certain_samples, value, lo, hi,
       variance, exact, open, level
FROM estimates JOIN modules ON module_id = node_id
WHERE node = 'module';

-- A stack goes by its leaf; stack_locations and frames have the rest.
CREATE VIEW stack_estimates AS
SELECT kind, estimates.node_id AS stack_id, name AS leaf, quantity, samples, certain_samples,
       value, lo, hi, variance, exact, open, level
FROM estimates
JOIN stack_locations ON stack_locations.stack_id = node_id AND stack_locations.position = 0
JOIN frames ON frames.location_id = stack_locations.location_id AND frames.position = 0
JOIN functions ON functions.function_id = frames.function_id
WHERE node = 'stack';
