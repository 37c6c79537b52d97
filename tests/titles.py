#!/usr/bin/env python3
"""A program that overwrites its arguments and environment finds its children's traces where
the parent's are, and nothing of ours anywhere else."""
import os
import tempfile
import unittest

import harness


class Titles(harness.ProcessTest):
    def check(self, scenario, traces):
        with tempfile.TemporaryDirectory() as cwd:
            command = [harness.host("titles"), scenario]
            bare = harness.run_bare(command, cwd=cwd)
            self.assertNotIn(b"not so", bare.stdout)
            before = set(os.listdir("/"))
            recorded = harness.record(command, 4096, cwd=cwd)
            self.assert_same_outcome(bare, recorded.outcome, scenario)
            self.assertEqual(os.listdir(cwd), [])
            self.assertEqual([name for name in set(os.listdir("/")) - before
                              if name.endswith(".geiger")], [], "a trace in the root directory")
            self.assertEqual(len(recorded.traces), traces, scenario)
            self.assert_sound(recorded)

    def test_children(self):
        for scenario in ("zeros", "letters", "slashes"):
            with self.subTest(scenario=scenario):
                self.check(scenario, 2)

    def test_exec(self):
        self.check("execs", 2)


if __name__ == "__main__":
    unittest.main()
