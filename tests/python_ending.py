#!/usr/bin/env python3
"""Reports of Python programs end where the interpreter begins to finalize: what it frees then was live."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import harness
import pythons

GEIGER = str(harness.BUILD / "bin" / "geiger")
SCRIPT = pathlib.Path(__file__).resolve().parent / "python" / "ending.py"
PATIENCE = 120
LINE = 9  # of on_request
# bytes(n) takes n + 33 bytes.
KEPT = 12000 * sum(500 + k + 33 for k in range(8))


class PythonEnding(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.run_file = str(pathlib.Path(self.temporary.name) / "a.geiger")

    def geiger(self, *arguments):
        done = subprocess.run([GEIGER, *arguments], env=harness.environment([]), capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def recorded(self, python, *arguments):
        return self.geiger("run", "-f", "--interval", "4KiB", "--seed", "7", "-o", self.run_file, "--", python,
                           str(SCRIPT), *arguments).stderr

    def live(self, *options):
        report = self.geiger("table", "--kind", "live", "--json", *options, self.run_file).stdout
        # Up to 3.10 its name is <listcomp>.
        rows = [row for row in json.loads(report)["rows"] if row.get("line") == LINE]
        return rows[0]["self"]["bytes"] if rows else {"lo": 0, "hi": 0, "value": 0}

    def test_a_normal_exit_is_as_one_without_finalization(self):
        for python in pythons.some_interpreters():
            for arguments in ([], ["exit0"]):
                with self.subTest(python=python, arguments=arguments):
                    self.recorded(python, *arguments)
                    live = self.live()
                    # With the lists and the dictionary's part; 12,000 samples: the error is 1 %.
                    self.assertGreater(live["hi"], KEPT)
                    self.assertLess(live["lo"], 1.1 * KEPT)
                    self.assertGreater(live["value"], 0.95 * KEPT)
                    if not arguments:
                        self.assertLess(self.live("--finalization")["hi"], 0.1 * KEPT)

    def test_leaks_are_judged_before_it(self):
        said = self.recorded("/usr/bin/python3")
        self.assertIn("before the interpreter finalized", said)
        leaks = json.loads(self.geiger("leaks", "--json", self.run_file).stdout)
        self.assertEqual(leaks["judged"]["why"], "before_finalization")
        # Whether it is a suspect depends on how evenly the machine lets it grow.
        self.assertGreater(leaks["live"]["bytes"]["hi"], KEPT)
        self.assertIn("Judged before the interpreter finalized", self.geiger("leaks", self.run_file).stdout)

    def test_helpers_of_multiprocessing_are_waited_for(self):
        program = pathlib.Path(self.temporary.name) / "pool.py"
        program.write_text("import multiprocessing\n"
                           "if __name__ == '__main__':\n"
                           "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
                           "        pool.map(len, [bytes(1000)] * 8)\n")
        said = self.geiger("run", "-f", "-o", self.run_file, "--", "/usr/bin/python3", str(program)).stderr
        self.assertNotIn("still", said)
        self.assertFalse(pathlib.Path(self.run_file + ".parts").exists())

    def test_versions_without_frames_are_named(self):
        old = [path for version in ("2.7", "3.6", "3.7")
               for path in pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
        if not old:
            self.skipTest("no interpreter without frames")
        for python in old:
            with self.subTest(python):
                said = self.geiger("run", "-f", "-o", self.run_file, "--", str(python), "-c",
                                   "x = [str(i) for i in range(300000)]").stderr
                self.assertRegex(said, r"Python \d\.\d+\.\d+: stacks lack its frames")


if __name__ == "__main__":
    unittest.main()
