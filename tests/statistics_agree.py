#!/usr/bin/env python3
"""Asserts that the library, `geiger estimate`, SQLite and PostgreSQL estimate alike.

On the reference vectors, on random compositions (fixed seed) and on a recorded program.
Sums agree to 1e-10. Limits agree to 1e-10 between the vectors, the library and the command
line; those of SQL lie within the stated error of their gamma quantile (docs/guide/sql.md):

    |error of L| <= Y       min(.0135, k / a^1.5) + 3e-7 / sqrt(a)   a: shape of the lower law
    |error of U| <= (U - B) min(cap,   k / a^1.5) + 3e-7 / sqrt(a)   a: shape of the upper law
"""
import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import harness
import postgres

GEIGER = str(harness.BUILD / "bin" / "geiger")
VECTORS = json.loads((harness.ROOT / "tests" / "vectors" / "statistics.json").read_text())
TABLES = (harness.ROOT / "src/analysis/export/sql/tables.sql").read_text()
LEVELS = (0.9, 0.95, 0.99)
SUMS = ("samples", "certain_samples", "certain_bytes", "bytes_seen", "weighted_bytes",
        "bytes_variance", "objects", "objects_variance", "covariance", "largest_object_weight",
        "largest_interval")
# k of the lower limit, k and cap of the upper one.
CUBE_ERROR = {0.9: (0.0145, 0.010, 0.03), 0.95: (0.0275, 0.016, 0.02), 0.99: (0.09, 0.09, 0.008)}


class Composition:
    """Samples as [size, interval, count], certain objects as [size, count], and the
    intervals in force, in bytes."""

    def __init__(self, name, groups, certain=(), intervals=(), is_poisson=False, expected=None):
        self.name, self.is_poisson = name, is_poisson
        self.groups, self.certain = merged(groups), merged(certain)
        self.intervals = sorted({*intervals, *(group[1] for group in groups)})
        self.expected = expected or {}  # {level: [lo, hi]} of the bytes

    def rate(self, interval):
        if self.is_poisson:
            return 1 / interval
        return math.inf if interval == 1 else -math.log1p(-1 / interval)

    def for_library(self):
        finite = [t for t in self.intervals if math.isfinite(self.rate(t))]
        certain = self.certain + [[z, n] for z, t, n in self.groups if t not in finite]
        return {"lambdas": [self.rate(t) for t in finite], "certain": certain,
                "groups": [[z, self.rate(t), n] for z, t, n in self.groups if t in finite]}

    def covariance(self):
        """Which the views alone have."""
        total = 0.0
        for z, t, n in self.groups:
            x = self.rate(t) * z
            total += n * z * math.exp(-x) / math.expm1(-x) ** 2
        return total

    def for_command(self):
        groups = [[1, t, 0] for t in self.intervals] + self.groups + [[z, 1, n] for z, n in self.certain]
        return "\n".join(f"{z}@{t}:{n}" for z, t, n in groups)


def merged(groups):
    """Equal groups as one: that is how recordings keep them."""
    counts = {}
    for *key, count in groups:
        counts[tuple(key)] = counts.get(tuple(key), 0) + count
    return [[*key, count] for key, count in counts.items()]


def vector_compositions():
    for site in VECTORS["ffsg"]:
        groups = []
        for sample in site.get("samples", []):
            if isinstance(sample, str):  # "x100" repeats the one before
                groups.append(groups[-1][:2] + [int(sample[1:]) - 1])
            else:
                groups.append([*sample, 1])
        expected = {level: site[key] for level, key in
                    ((0.9, "ffsg_0.1"), (0.95, "ffsg_0.05"), (0.99, "ffsg_0.01")) if key in site}
        yield Composition(site["name"], groups, (), [round(site["E"])] if site["E"] else [], True,
                          expected)
    exact = VECTORS["ffsg_exact_above_T"]
    yield Composition("exact above T", [[16, 524288, 3]], [[8388608, 2]], [524288], True,
                      {0.95: exact["ffsg_0_05"]})


def weight_compositions():
    """One sample each; what its sums must be."""
    names = {"w": "weighted_bytes", "v": "bytes_variance", "count": "objects",
             "vc": "objects_variance", "cov": "covariance"}
    for row in VECTORS["ht_weights"]:
        if row["convention"] == "bernoulli" and row["T"] == 1:
            continue  # certain: no weights
        yield (Composition(f"T {row['T']} size {row['size']}", [[row["size"], row["T"], 1]],
                           is_poisson=row["convention"] == "poisson"),
               {name: row[key] for key, name in names.items()})


def random_compositions(count, rng):
    """Batches that share their intervals, as the nodes of one recording do."""
    for batch in range(count):
        intervals = rng.sample([1, 2, 64, 4096, 65536, 524288, 2097152], rng.randint(1, 3))
        # Few objects far above the largest interval: without certain objects the upper law
        # could take a shape below 1/2, for which SQL states no error.
        largest = max(intervals)
        for number in range(10):
            groups, certain = [], []
            for _ in range(rng.choice((0, 1, 1, 2, 5))):
                size = max(1, int(largest * 10 ** rng.uniform(-6, 0.4)))
                groups.append([size, rng.choice(intervals), rng.choice((1, 1, 2, 7, 100, 10**6))])
            for _ in range(rng.choice((0, 0, 1, 3))):
                certain.append([rng.randint(1, 8 * largest), rng.randint(1, 1000)])
            yield Composition(f"random {batch}.{number}", groups, certain, intervals)


def script_of(compositions):
    """A recording whose stacks are the compositions; all have the same intervals."""
    intervals = compositions[0].intervals
    rows = [TABLES, "INSERT INTO settings VALUES (0.95);",
            "INSERT INTO profiles VALUES ('allocated', 1.0);",
            "INSERT INTO processes VALUES "
            "(0, 't', 1, 1, 'x', 'a', 0, 0, 0, 0, '0', 1, 0, 0, 0, 0, 0);"]
    for number, interval in enumerate(intervals):
        rate = compositions[0].rate(interval)
        rate = repr(rate) if math.isfinite(rate) else "NULL"
        rows.append(f"INSERT INTO intervals VALUES ({number}, {interval}, {rate});")
    for stack, composition in enumerate(compositions):
        assert composition.intervals == intervals
        rows.append(f"INSERT INTO stacks VALUES ({stack}, 0, 1);")
        rows += [f"INSERT INTO counts VALUES (0, {stack}, {intervals.index(t)}, {z}, 0, 1, 0, 0, {n}, 0, 0);"
                 for z, t, n in composition.groups]
        rows += [f"INSERT INTO counts VALUES (0, {stack}, 0, {z}, 0, 1, 1, 0, {n}, 0, 0);"
                 for z, n in composition.certain]
    return "\n".join(rows)


def batches(compositions):
    """Non-empty compositions by what one database can hold."""
    groups = {}
    for composition in compositions:
        if composition.groups or composition.certain:
            key = (composition.is_poisson, tuple(composition.intervals))
            groups.setdefault(key, []).append(composition)
    return groups.values()


SUMS_QUERY = f"SELECT node_id, {', '.join(SUMS)} FROM node_sums WHERE node = 'stack'"
LIMITS_QUERY = ("SELECT node_id, quantity, value, lo, hi, variance, exact, upper_shape"
                " FROM estimates WHERE node = 'stack'")


class Lite:
    """SQLite, through the library that Python was built with."""

    def __init__(self, script):
        self.database = sqlite3.connect(":memory:")
        self.database.executescript(script)

    def query(self, text):
        return [list(row) for row in self.database.execute(text)]

    def execute(self, text):
        self.database.execute(text)


class Postgres:
    """A schema of its own on the server."""
    server = None
    schemas = 0

    def __init__(self, script):
        Postgres.schemas += 1
        self.path = f"SET search_path TO s{Postgres.schemas};\n"
        self.server.psql(f"CREATE SCHEMA s{Postgres.schemas};\n{self.path}{script}")

    def query(self, text):
        rows = self.server.psql(f"{self.path}{text};")
        return [[number_of(field) for field in row] for row in rows]

    def execute(self, text):
        self.server.psql(f"{self.path}{text};")


def number_of(field):
    try:
        return float(field)
    except ValueError:
        return field or None


def geiger(*words, data=None, code=0, cwd=None):
    done = subprocess.run([GEIGER, *words], input=data, capture_output=True, timeout=300, cwd=cwd,
                          check=False)
    assert done.returncode == code, (words, done)
    return done.stdout


def library(compositions, levels=LEVELS):
    request = {"levels": levels, "compositions": [c.for_library() for c in compositions]}
    done = subprocess.run([str(harness.BUILD / "bin" / "statistics_library")], check=True,
                          input=json.dumps(request).encode(), capture_output=True)
    return [{**result, "covariance": composition.covariance()}
            for composition, result in zip(compositions, json.loads(done.stdout))]


def limits_at(result, level, quantity, form="total"):
    return next(row[quantity] for row in result["limits"]
                if row["level"] == level and row["form"] == form)


class Comparison(unittest.TestCase):
    """What both kinds of tests compare with, and how."""

    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        Postgres.server = cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.views = geiger("export", "sql", "--views").decode()

    def assert_close(self, value, expected, what, tolerance=1e-10, floor=0.0):
        self.assertLessEqual(abs(value - expected), tolerance * abs(expected) + floor,
                             f"{what}: {value!r} is not {expected!r}")

    def assert_sums(self, sums, expected, what):
        # Where everything was seen the variance is rounding noise of the reference.
        floor = {"bytes_variance": 1e-30 * expected["weighted_bytes"] ** 2,
                 "objects_variance": 1e-30 * expected["objects"] ** 2,
                 "covariance": 1e-30 * expected["objects"] * expected["weighted_bytes"]}
        for name in SUMS:
            self.assert_close(sums[name], expected[name], f"{what}: {name}",
                              floor=floor.get(name, 0.0))

    def assert_sql_limits(self, row, expected, result, level, what):
        """row: quantity, value, lo, hi, variance, exact, upper_shape."""
        quantity, value, lo, hi, variance, exact, shape = row
        self.assertTrue(exact <= lo <= value <= hi, f"{what}: {row}")
        weighted = value - exact
        lower_k, upper_k, cap = CUBE_ERROR[level]
        if variance > 0:
            a = weighted**2 / variance
            bound = min(0.0135, lower_k / a**1.5) + 3e-7 / math.sqrt(a)
        else:
            bound = 0
        self.assert_close(lo, expected[0], f"{what}: lo", 1e-10, bound * weighted)
        if shape is None:
            bound = 0
        else:
            self.assertGreater(shape, 0.5, what)
            bound = min(cap, upper_k / shape**1.5) + 3e-7 / math.sqrt(shape)
        seen = result["bytes_seen"] if quantity == "bytes" else result["samples"]
        self.assert_close(hi, expected[1], f"{what}: hi", 1e-10,
                          bound * (expected[1] - exact - seen))


class Compositions(Comparison):
    """Samples made up: the reference's and random ones."""

    def check_databases(self, compositions):
        for engine in (Lite, Postgres):
            for batch in batches(compositions):
                self.check_database(engine, batch)

    def check_database(self, engine, batch):
        database = engine(script_of(batch) + self.views)
        results = library(batch)
        rows = database.query(SUMS_QUERY)
        self.assertEqual(len(rows), len(batch))
        for stack, *values in rows:
            result = results[int(stack)]
            what = f"{engine.__name__}, {batch[int(stack)].name}"
            self.assert_sums(dict(zip(SUMS, values)), result, what)
        for level in LEVELS:
            database.execute(f"UPDATE settings SET level = {level}")
            rows = database.query(LIMITS_QUERY)
            self.assertEqual(len(rows), 2 * len(batch))
            for stack, *row in rows:
                result = results[int(stack)]
                what = f"{engine.__name__}, {batch[int(stack)].name}, {level}, {row[0]}"
                self.assert_sql_limits(row, limits_at(result, level, row[0]), result, level, what)

    def check_command(self, composition, result, level, form="total"):
        if composition.is_poisson and 1 in composition.intervals:
            return  # Which the command takes as certain.
        document = json.loads(geiger("estimate", "-", "--json", "--ci", str(level),
                                     *(["--listed"] if form == "listed" else []),
                                     *(["--poisson"] if composition.is_poisson else []),
                                     data=composition.for_command().encode()))
        what = f"command, {composition.name}"
        self.assert_sums({**document["sums"], "covariance": result["covariance"]}, result, what)
        for quantity in ("bytes", "objects"):
            for end, expected in zip(("lo", "hi"), limits_at(result, level, quantity, form)):
                self.assert_close(document[quantity][end], expected, f"{what}: {quantity} {end}")

    def test_vectors(self):
        compositions = list(vector_compositions())
        self.assertEqual(len(compositions), 15)
        compared = 0
        for composition, result in zip(compositions, library(compositions)):
            for level, expected in composition.expected.items():
                limits = limits_at(result, level, "bytes")
                for value, reference in zip(limits, expected):
                    self.assert_close(value, reference, f"library, {composition.name}", floor=1e-35)
                self.check_command(composition, result, level)
                compared += 1
            self.check_command(composition, result, 0.95, "listed")
        self.assertGreaterEqual(compared, 40)
        self.check_databases(compositions)

    def test_nothing_sampled(self):
        """A node without samples has a row as a process, not as a stack."""
        for engine in (Lite, Postgres):
            composition = Composition("nothing", [], (), [524288], True)
            database = engine(script_of([composition]) + self.views)
            rows = database.query("SELECT node, value, lo, hi FROM estimates"
                                  " WHERE quantity = 'bytes' ORDER BY node")
            self.assertEqual([row[0] for row in rows], ["process", "total"])
            for _, value, lo, hi in rows:
                self.assertEqual((value, lo), (0, 0))
                self.assert_close(hi, 524288 * math.log(2 / 0.05), engine.__name__)

    def test_weights(self):
        cases = list(weight_compositions())
        self.assertGreater(len(cases), 150)
        results = library([composition for composition, _ in cases])
        for (composition, expected), result in zip(cases, results):
            scale = max(expected.values())
            for name, value in expected.items():
                self.assert_close(result[name], value, f"library, {composition.name}: {name}",
                                  floor=1e-30 * scale)
        # SQL is compared with the library, whose 1e-260 it takes as 0.
        self.check_sums_in_sql([composition for composition, _ in cases])
        for (composition, _), result in list(zip(cases, results))[::7]:
            self.check_command(composition, result, 0.95)

    def check_sums_in_sql(self, compositions):
        for engine in (Lite, Postgres):
            for batch in batches(compositions):
                database = engine(script_of(batch) + self.views)
                results = library(batch)
                for stack, *values in database.query(SUMS_QUERY):
                    self.assert_sums(dict(zip(SUMS, values)), results[int(stack)],
                                     f"{engine.__name__}, {batch[int(stack)].name}")

    def test_weights_to_the_last_digits(self):
        """The views compute pi by a series below x = 1/32 and by a difference above."""
        sizes = [1, 7, 100, *range(1985, 2112, 3), 30000, 65535]
        compositions = [Composition(str(size), [[size, 65536, 1]]) for size in sizes]
        for engine in (Lite, Postgres):
            rows = engine(script_of(compositions) + self.views).query(SUMS_QUERY)
            self.assertEqual(len(rows), len(sizes))
            for stack, *values in rows:
                size, sums = sizes[int(stack)], dict(zip(SUMS, values))
                x = -math.log1p(-1 / 65536) * size
                pi = -math.expm1(-x)
                self.assert_close(sums["objects"], 1 / pi, f"1/pi of {size}", 2e-14)
                self.assert_close(sums["objects_variance"], math.exp(-x) / pi**2, f"VC of {size}",
                                  4e-14)

    def test_random_compositions(self):
        compositions = list(random_compositions(20, random.Random(20)))
        self.check_databases(compositions)
        results = library(compositions)
        for composition, result in list(zip(compositions, results))[::4]:
            if composition.groups or composition.certain:
                self.check_command(composition, result, 0.99)

    def test_quantile_of_any_level(self):
        """The normal quantile of the views, against the exponential law's: for one unseen
        kind of object the limit is exact, for 10^8 samples it is Y + z sqrt(V) to 1e-7."""
        composition = Composition("many", [[1, 524288, 10**8]], (), [524288])
        for engine in (Lite, Postgres):
            database = engine(script_of([composition]) + self.views)
            for level in (0.001, 0.5, 0.8, 0.85, 0.8501, 0.9999, 1 - 1e-6, 1 - 1e-9):
                database.execute(f"UPDATE settings SET level = {level!r}")
                (_, _, value, lo, hi, variance, _, _), = [
                    row for row in database.query(LIMITS_QUERY) if row[1] == "bytes"]
                (low, high), = [limits_at(result, level, "bytes")
                                for result in library([composition], [level])]
                deviation = math.sqrt(variance)
                self.assert_close(lo, low, f"{engine.__name__} {level}", 0, 1e-6 * deviation)
                self.assert_close(hi, high, f"{engine.__name__} {level}", 0, 1e-6 * deviation)

    def test_levels_are_checked(self):
        for engine in (Lite, Postgres):
            database = engine(TABLES)
            for level in ("0", "1", "-0.5", "1.5"):
                with self.assertRaises((AssertionError, sqlite3.IntegrityError)):
                    database.execute(f"INSERT INTO settings VALUES ({level})")


class Recorded(Comparison):
    """A real program: what `table` says, against the views over its exports."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = tempfile.mkdtemp(prefix="geiger-agree-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        program = ("create table t(a, b); with recursive c(i) as (select 1 union all select i + 1"
                   " from c where i < 20000)"
                   " insert into t select i, printf('%0' || (i % 90 * 2) || 'd', i * 7919 % 20011) from c;"
                   " create index x on t(b); select count(*) from t;")
        for name, interval in (("a", "4KiB"), ("b", "64KiB")):
            geiger("run", "-q", "--interval", interval, "--seed", "3", "-o", name + ".geiger", "--",
                   "sqlite3", ":memory:", program, cwd=cls.directory)
        cls.runs = ["a.geiger", "b.geiger"]  # two intervals in one recording

    def table(self, kind, by):
        return json.loads(geiger("table", *self.runs, "--plumbing", "--json", "--top", "0",
                                 "--kind", kind, "--by", by, cwd=self.directory))

    def databases(self):
        geiger("export", "sqlite", *self.runs, "-f", "-o", "run.db", cwd=self.directory)
        exported = Lite("")
        exported.database = sqlite3.connect(os.path.join(self.directory, "run.db"))
        script = geiger("export", "sql", *self.runs, cwd=self.directory).decode()
        self.assertIn(self.views, script)
        yield "file of SQLite", exported
        yield "text in SQLite", Lite(script)
        yield "text in PostgreSQL", Postgres(script)

    def test_tables(self):
        for name, database in self.databases():
            for kind in ("allocated", "live", "peak"):
                self.check_total(name, database, kind)
                for by in ("function", "module"):
                    self.check_rows(name, database, kind, by)
                self.check_stacks(name, database, kind)

    def check_total(self, name, database, kind):
        total = self.table(kind, "function")["total"]
        sums = dict(zip(SUMS, database.query(
            f"SELECT {', '.join(SUMS)} FROM node_sums WHERE node = 'total'"
            f" AND kind = '{kind}'")[0]))
        rows = database.query("SELECT quantity, value, lo, hi, variance, exact, upper_shape FROM"
                              f" estimates WHERE node = 'total' AND kind = '{kind}'")
        self.assertEqual(len(rows), 2)
        for row in rows:
            estimate = total[row[0]]
            what = f"{name}, {kind} {row[0]}"
            self.assert_close(row[1], estimate["value"], what)
            self.assert_close(row[4], estimate["variance"], what)
            upper = estimate["hi"]
            if kind == "peak" and row[0] == "bytes":
                # The limit of the largest heap is by all samples, that of the views by the part of
                # them that did not choose the instant: either may be lower.
                self.assertGreaterEqual(upper, estimate["value"] * (1 - 1e-9), what)
                upper = row[3]
            self.assert_sql_limits(row, (estimate["lo"], upper), sums, 0.95, what)

    def check_rows(self, name, database, kind, by):
        label = "name, module" if by == "function" else "path"
        rows = database.query(
            f"SELECT scope, quantity, samples, certain_samples, value, variance, exact, open, {label}"
            f" FROM {by}_estimates WHERE kind = '{kind}'")
        found = {(*key, scope, quantity): numbers for scope, quantity, *rest in rows
                 for numbers, key in [(rest[:6], rest[6:])]}
        lines = self.table(kind, by)["rows"]
        self.assertEqual(len(found), 4 * len(lines), f"{name}, {kind} by {by}")
        for line in lines:
            detail = line["detail"] or "[no module]"
            key = (line["name"], detail) if by == "function" else (detail,)
            for scope in ("self", "total"):
                for quantity in ("bytes", "objects"):
                    self.check_row(found[(*key, scope, quantity)], line[scope], quantity,
                                   f"{name}, {kind} {key} {scope} {quantity}")

    def check_row(self, numbers, measure, quantity, what):
        samples, certain, value, variance, exact, left = numbers
        estimate = measure[quantity]
        self.assertEqual(samples, estimate["samples"], what)
        self.assertEqual(certain, measure["certain_samples"], what)
        self.assertEqual(exact, estimate["exact"], what)
        self.assert_close(value, estimate["value"], what)
        self.assert_close(variance, estimate["variance"], what)
        self.assert_close(left, estimate.get("open", 0), what)

    def check_stacks(self, name, database, kind):
        rows = database.query("SELECT value, samples FROM stack_estimates WHERE quantity = 'bytes'"
                              f" AND kind = '{kind}' ORDER BY value DESC")
        lines = sorted(self.table(kind, "stack")["rows"],
                       key=lambda line: -line["self"]["bytes"]["value"])
        self.assertEqual(len(rows), len(lines))
        for (value, samples), line in zip(rows, lines):
            self.assert_close(value, line["self"]["bytes"]["value"], f"{name}, {kind}")

    def test_processes_add_up(self):
        for name, database in self.databases():
            (parts,), = database.query("SELECT SUM(value) FROM process_estimates WHERE"
                                       " kind = 'allocated' AND quantity = 'bytes'")
            total = self.table("allocated", "function")["total"]["bytes"]["value"]
            self.assert_close(parts, total, name)


if __name__ == "__main__":
    unittest.main()
