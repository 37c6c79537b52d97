#!/usr/bin/env python3
"""The types of Python's live objects against what the program counts itself.

Recorded byte by byte, and read while the program waits, every instance of a class is there. At
4 KiB, by the last snapshot of the run, the numbers are within 6 standard deviations: for 4 classes
of each interpreter chance leaves that less than once in a million interpreters. (Hashes differ from
run to run, so no seed fixes the samples.) Types that the runtime reads are tested without an
observer, again byte by byte and by coverage. Runs for the interpreter of the machine and
those of pyenv, from 3.8 on.
"""
import json
import math
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
import pythons

GEIGER = harness.BUILD / "bin" / "geiger"
PROGRAM = """
import gc, json, os, sys, time
class Node:
    def __init__(self, number):
        self.number, self.next = number, None
class Item:
    __slots__ = ("name", "price")
    def __init__(self):
        self.name, self.price = None, None
class Table(dict):
    pass
class Outer:
    class Inner:
        pass
count = int(sys.argv[1])
nodes = [Node(i) for i in range(3 * count)]
items = [Item() for i in range(2 * count)]
arrays = [bytearray() for i in range(2 * count)]
tables = [Table() for i in range(count)]
inner = [Outer.Inner() for i in range(count)]
del nodes[::3]
alive = gc.get_objects()
truth = {f"__main__.{kind.__qualname__}": sum(type(each) is kind for each in alive)
         for kind in (Node, Item, Table, Outer.Inner)}
del alive
truth["bytearray"] = len(arrays)
truth["done"] = time.monotonic_ns()
print(json.dumps(truth), flush=True)
time.sleep(float(sys.argv[2])) if float(sys.argv[2]) else sys.stdin.readline()
os._exit(0)
"""
# Frees objects one by one, by the collector, and at the interpreter's end: those of a class whose
# objects are only in cycles after the class itself was cleared.
FREED = """
import gc, sys
class Node:
    def __init__(self, number):
        self.number, self.next = number, None
class Item:
    __slots__ = ("name", "price")
    def __init__(self):
        self.name, self.price = None, None
class Table(dict):
    pass
class Number(float):
    pass
class Outer:
    class Inner:
        pass
class Cycle:
    def __init__(self):
        self.own = self
class Late(Cycle):
    pass
class Error(Exception):
    pass
count = int(sys.argv[1])
nodes = [Node(i) for i in range(3 * count)]
items = [Item() for i in range(2 * count)]
kept = [kind() for kind in (Table, Number, Outer.Inner) for i in range(count)]
del nodes[::3]
for i in range(count):
    Cycle()
gc.collect()
late = [Late() for i in range(count)]
for i in range(count):
    try:
        raise Error
    except Error:
        pass
"""
TIMES = {"Node": 3, "Item": 2, "Table": 1, "Number": 1, "Outer.Inner": 1, "Cycle": 1, "Late": 1,
         "Error": 1}
SESSIONS = """
class Session:
    __slots__ = ("user", "token")
    def __init__(self, user):
        self.user, self.token = user, None
live = [Session(i) for i in range(150000)]
"""
SESSION_BYTES = 150000 * 48
OTHER_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class PythonTypes(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        os.chmod(self.directory.name, 0o777)
        self.program = os.path.join(self.directory.name, "app.py")
        self.write(PROGRAM)
        self.run = os.path.join(self.directory.name, "run.geiger")

    def record_freed(self, program, python, interval, *words, seed=1):
        self.write(program)
        outcome = harness.run_bare(
            self.command(python, interval, *words, options=("--no-observe",), seed=seed),
            cwd=self.directory.name, env=os.environ | {"PYTHONHASHSEED": "0"})
        self.assertEqual(outcome.status, 0, outcome.stderr)

    def command(self, python, interval, *words, options=(), user=(), seed=1):
        return [*map(str, (*user, GEIGER, "run", "-q", "-f", "--no-symbolize", "--seed", seed,
                           "--interval", interval, *options, "-o", self.run, "--", python,
                           self.program, *words))]

    def record(self, *words, **more):
        outcome = harness.run_bare(self.command(*words, **more), cwd=self.directory.name)
        self.assertEqual(outcome.status, 0, outcome.stderr)
        return json.loads(outcome.stdout)

    def report(self, *words):
        outcome = harness.run_bare([GEIGER, *words], cwd=self.directory.name)
        self.assertEqual(outcome.status, 0, (words, outcome.stderr))
        return outcome.stdout.decode()

    def rows(self, path, kind="live"):
        table = json.loads(self.report("table", "--json", "--kind", kind, "--by", "type", "--top",
                                       "0", path))
        return {row["name"]: row["self"] for row in table["rows"]}, table["python_objects"]

    def write(self, program):
        with open(self.program, "w") as file:
            file.write(program)

    def interpreters(self):
        for python in pythons.some_interpreters():
            with self.subTest(python=python):
                yield python

    def test_every_instance_is_there_byte_by_byte(self):
        for python in self.interpreters():
            with subprocess.Popen(self.command(python, 1, 1000, 0), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, cwd=self.directory.name) as process:
                truth = json.loads(process.stdout.readline())
                rows, objects = self.rows(self.run + ".parts")
                self.assertEqual(objects["fault"], "")
                process.communicate(b"\n")
            print(f"{python}: {objects['typed']} of {objects['samples']} samples have a type")
            for name, count in truth.items():
                if name.startswith("__main__."):
                    self.assertEqual(rows[name]["samples"], count, name)
                    self.assertEqual(rows[name]["objects"]["value"], count, name)
            self.assertGreaterEqual(rows["bytearray"]["samples"], truth["bytearray"])

    def test_estimates_are_of_the_true_numbers(self):
        for python in self.interpreters():
            for hold in (1, 3, 6, 20):  # a busy machine observes late
                truth = self.record(python, "4KiB", 20000, hold)
                if self.observed_at() >= truth.pop("done"):
                    break
            else:
                self.fail("no snapshot after the program was done")
            rows, objects = self.rows(self.run)
            self.assertEqual(objects["fault"], "")
            print(f"{python}: {objects['typed']} of {objects['samples']} samples have a type")
            for name, count in truth.items():
                estimate = rows[name]["objects"]
                # All are as large: the variance of the truth, which chance does not move.
                variance = estimate["variance"] * count / estimate["value"]
                z = (estimate["value"] - count) / math.sqrt(variance)
                print(f"  {name}: {estimate['value']:.0f} [{estimate['lo']:.0f}, "
                      f"{estimate['hi']:.0f}] of {count}, z = {z:.2f}")
                self.assertLess(abs(z), 6, name)

    def test_every_freed_instance_has_its_type(self):
        for python in self.interpreters():
            self.record_freed(FREED, python, 1, 500)
            rows, objects = self.rows(self.run, "allocated")
            print(f"{python}: {objects['typed']} of {objects['samples']} samples have a type")
            for name, times in TIMES.items():
                self.assertEqual(rows[f"__main__.{name}"]["samples"], 500 * times, name)

    def test_instances_of_a_program_that_ends_at_once_have_their_type(self):
        """Those after which their thread took eight more samples, and more follow here."""
        for python in self.interpreters():
            truth = self.record(python, 1, 1000, 0.01, options=("--no-observe",))
            rows, _ = self.rows(self.run)
            for name, count in truth.items():
                if name.startswith("__main__."):
                    self.assertEqual(rows[name]["samples"], count, name)

    def test_the_class_of_objects_that_teardown_frees_is_covered(self):
        """Ten fixed seeds. That fewer than 6 of 10 intervals of 95 % contain the truth has a
        probability of 6e-5, of the peak and of what was allocated; that the mean of the latter is 5
        standard errors away one of 6e-7."""
        inside, sums, variance = {"peak": 0, "allocated": 0}, 0, 0
        for seed in range(1, 11):
            self.record_freed(SESSIONS, "/usr/bin/python3", "16KiB", seed=seed)
            for kind in inside:
                rows, _ = self.rows(self.run, kind)
                session = rows["__main__.Session"]["bytes"]
                inside[kind] += session["lo"] <= SESSION_BYTES <= session["hi"]
                self.check_filter(kind, session, rows["[unknown]"]["bytes"])
            sums += session["value"] - SESSION_BYTES
            variance += session["variance"]
        z = sums / math.sqrt(variance)
        print(f"Session: of 10 intervals {inside} contain the truth, z of the mean {z:.2f}")
        for kind, count in inside.items():
            self.assertGreaterEqual(count, 6, kind)
        self.assertLess(abs(z), 5)

    def check_filter(self, kind, session, unknown):
        """What has no type may be of the class, and --type says the same."""
        self.assertAlmostEqual(session["open"], unknown["value"], delta=1)
        only = json.loads(self.report("table", "--json", "--kind", kind, "--type",
                                      "__main__.Session", self.run))["total"]["bytes"]
        for field in ("value", "open"):
            self.assertAlmostEqual(only[field], session[field], delta=1)

    def observed_at(self):
        outcome = harness.run_bare([GEIGER, "rss", "--json", "--at", "last", self.run])
        if outcome.status != 0:
            return 0
        summary = json.loads(self.report("summary", "--json", self.run))
        return summary["processes"][0]["start_ns"] + json.loads(outcome.stdout)["after_ns"]

    def test_types_that_cannot_be_read_are_said(self):
        self.record("/usr/bin/python3", "4KiB", 1000, 0.5, options=("--no-observe",))
        self.check_said("was not observed")

    def test_a_process_that_may_not_be_read_has_none(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become another user")
        # The kernel hides the memory of a program whose file its user may not read, from its start.
        unreadable = shutil.copy("/usr/bin/python3", self.directory.name)
        os.chmod(unreadable, 0o711)
        for hold in (1.5, 5, 20):  # a busy machine observes late
            self.record(unreadable, "4KiB", 1000, hold, user=OTHER_USER)
            text = self.report("table", "--kind", "live", "--by", "type", self.run)
            if "was not observed" not in text:
                break
        self.check_said("Permission denied")

    def check_said(self, reason):
        text = self.report("table", "--kind", "live", "--by", "type", self.run)
        said = [line for line in text.splitlines() if "Python object" in line]
        self.assertEqual(len(said), 1, text)
        self.assertIn(reason, said[0])
        # The same objects are unknown as in any other report.
        self.assertIn("[unknown]", text)


if __name__ == "__main__":
    unittest.main()
