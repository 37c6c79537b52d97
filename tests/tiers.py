#!/usr/bin/env python3
"""The tiers of tests together are all tests, each in exactly one; asks ./test and .ci/run, which list them."""
import json
import os
import re
import subprocess
import unittest

import harness

LISTED = [line.split() for line in (harness.ROOT / "tests/slow").read_text().splitlines()
          if line[:1].isdigit()]
THIRDS = ("third_0", "third_1", "third_2")


def ask(*command):
    """`command`, of ./test or .ci/run, about the build that is tested."""
    environment = {**os.environ, "GEIGER_BUILD_DIR": str(harness.BUILD)}
    # Without those of the first tier that ctest adds because others need what they make.
    words = [harness.ROOT / command[0], *command[1:], "-N", "-FS", "."]
    return subprocess.run(words, env=environment, text=True, capture_output=True, check=False)


def tests(*command):
    done = ask(*command)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return re.findall(r"(?m)^ *Test *#\d+: (.*)", done.stdout)


class Tiers(unittest.TestCase):
    def test_each_test_is_in_one(self):
        every = tests("test", "all")
        self.assertGreater(len(every), 200)
        parts = [tests("test"), *(tests("test", third) for third in THIRDS)]
        self.assertCountEqual(sum(parts, []), every)
        self.assertCountEqual(sum(parts[1:], []), tests("test", "slow"))

    def test_the_list_is_of_tests(self):
        """A name that is not a test, or whose test was not given to geiger_tier, would mark nothing."""
        self.assertCountEqual([name for _, name, *_ in LISTED], tests("test", "slow"))

    def test_the_first_needs_no_program_of_the_second(self):
        """Which ./test does not build."""
        programs = {word for _, *words in LISTED for word in words}
        first = set(tests("test"))
        listed = subprocess.run(["ctest", "--test-dir", harness.BUILD, "--show-only=json-v1"], check=True,
                                capture_output=True, text=True).stdout
        for test in json.loads(listed)["tests"]:
            if test["name"] in first:
                words = {os.path.basename(word) for word in test.get("command", [])
                         if word.startswith(f"{harness.BUILD.resolve()}/")}
                self.assertFalse(words & programs, test["name"])

    def test_thirds_take_as_long(self):
        seconds = {name: int(seconds) for seconds, name, *_ in LISTED}
        sums = [sum(seconds[name] for name in tests("test", third)) for third in THIRDS]
        self.assertLess(max(sums), 1.25 * min(sums), sums)

    def test_continuous_integration_runs_a_third(self):
        if not (harness.ROOT / ".git").exists():
            self.skipTest("not a checkout of git")
        slow = re.search(r"Of the slow tests: (\w+)", ask(".ci/run").stdout)[1]
        self.assertIn(slow, (*THIRDS, "slow"))
        self.assertEqual(tests(".ci/run"), tests("test") + tests("test", slow))

    def test_a_change_in_a_room_has_its_slow_tests(self):
        text = (harness.ROOT / "HACKING.md").read_text()
        table = text.split("| a change in |")[1].split("\n\n")[0]
        last = " ".join(row.split("|")[2] for row in table.splitlines() if row.startswith("| "))
        self.assertCountEqual(set(re.findall(r"`(\w+)`", last)), tests("test", "slow"))

    def test_other_names_are_refused(self):
        for wrong, right in (("estimatoin_test", "estimation_test"), ("unti", "unit")):
            refused = ask("test", wrong)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn(f"'{wrong}' is neither a test nor a label; nearest: {right}", refused.stderr)
        self.assertEqual(tests("test", "estimation_test"), ["estimation_test"])


if __name__ == "__main__":
    unittest.main()
