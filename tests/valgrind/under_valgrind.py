#!/usr/bin/env python3
"""Our own tests, and host programs with the preloaded runtime, under valgrind's tools.

    under_valgrind.py memcheck|helgrind|drd

Silent means: no error that expected.supp does not name. Helgrind and drd know locks and
threads but not what C++ orders by atomics, so the lock-free structures are named there; that
those are right is the thread sanitizer's question (preset `tsan`, same tests).

With --soname-synonyms=somalloc=nouserintercepts valgrind replaces libc's malloc alone, and ours
in front of it stays what the host calls; each host must leave a trace.
"""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import harness  # noqa: E402

TOOL = "memcheck"
SUPPRESSIONS = pathlib.Path(__file__).resolve().parent / "expected.supp"
# valgrind has no mremap of length 0, with which a trace doubles its mapping, no single steps, and
# makes calls of its own where ours are refused; resident bytes are its own too; stacks of garbage
# are read on purpose.
TESTS = {"capture_filter_test": "", "capture_names_test": "",
         "capture_tables_test": "--gtest_filter=-*TakesNoMoreFor*:*GivesItsPagesBack*",
         "unwind_cfi_test": "", "trace_reader_test": "",
         "unwind_test": "--gtest_filter=-*EqualLibgccsAtEvery*:*SurviveGarbage*",
         "trace_writer_test": "--gtest_filter=-*DoublesItsMapping*:*LeavesAnEmptyFile*:"
                              "*CannotPopulateAllocates*"}
SCENARIOS = ("threads/comes_and_goes threads/many_at_once threads/hand_over threads/cancelled"
             " threads/storage_destructors threads/late_allocations edges/reallocs"
             " edges/sizes_zero edges/new_forms").split()
BEYOND = {("drd", "threads/late_allocations")}  # More threads than drd counts, bare too.


def valgrind(log):
    options = ["valgrind", "-q", f"--tool={TOOL}", f"--log-file={log}",
               "--soname-synonyms=somalloc=nouserintercepts", "--error-exitcode=99",
               f"--suppressions={SUPPRESSIONS}"]
    return options + (["--leak-check=full", "--show-leak-kinds=definite",
                       "--errors-for-leak-kinds=definite"] if TOOL == "memcheck" else [])


class UnderValgrind(harness.ProcessTest):
    def setUp(self):
        harness.require("valgrind")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.log = pathlib.Path(directory.name, "log")

    def assert_silent(self):
        """Errors stand between == signs; what stands between -- are remarks of valgrind's."""
        errors = [line for line in self.log.read_text().splitlines() if line.startswith("==")]
        self.assertEqual(errors, [])

    def test_units(self):
        for name, words in TESTS.items():
            with self.subTest(test=name):
                outcome = harness.run_bare([*valgrind(self.log), harness.BUILD / "bin" / name,
                                            *words.split()], timeout=900)
                self.assertEqual(outcome.status, 0, outcome.stdout[-1000:])
                self.assert_silent()

    def test_hosts(self):
        for scenario in SCENARIOS:
            if (TOOL, scenario) in BEYOND:
                continue
            program, name = scenario.split("/")
            with self.subTest(scenario=scenario):
                bare = harness.run_bare([harness.host(program), name])
                recorded = harness.record([*valgrind(self.log), harness.host(program), name], 4096,
                                          timeout=600)
                self.assert_same_outcome(bare, recorded.outcome, scenario)
                self.assertTrue(any(path.name.startswith(f"{program}.")
                                    for path in recorded.paths), "no trace of the host")
                self.assert_silent()


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
