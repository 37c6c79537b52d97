#!/usr/bin/env python3
"""Programs linked with musl under geiger run: as without it, exact totals, named stacks.

usage: musl.py GEIGER
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

GEIGER = sys.argv.pop(1) if len(sys.argv) > 1 and os.sep in sys.argv[1] else (
    harness.BUILD / "bin" / "geiger")
SOURCES = harness.ROOT / "tests" / "hosts"


class Musl(harness.ProcessTest):
    @classmethod
    def setUpClass(cls):
        harness.require("musl-gcc")
        cls.here = tempfile.mkdtemp(prefix="musl-")
        cls.program = cls.build("other_libc.c")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here, ignore_errors=True)

    @classmethod
    def build(cls, source, *options):
        """With unwind tables, which Debian's musl-gcc leaves out and Alpine's compiler does not."""
        program = pathlib.Path(cls.here) / pathlib.Path(source).stem
        subprocess.run(["musl-gcc", "-g", "-O1", "-fno-builtin", "-Wl,--eh-frame-hdr", "-w",
                        *options, "-o", program, SOURCES / source], check=True)
        return program

    def record(self, program, *options):
        trace = f"{self.here}/run.geiger"
        outcome = harness.run_bare([GEIGER, "run", "-q", "-f", "-o", trace, *options, "--",
                                    *program])
        return outcome, trace

    def report(self, *words):
        return json.loads(subprocess.run([GEIGER, *words, "--json"], check=True,
                                         capture_output=True).stdout)

    def stacks(self, trace):
        rows = self.report("table", "--by", "stack", "--top", "0", trace)["rows"]
        return [[frame["function"] for frame in row["stack"]] for row in rows]

    def test_programs_run_as_without_it(self):
        bare = harness.run_bare([self.program])
        self.assertEqual((bare.status, bare.stdout), (3, b"first 0, child 4, kept 1\n"))
        for options in (("--interval", "1"), ("--interval", "4096"),
                        ("--interval", "1", "--guard=1")):
            with self.subTest(options):
                self.assertEqual(self.record([self.program], *options)[0], bare)

    def test_totals_are_exact_and_ends_of_threads_are_seen(self):
        recorded = harness.record([self.program], 1)
        parent = next(trace for trace in recorded.traces if trace.total("bytes") > 1_000_000)
        parent.check()
        # musl's own allocations, of stdio and threads, come on top.
        asked = int(recorded.outcome.stderr)
        self.assertGreaterEqual(parent.total("bytes"), asked)
        self.assertLess(parent.total("bytes"), asked + 20_000)
        # Four that return or call pthread_exit, and one that is cancelled.
        self.assertEqual(sum(thread.end > 0 for thread in parent.threads.values()), 5)

    def test_the_first_thread_starts_the_recording(self):
        self.assert_recorded_from_the_first_thread(self.build("first_threads.c"))

    def test_stacks_have_names_and_ends(self):
        trace = self.record([self.program], "--interval", "4096")[1]
        rows = self.report("table", "--by", "function", "--wrappers", "named", trace)["rows"]
        self.assertEqual(rows[0]["name"], "make")
        self.assertEqual(self.report("summary", trace)["truncated_samples"], 0)

    def test_stacks_go_through_functions_of_musl(self):
        """It has no unwind tables: their rows are found from their code."""
        program = self.build("libc_allocates.c")
        trace = self.record([program], "--interval", "1")[1]
        whole = self.report("summary", trace)
        self.assertGreater(whole["samples"], 1000)
        self.assertEqual(whole["truncated_samples"], 0)
        stacks = self.stacks(trace)
        for caller in ("duplicate", "print", "list", "read_lines", "compare"):
            with self.subTest(caller):
                found = [stack for stack in stacks if caller in stack]
                self.assertTrue(found)
                self.assertTrue(all("main" in stack for stack in found), found)

    def test_stacks_go_through_functions_that_never_return(self):
        """The rows of programs without tables are found from their code, too."""
        program = self.build("never_returns.c", "-fno-asynchronous-unwind-tables")
        trace = self.record([program], "--interval", "1")[1]
        self.assertEqual(self.report("summary", trace)["truncated_samples"], 0)
        stacks = self.stacks(trace)  # The last frame is musl's.
        found = [stack[1:-1] for stack in stacks if stack[0] == "allocate"]
        expected = [["work"], ["called_by_pointer", "main"],
                    ["finish", "called_by_pointer", "main"]]
        self.assertEqual(sorted(found), sorted(expected))

    def test_handlers_on_a_small_stack_may_allocate(self):
        for options in ((), ("-fno-asynchronous-unwind-tables",)):
            with self.subTest(options):
                program = self.build("alternate_stack.c", *options)
                bare = harness.run_bare([program])
                self.assertEqual((bare.status, bare.stdout), (0, b"200\n"))
                recorded, trace = self.record([program], "--interval", "1")
                self.assertEqual(recorded, bare)
                self.assertEqual(self.report("summary", trace)["truncated_samples"], 0)
                stack = next(stack for stack in self.stacks(trace) if stack[0] == "handle")
                self.assertIn("main", stack)

    def test_children_of_other_programs_are_recorded(self):
        trace = self.record(["/bin/sh", "-c", f"{self.program}; exit $?"], "--interval", "4096")[1]
        names = {pathlib.Path(p["executable"]).name
                 for p in self.report("summary", trace)["processes"]}
        self.assertIn("other_libc", names)


if __name__ == "__main__":
    unittest.main()
