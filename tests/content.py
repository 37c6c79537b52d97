#!/usr/bin/env python3
"""What live objects contain, against a program that knows it (hosts/content.cc).

usage: content.py GEIGER

Where every allocation is sampled, zero bytes and copies are exact but for the rounding of shares:
each object's is a whole number at random, with the right mean, so that a sum of n of them is off by
less than 3 sqrt(n). Seeds are fixed where intervals are checked.
"""
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness

GEIGER = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.sep in sys.argv[1] else str(
    harness.BUILD / "bin" / "geiger")
TEXT, BUFFER, BLANK, LARGE = 61, 1000, 800, 300_000
KINDS = ("zero", "blank", "duplicate")
HOLDS = (1, 3, 10, 30)  # Seconds: a busy machine reads late.
# Root may look into every process.
OTHER_USER = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []


def ask(run, kind, *words):
    return subprocess.run([GEIGER, "table", run, "--kind", kind, "--at", "last", "--top", "0",
                           "--wrappers", "named", *words], capture_output=True, text=True, check=False)


def rows(run, kind, *words):
    """By function or type: value, lower and upper limit."""
    asked = ask(run, kind, "--json", *words)
    assert asked.returncode == 0, asked.stderr
    report = json.loads(asked.stdout)
    schema = harness.ROOT / "docs/schema/geiger-report.schema.json"
    if schema.exists():  # Not where tests/arm64_guest.py runs.
        import jsonschema

        jsonschema.validate(report, json.loads(schema.read_text()))
    found = {}
    for row in report["rows"]:
        bytes_of = row["self"]["bytes"]
        found[row["name"].split("(")[0]] = (bytes_of["value"], bytes_of["lo"], bytes_of["hi"])
    return found


class Program:
    """The host under geiger, asked while it runs."""

    def __init__(self, mode, units, *options, interval="1", command=None, preload=None):
        self.here = tempfile.TemporaryDirectory(prefix="geiger-content-")
        self.file = os.path.join(self.here.name, "run.geiger")
        environment = dict(os.environ)
        if preload:
            environment["LD_PRELOAD"] = preload
        self.process = subprocess.Popen(
            [GEIGER, "run", "-q", "--seed", "7", "--interval", interval, *options, "-o", self.file,
             "--", *(command or [harness.host("content"), mode, str(units)])],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout.readline() == "ready\n"

    def rows(self, kind, *words):
        return rows(self.file + ".parts", kind, *words)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate()
        return said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.end()
        self.here.cleanup()


class Exact(unittest.TestCase):
    """Every allocation is sampled."""
    units = 2

    @classmethod
    def setUpClass(cls):
        with Program("still", cls.units) as program:
            cls.found = {kind: program.rows(kind) for kind in KINDS}

    def of(self, kind, site):
        return self.found[kind].get(site, (0, 0, 0))

    def check(self, kind, site, bytes, error=0):
        value, low, high = self.of(kind, site)
        self.assertAlmostEqual(value, bytes, delta=error, msg=site)
        self.assertEqual((low, high), (value, value), site)

    def test_zero_bytes(self):
        self.check("zero", "buffers", 20 * self.units * BUFFER * 3 // 4)
        self.check("zero", "never_written", 20 * self.units * BLANK)
        self.check("zero", "unique_texts", 100 * self.units)
        self.check("zero", "large_pairs", 0)

    def test_only_what_was_never_written_is_blank(self):
        self.check("blank", "never_written", 20 * self.units * BLANK)
        for site in ("buffers", "unique_texts", "texts_of_50_values", "objects_of_a_class"):
            self.check("blank", site, 0)

    def test_copies_are_counted_and_freed_ones_are_not(self):
        texts, copies = 200 * self.units, 4 * self.units
        self.check("duplicate", "texts_of_50_values", texts * TEXT * (1 - 1 / copies),
                   3 * math.sqrt(texts))
        self.check("duplicate", "large_pairs", 8 * LARGE / 2)

    def test_others_are_no_duplicates(self):
        for site in ("unique_texts", "buffers", "never_written", "objects_of_a_class",
                     "tiny_and_equal"):
            self.check("duplicate", site, 0)


class Sampled(unittest.TestCase):
    def test_limits_hold_the_truth(self):
        with Program("still", 100, interval="16KiB") as program:
            for kind, site, truth in (
                    ("zero", "buffers", 20 * 100 * BUFFER * 3 / 4),
                    ("blank", "never_written", 20 * 100 * BLANK),
                    ("duplicate", "texts_of_50_values", 200 * 100 * TEXT * (1 - 1 / 400)),
                    ("duplicate", "large_pairs", 8 * LARGE / 2)):
                _, low, high = program.rows(kind)[site]
                self.assertLessEqual(low, truth, site)
                self.assertGreaterEqual(high, truth, site)
            self.assertNotIn("unique_texts", program.rows("duplicate"))

    def test_what_changes_meanwhile_is_not_known(self):
        """Texts that stay are counted, though others come and go; of those, at most all are."""
        with Program("churn", 30, interval="4KiB") as program:
            found = program.rows("duplicate")
            held = program.rows("resident")["texts_of_50_values"][0]
            value, low, high = found["texts_of_50_values"]
            self.assertAlmostEqual(value, held * (1 - 1 / 120), delta=held / 100)
            value, low, high = found["churn"]
            self.assertLessEqual(value, 3 * 1024 * TEXT)
            self.assertGreater(high, 0)
            self.assertNotIn("unique_texts", {name for name, (value, *_) in found.items() if value})


class Stored(unittest.TestCase):
    def test_only_if_it_was_asked_for(self):
        with Program("ending", 2) as program:
            program.end()
            asked = ask(program.file, "zero")
            self.assertNotEqual(asked.returncode, 0)
            self.assertIn("record with --content", asked.stderr)

    def test_it_stays_in_the_file_and_is_counts_alone(self):
        for hold in HOLDS:
            with Program("still", 2, "--content") as program:
                time.sleep(hold)
                program.end()
                asked = ask(program.file, "zero")
                whole = asked.returncode == 0 and rows(program.file, "zero").get(
                    "buffers", (0,))[0] == 40 * BUFFER * 3 // 4
                if hold != HOLDS[-1] and not whole:
                    continue
                self.assertTrue(whole, asked.stdout + asked.stderr)
                with open(program.file, "rb") as file:
                    self.assertNotIn(b"value 0000000000000000", file.read())
                return

    def test_a_process_may_end_meanwhile(self):
        for seed in range(5):
            with Program("ending", 100, "--content", interval="64KiB") as program:
                said = program.end()
                asked = ask(program.file, "zero")
                self.assertTrue(asked.returncode == 0 or "process" in asked.stderr or
                                "--content" in asked.stderr, (seed, said, asked.stderr))


class Refusals(unittest.TestCase):
    def test_a_process_that_may_not_be_read(self):
        for hold in HOLDS:
            with tempfile.TemporaryDirectory() as directory:
                os.chmod(directory, 0o777)
                file = os.path.join(directory, "hidden.geiger")
                process = subprocess.Popen(
                    [*OTHER_USER, GEIGER, "run", "-q", "--content", "--interval", "4KiB", "-o", file,
                     "--", harness.host("content"), "hidden", "2"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=directory)
                self.assertEqual(process.stdout.readline(), "ready\n")
                time.sleep(hold)
                process.send_signal(signal.SIGTERM)
                _, said = process.communicate()
                lines = [line for line in said.splitlines() if "objects contain" in line]
                if hold != HOLDS[-1] and not lines:
                    continue
                self.assertEqual(len(lines), 1, said)
                self.assertIn("Permission denied", lines[0])
                asked = ask(file, "zero")
                self.assertNotEqual(asked.returncode, 0)
                self.assertIn("Permission denied", asked.stderr)
                return

    def test_of_other_allocators_it_is_an_upper_limit(self):
        for name in ("jemalloc", "geiger"):
            with self.subTest(allocator=name), Program(
                    "still", 10, preload=str(harness.ALLOCATORS[name])) as program:
                found = program.rows("duplicate")
                value, low, high = found["texts_of_50_values"]
                truth = 200 * 10 * TEXT * (1 - 1 / 40)
                self.assertEqual((value, low), (0, 0))
                self.assertGreaterEqual(high, truth - 3 * math.sqrt(2000))
                self.assertEqual(found["large_pairs"], (0, 0, 8 * LARGE))
                self.assertNotIn("buffers", found)


PYTHON = """
import sys, time
texts = ["value %050d" % (i % 50) for i in range(4000)]
wide = ["w\\u0435rt %020d" % (i % 50) for i in range(2000)]
data = [b"value %050d" % (i % 50) for i in range(2000)]
unique = [b"other %050d" % i for i in range(2000)]
print("ready", flush=True)
time.sleep(600)
"""


class Python(unittest.TestCase):
    def test_texts_are_compared_without_their_heads(self):
        with Program("", 0, "--python", "all", command=["/usr/bin/python3", "-S", "-c", PYTHON]) as program:
            found = program.rows("duplicate", "--by", "type")
            # 49 bytes come before ASCII text and its end, 74 before text of two-byte characters,
            # with a character at its end, 33 before bytes.
            texts = 4000 * (49 + 56) * (1 - 1 / 80) + 2000 * (74 + 25 * 2) * (1 - 1 / 40)
            data = 2000 * (33 + 56) * (1 - 1 / 40)
            self.assertGreaterEqual(found["str"][2], 0.99 * texts)
            self.assertLessEqual(found["str"][0], 1.2 * texts + 100_000)
            self.assertGreaterEqual(found["bytes"][2], 0.99 * data)
            self.assertLessEqual(found["bytes"][0], 1.05 * data + 20_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
