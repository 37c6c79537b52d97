#!/usr/bin/env python3
"""Labels and thread names that python/geiger.py sets: each block is counted under its own."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness
import pythons
import trace_reader

GEIGER = str(harness.BUILD / "bin" / "geiger")
SCRIPT = pathlib.Path(__file__).resolve().parent / "python" / "labelled.py"
SIZE = 70000  # that of the script
PATIENCE = 60
# Label -> number of the case -> blocks. Number 0 stands for blocks that have no label.
EXPECTED = {
    "tenant=acme": {1: 4, 8: 1},
    "tenant=acme / phase=parse": {2: 2},
    "phase=fails": {3: 1},
    "shared": {4: 1, 7: 3},
    "shared / shared": {4: 1},
    "shared / shared / shared": {4: 1},
    "generator": {5: 1},
    "generator / deep": {6: 4},
    "tenant=a": {9: 3},
    "tenant=b": {10: 3},
    "decorated": {11: 3},
    "tenant=acme / task=first": {15: 1},
    "tenant=acme / task=first / one": {12: 3},
    "task=in_order": {15: 1},
    "task=in_order / two": {13: 3},
    "task=wait_and_take": {16: 3},
    " / ".join(["level"] * 16): {19: 1},
}
IN_CHILD = {"forked": {17: 1}, "forked / in child": {18: 1}}


def counts_of(trace):
    """The same of a trace."""
    found = collections.defaultdict(collections.Counter)
    for sample in trace.samples:
        case = sample.requested - SIZE - 1  # A bytearray has one byte more.
        if 0 <= case < 100:
            found[" / ".join(trace.label_path(sample.label))][case] += 1
    return {label: dict(counts) for label, counts in found.items()}


class PythonLabels(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.directory = pathlib.Path(self.temporary.name)

    def run_under_geiger(self, *options, program, directory=None):
        done = subprocess.run([GEIGER, "run", "-q", "--interval", "1", *options, "--", *program],
                              cwd=directory or self.directory, env=harness.environment([]), capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def recorded(self, python):
        """The traces of the script and of its child."""
        with tempfile.TemporaryDirectory(dir=self.directory) as run:
            said = self.run_under_geiger("--no-symbolize", directory=run,
                                         program=[python, "-W", "error", SCRIPT])
            self.assertEqual(said, "recorded\n")
            traces = [trace_reader.read(path) for path in pathlib.Path(run).rglob("*.geiger")]
        self.assertEqual(len(traces), 2)
        return sorted(traces, key=lambda trace: len(trace.samples), reverse=True)

    def test_each_block_has_its_label(self):
        for python in pythons.some_interpreters():
            with self.subTest(python):
                parent, child = self.recorded(python)
                counts = counts_of(parent)
                unlabelled = counts.pop("")
                self.assertEqual(counts, EXPECTED)
                self.assertEqual(set(unlabelled), {0})
                self.assertEqual(counts_of(child), IN_CHILD)
                for trace in (parent, child):
                    trace.check()

    def test_threads_have_their_names(self):
        for python in pythons.some_interpreters():
            with self.subTest(python):
                parent, _ = self.recorded(python)
                names = {name.name for name in parent.thread_names}
                self.assertLessEqual({"worker-0", "worker-1", "worker-2", "ThreadPoolExecu"}, names)

    def test_not_recorded(self):
        for python in pythons.some_interpreters():
            with self.subTest(python):
                done = subprocess.run([python, "-W", "error", SCRIPT], capture_output=True,
                                      text=True, timeout=PATIENCE, env=harness.environment([]))
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, "not recorded\n", ""))

    def test_after_attaching(self):
        """The module looks again, although the library is in no global scope."""
        script = ("import sys\nsys.path.insert(0, sys.argv[1])\nimport geiger\nkept = []\n"
                  "for line in sys.stdin:\n"
                  "    with geiger.label('late'):\n        kept.append(bytearray(70001))\n"
                  "    print(geiger.is_recorded(), flush=True)\n")
        with subprocess.Popen(["python3", "-c", script, SCRIPT.parents[2] / "python"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=harness.environment([])) as process:
            def ask():
                process.stdin.write("?\n")
                process.stdin.flush()
                return process.stdout.readline()
            self.assertEqual(ask(), "False\n")
            with subprocess.Popen([GEIGER, "attach", "--interval", "1", "-o", "r.geiger",
                                   str(process.pid)], cwd=self.directory, stderr=subprocess.PIPE,
                                  text=True, env=harness.environment([])) as attached:
                self.assertIn("stopped for", attached.stderr.readline())
                while ask() == "False\n":  # For a second at most.
                    pass
                ask()
                attached.terminate()
                attached.stderr.read()
            process.stdin.close()
        self.assertGreaterEqual(counts_of(trace_reader.read(self.directory / "r.geiger"))["late"][1], 1)

    def test_what_is_not_a_label_changes_nothing(self):
        """The two functions, asked for nonsense."""
        script = ("import ctypes\n"
                  "set, define = (getattr(ctypes.CDLL(None), f'geiger_{name}_label_v1')\n"
                  "               for name in ('set', 'define'))\n"
                  "a = define(b'a', 0)\n"
                  "print(set(a) == 0, set(a + 1000) == a, set(2**32 - 1) == a, set(0) == a,\n"
                  "      define(None, 0), define(b'', 0), define(b'x' * 1025, 0), define(b'b', 2**31),\n"
                  "      define(b'a', 0) == a)\n")
        said = self.run_under_geiger("-o", "r.geiger", program=["python3", "-c", script])
        self.assertEqual(said, "True True True True 0 0 0 0 True\n")

    def test_the_command_says_where_it_is(self):
        path = subprocess.run([GEIGER, "--python-path"], capture_output=True, text=True, check=True)
        self.assertEqual(path.stderr, "")
        with_path = harness.environment([], {"PYTHONPATH": path.stdout.rstrip("\n")})
        said = subprocess.run(["python3", "-c", "import geiger; print(geiger.is_recorded())"],
                              capture_output=True, text=True, check=True, env=with_path)
        self.assertEqual(said.stdout, "False\n")

    def test_frames_of_the_module_are_not_the_programs(self):
        self.run_under_geiger("-o", "r.geiger", program=["python3", SCRIPT])
        said = subprocess.run([GEIGER, "table", "--json", "--sort", "total", "--top", "0", "r.geiger"],
                              cwd=self.directory, capture_output=True, text=True, check=True).stdout
        rows = json.loads(said)["rows"]
        self.assertIn("wait_and_take", {row["name"] for row in rows})
        self.assertEqual([row["name"] for row in rows if row.get("detail") == "geiger.py"], [])


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    unittest.main()
