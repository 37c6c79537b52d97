#!/usr/bin/env python3
"""Processes of a run that geiger's library is not in: `geiger run` names them, and no report or gate
takes the rest for the whole. What runs for two seconds here is looked at four times."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 120  # seconds; only a hang takes that long
SLEEPER = "#include <unistd.h>\nint main(void) { return sleep(2); }\n"


class Unrecorded(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="geiger-unrecorded-"))
        self.addCleanup(shutil.rmtree, self.directory)

    def geiger(self, *words, code=0):
        done = subprocess.run([GEIGER, *words], cwd=self.directory, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def not_recorded(self, *command, code=0):
        """What geiger says of such processes of a run: (name, why)."""
        said = self.geiger("run", "-f", "-o", "run", "--", *command, code=code).stderr
        return re.findall(r"^geiger: (\S+), pid \d+: not recorded: (.*);", said, re.M)

    def test_another_environment(self):
        """A gate on what is left would pass, whatever the process allocated."""
        found = self.not_recorded("sh", "-c", "ls / >/dev/null; env -i sleep 2; exit 5", code=5)
        self.assertEqual([name for name, _ in found], ["sleep"])
        self.assertIn("environment without LD_PRELOAD", found[0][1])
        summary = json.loads(self.geiger("summary", "--json", "run").stdout)
        self.assertIn("not recorded", json.dumps(summary))
        self.geiger("check", "--max-bytes", "1TiB", "run", code=4)

    def test_the_program_itself_becomes_one(self):
        """It was recorded up to its exec."""
        (name, _), = self.not_recorded("env", "-i", "sleep", "2")
        self.assertEqual(name, "sleep")

    def test_static(self):
        program = self.directory / "sleeper"
        built = subprocess.run(["cc", "-static", "-x", "c", "-", "-o", program], input=SLEEPER, text=True,
                               capture_output=True, check=False)
        if built.returncode != 0:
            self.skipTest("no static C library")
        found = self.not_recorded("sh", "-c", f"ls / >/dev/null; {program}")
        self.assertEqual(found, [("sleeper", "it is linked statically (docs/guide/static.md)")])

    def test_without_any_trace(self):
        said = self.geiger("run", "-o", "run", "--", "sh", "-c", "exec env -i sleep 2").stderr
        self.assertRegex(said, r"sleep, pid \d+: not recorded: it was started with an environment ")
        self.assertNotIn("loaded no runtime", said)

    def test_those_with_the_library_are_none(self):
        work = "sleep 1; /usr/bin/python3 -c 'import os, time; os.fork(); time.sleep(1)'; (sleep 1)"
        self.assertEqual(self.not_recorded("sh", "-c", work), [])
        self.assertEqual(self.not_recorded("sh", "-c", "setsid sh -c 'sleep 1' & sleep 1; wait"), [])

    def test_many_are_not_told_one_by_one(self):
        found = self.not_recorded("sh", "-c", "ls / >/dev/null; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "
                                  "env -i sleep 2 & done; wait")
        self.assertEqual(len(found), 8)


if __name__ == "__main__":
    unittest.main()
