#!/usr/bin/env python3
"""What a child allocated is in its own trace, or the part that may be missing is bounded.

Ten children of each kind allocate the same known bytes and leave by _exit.  However the
process was made through the C library, its trace holds `bytes` of them and says that at
most `armed` are missing.  Made by an inlined system call, it may besides have let pass
what was left of its parent's countdown: less than the interval.
"""
import pathlib
import tempfile
import unittest

import harness

CHILDREN = 10
CHURNED = 1311 * 200  # what churn(1 << 18) of tests/hosts/processes.cc asks for
# glibc's start of a child, and what the runtime never sees of printf in the parent.
INTERVALS = (4096, 64 * harness.KIB, 512 * harness.KIB)


class Children(harness.ProcessTest):
    def children_of(self, scenario, interval):
        recorded = harness.record([harness.host("processes"), scenario], interval)
        self.assertEqual(recorded.outcome.status, 0)
        parent = [t for t in recorded.traces if not t.header.mode & 4]
        self.assertEqual(len(parent), 1)
        return [t for t in recorded.traces if t.header.mode & 4]

    def check_whole(self, scenario):
        for interval in INTERVALS:
            children = self.children_of(scenario, interval)
            self.assertEqual(len(children), CHILDREN, f"{scenario} at {interval}")
            for trace in children:
                known = trace.total("bytes")
                missing = sum(thread.armed for thread in trace.threads.values())
                self.assertLessEqual(known, CHURNED, f"{scenario} at {interval}")
                self.assertGreaterEqual(known + missing, CHURNED, f"{scenario} at {interval}")

    def test_clone_by_system_call(self):
        self.check_whole("raw_fork")

    def test_clone(self):
        self.check_whole("clones")

    def test_fork_without_handlers(self):
        self.check_whole("bare_fork")

    def test_inlined_system_call(self):
        for interval in INTERVALS:
            unseen = []
            for trace in self.children_of("inline_forks", interval):
                known = trace.total("bytes")
                missing = sum(thread.armed for thread in trace.threads.values())
                self.assertLessEqual(known, CHURNED)
                unseen.append(max(CHURNED - known - missing, 0))
            unseen += [CHURNED] * (CHILDREN - len(unseen))  # those without a trace
            self.assertLess(max(unseen), interval)

    def test_shared_memory_is_the_parents(self):
        """vfork's child is the parent as far as memory goes: no trace of its own."""
        for scenario in ("vforks", "clones_sharing_memory"):
            recorded = harness.record([harness.host("processes"), scenario], 4096)
            own = recorded.of("processes")
            self.assertEqual(len(own), 1, scenario)
            self.assertGreater(own[0].total("bytes"), CHILDREN * 100000, scenario)

    def test_summary_says_it(self):
        geiger = harness.BUILD / "bin" / "geiger"
        if not geiger.exists():
            self.skipTest("the command line is not built")
        with tempfile.TemporaryDirectory() as directory:
            run = pathlib.Path(directory) / "run.geiger"
            harness.run_bare([geiger, "run", "-q", "-o", run, "--", harness.host("processes"),
                              "raw_fork"])
            text = harness.run_bare([geiger, "summary", run]).stdout.decode()
            self.assertRegex(text, r"children +10 by fork +recorded from their first allocation")


if __name__ == "__main__":
    unittest.main()
