#!/usr/bin/env python3
"""geiger doctor --machine: what it says of this machine, and that it can find fault with one.

usage: doctor_machine.py GEIGER
"""
import os
import platform
import re
import subprocess
import sys
import unittest

import harness

GEIGER = sys.argv.pop(1) if len(sys.argv) > 1 and os.sep in sys.argv[1] else (
    harness.BUILD / "bin" / "geiger")
NAMES = ["geiger", "processor", "kernel", "C library", "order", "sampler", "malloc + free"]
ORDER = r"200000 objects freed by other threads: (\d+) not recorded, (\d+) frees missed"


class Machine(unittest.TestCase):
    @staticmethod
    def examine(**variables):
        return subprocess.run([GEIGER, "doctor", "--machine"], env=harness.environment([], variables),
                              capture_output=True, text=True, timeout=300, check=False)

    def facts(self, done):
        facts = {line[:15].strip(): line[16:] for line in done.stdout.splitlines()}
        self.assertEqual(list(facts), NAMES, done)
        return facts

    def test_this_machine_is_described_and_healthy(self):
        done = self.examine()
        facts = self.facts(done)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(facts["geiger"], r"^\d+\.\d+\.\d+$")
        self.assertTrue(facts["processor"].startswith(f"{platform.machine()}, "))
        self.assertIn(f", {os.cpu_count()} online", facts["processor"])
        self.assertEqual(facts["kernel"], f"Linux {platform.release()}, pages of "
                                          f"{os.sysconf('SC_PAGESIZE')} bytes")
        self.assertEqual(facts["C library"], os.confstr("CS_GNU_LIBC_VERSION"))
        self.assertEqual(re.fullmatch(ORDER, facts["order"]).groups(), ("0", "0"))
        self.assertEqual(facts["sampler"], "healthy")
        self.assertRegex(facts["malloc + free"],
                         r"^-?\d+\.\d ns alone, -?\d+\.\d ns recorded; (-?\d+\.\d and -?\d+\.\d instructions"
                         r"|instructions cannot be counted here)$")

    def test_missed_frees_are_counted(self):
        done = self.examine(LD_PRELOAD=harness.host("libsame_block.so"))
        lost, missed = map(int, re.fullmatch(ORDER, self.facts(done)["order"]).groups())
        self.assertEqual((lost, done.returncode, done.stderr), (0, 1, ""))
        self.assertGreater(missed, 0)

    def test_a_load_that_cannot_be_recorded_is_an_error(self):
        done = subprocess.run(["sh", "-c", f"ulimit -f 100; exec '{GEIGER}' doctor --machine"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^geiger: the load cannot be recorded: .*\n$")

    def test_options_of_recordings_are_refused(self):
        for words in (["--json"], ["a.geiger"]):
            done = subprocess.run([GEIGER, "doctor", "--machine", *words], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("excludes --machine", done.stderr)


if __name__ == "__main__":
    unittest.main()
