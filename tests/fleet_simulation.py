#!/usr/bin/env python3
"""A fleet whose truth is known (research/fleet), and what `geiger fleet` says of it.

usage: fleet_simulation.py GEIGER GEIGER_FLEET_STUDY [--by-hand FLEETS [OPTION...]]

With --by-hand it simulates so many fleets, with the seeds from 1, takes options of geiger-fleet-study, and
prints figures in place of checking them: those in docs/internals/measurements.md are of
    fleet_simulation.py GEIGER GEIGER_FLEET_STUDY --by-hand 1 --hosts 10000 --hours 24 --share 0.5 --samples 400 --groups 12
"""
import json
import math
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

GEIGER, STUDY = (os.path.abspath(path) for path in sys.argv[1:3])
OPTIONS = sys.argv[4:] if sys.argv[3:4] == ["--by-hand"] else None
del sys.argv[1:]
# 70 hosts of each version in each group.
SMALL = ["--hosts", "1260", "--groups", "6", "--hours", "3", "--share", "0.6", "--samples", "400",
         "--sites", "60", "--change", "1.5", "--changed-share", "0.03"]
PROGRAMS = {
    "python": ["/usr/bin/python3", "-c",
               "import ast, json, decimal, email, unittest\n"
               "trees = [ast.parse(open(m.__file__).read()) for m in (json, decimal, email, unittest)]\n"
               "text = json.dumps([{'a': i, 'b': [str(i)] * (i % 9)} for i in range(20000)])\n"
               "kept = json.loads(text)"],
    "perl": ["perl", "-e", 'my %h; $h{$_} = "x" x ($_ % 700) for 1..60000; delete $h{$_} for 1..9000;'],
}
NORMAL = statistics.NormalDist()


class Fleet:
    """A store, its truth, and questions to it."""

    def __init__(self, options):
        self.here = tempfile.mkdtemp(prefix="fleet-simulation-")
        self.store = os.path.join(self.here, "fleet.db")
        traces = []
        for seed, (name, words) in enumerate(PROGRAMS.items()):
            traces.append(os.path.join(self.here, name + ".geiger"))
            subprocess.run([GEIGER, "run", "-q", "--interval", "512", "--seed", str(seed + 1), "-o",
                            traces[-1], "--", *words], check=True, timeout=120,
                           stdout=subprocess.DEVNULL)
        begun = time.monotonic()
        self.truth = json.loads(subprocess.run([STUDY, self.store, *traces, *options], check=True,
                                               stdout=subprocess.PIPE).stdout)
        self.seconds = time.monotonic() - begun
        self.parts = {(part["version"], part["group"]): {site["name"]: site for site in part["sites"]}
                      for part in self.truth["parts"]}
        self.groups = 1 + max(group for _, group in self.parts)

    def close(self):
        shutil.rmtree(self.here)

    def ask(self, *words, code=0):
        done = subprocess.run([GEIGER, "fleet", *words, "--store", self.store, "--json"],
                              capture_output=True, check=False)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    def top(self, version, group):
        return self.ask("top", version, "--label", f"group={group}", "--top", "0")

    def found(self, before, after, group):
        """Names of the functions that changed."""
        diff = self.ask("diff", before, after, "--label", f"group={group}", "--per", "total",
                        "--top", "0")
        return [row["name"] for row in diff["rows"] if row["verdict"] in ("grew", "shrank")]

    def totals(self):
        """(samples, rows, recorded bytes) in the store."""
        with sqlite3.connect(self.store) as database:
            return database.execute("SELECT SUM(samples), SUM(row_count), SUM(exact_bytes) "
                                    "FROM windows").fetchone()

    def covered(self):
        """Of intervals of functions, of what was recorded, and of all hosts: (held, all)."""
        counts = {"functions": [0, 0], "recorded": [0, 0], "all hosts": [0, 0]}

        def count(what, interval, truth):
            counts[what][0] += interval["lo"] <= truth * (1 + 1e-9) and truth <= interval["hi"] * (1 + 1e-9)
            counts[what][1] += 1

        for (version, group), sites in self.parts.items():
            top = self.top(version, group)
            count("recorded", top["total"]["bytes"], sites[""]["recorded"])
            (part,) = top["fleet"]
            if "all_hosts" in part:
                count("all hosts", part["all_hosts"], sites[""]["all"])
            for row in top["rows"]:
                count("functions", row["self"]["bytes"], sites[row["name"]]["recorded"])
        return counts

    def predicted_power(self, group, change, spread):
        """That the changed site is found, of hosts as runs compared by their totals: two sides of n
        hosts, whose shares vary by the spread of the site and of all others, and by the samples;
        Benjamini-Hochberg with one true change lets through what Bonferroni does."""
        top = self.top("before", group)
        rows = {row["name"]: row["self"] for row in top["rows"]}
        hosts = top["fleet"][0]["recorded_hosts"]
        samples = rows[self.truth["changed_site"]]["samples"] / hosts
        sites = self.parts["before", group]
        shares = {name: site["all"] / sites[""]["all"] for name, site in sites.items() if name}
        spreads = 1 - 2 * shares[self.truth["changed_site"]] + sum(share ** 2 for share in shares.values())
        error = math.sqrt(2 * (spread ** 2 * spreads + 1 / samples) / hosts)
        return NORMAL.cdf(abs(math.log(change)) / error - NORMAL.inv_cdf(1 - 0.025 / len(rows)))


class Simulation(unittest.TestCase):
    """The programs recorded do not allocate the same in every run (addresses are hashed), so the seed
    does not fix what is found: each bound is one that chance passes less than once in a million runs."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(SMALL)

    @classmethod
    def tearDownClass(cls):
        cls.fleet.close()

    def test_totals_are_those_of_the_truth(self):
        samples, rows, exact = self.fleet.totals()
        self.assertEqual((samples, rows), (self.fleet.truth["samples"], self.fleet.truth["rows"]))
        self.assertEqual(exact, sum(sites[""]["recorded"] for sites in self.fleet.parts.values()))
        self.assertGreater(samples, 100_000)

    def test_intervals_cover(self):
        """At 95 %: so many that miss, or more, must have a probability of 3e-7 or more."""
        for what, (held, all_of_them) in self.fleet.covered().items():
            missed = all_of_them - held
            self.assertGreater(at_least(missed, all_of_them, 0.05), 3e-7,
                               f"{what}: {missed} of {all_of_them}")

    def test_the_changed_site_is_found_and_few_others(self):
        """A comparison may find something false once in twenty: seven or more of twelve do in one run of
        1.5 million. The changed site is missed less than once in a thousand: three times of six in one
        of 50 million."""
        fleet, found, false = self.fleet, 0, 0
        self.assertEqual(fleet.groups, 6)
        self.assertLess(at_least(7, 12, 0.05), 1 / 1_500_000)
        self.assertLess(at_least(3, 6, 0.001), 1 / 50_000_000)
        for group in range(fleet.groups):
            self.assertGreater(fleet.predicted_power(group, 1.5, 0.2), 0.999)
            names = fleet.found("before", "changed", group)
            found += fleet.truth["changed_site"] in names
            false += any(name != fleet.truth["changed_site"] for name in names)
            false += bool(fleet.found("before", "again", group))
        self.assertGreaterEqual(found, 4)
        self.assertLess(false, 7)


def at_least(hits, count, chance):
    """The probability of so many hits or more; 0 < chance < 1."""
    def log_of(k):
        choices = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        return choices + k * math.log(chance) + (count - k) * math.log1p(-chance)
    return math.fsum(math.exp(log_of(k)) for k in range(hits, count + 1))


def solve(rises_above, target):
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if rises_above(middle) > target else (middle, high)
    return low


def rate(hits, count):
    """A proportion and its 95 % interval (Clopper and Pearson)."""
    low = solve(lambda p: at_least(hits, count, p), 0.025) if hits else 0
    high = solve(lambda p: at_least(hits + 1, count, p), 0.975) if hits < count else 1
    return f"{hits} of {count} = {hits / count:.3f} [{low:.3f}, {high:.3f}]"


def by_hand(number, options):
    """The figures of large fleets."""
    value = {words[0].lstrip("-"): float(words[1]) for words in zip(options[::2], options[1::2])}
    change, spread = value.get("change", 1.1), value.get("site-spread", 0.2)
    covered, predicted = {}, []
    false = hits = comparisons = others = 0
    for seed in range(1, number + 1):
        fleet = Fleet([*options, "--seed", str(seed)])
        samples, rows, exact = fleet.totals()
        truth = fleet.truth
        print(f"{truth['documents']} documents, {rows} rows, {samples} samples, "
              f"{truth['packed_bytes'] / max(rows, 1):.1f} bytes a row packed, "
              f"{os.path.getsize(fleet.store) / max(rows, 1):.1f} stored; {fleet.seconds:.0f} s")
        print("totals equal:", (samples, rows) == (truth["samples"], truth["rows"]),
              exact == sum(sites[""]["recorded"] for sites in fleet.parts.values()))
        for what, (held, all_of_them) in fleet.covered().items():
            before = covered.get(what, (0, 0))
            covered[what] = (before[0] + held, before[1] + all_of_them)
        for group in range(fleet.groups):
            false += bool(fleet.found("before", "again", group))
            found = fleet.found("before", "changed", group)
            hits += truth["changed_site"] in found
            others += any(name != truth["changed_site"] for name in found)
            predicted.append(fleet.predicted_power(group, change, spread))
            comparisons += 1
        begun = time.monotonic()
        fleet.ask("diff", "before", "changed")
        print(f"diff of two thirds: {time.monotonic() - begun:.1f} s", flush=True)
        fleet.close()
    for what, (held, all_of_them) in covered.items():
        print(f"{what}: {held} of {all_of_them} intervals hold, {held / all_of_them:.4f}")
    print(f"A/A: something found in {rate(false, comparisons)}")
    print(f"change by {change} at {truth['changed_share']:.4f} of the bytes: found in {rate(hits, comparisons)}, "
          f"predicted {statistics.mean(predicted):.3f}; others found in {rate(others, comparisons)}")


if __name__ == "__main__":
    if OPTIONS is None:
        unittest.main()
    else:
        by_hand(int(OPTIONS[0]), OPTIONS[1:])
