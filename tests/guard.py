#!/usr/bin/env python3
"""Guard mode: each wrong use of memory in tests/hosts/faulty.cc is found, with its lines.

usage: guard.py GEIGER

  rate 1     every fault at once, named by function and line, with the stacks that belong to it; the
             program ends by the signal that the fault deserves
  rate 1/k   as often as the coin says. Binomial: |z| < 4, which chance alone exceeds with
             probability 6e-5; seeds are fixed
  profiles   the same samples with and without guard mode, and totals as exact
"""
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import harness

GEIGER = sys.argv.pop(1) if len(sys.argv) > 1 and os.sep in sys.argv[1] else (
    harness.BUILD / "bin" / "geiger")
FAULTY = harness.host("faulty")
SOURCE = (harness.ROOT / "tests/hosts/faulty.cc").read_text().splitlines()

SEGV, ABORT, FINE = -signal.SIGSEGV, -signal.SIGABRT, 0
# What ends the program, then of the first fault that ended it: kind, access, offset, and the text
# of the lines that the stacks of the fault, the free and the allocation begin with.
ALLOCATES = "malloc(bytes)"
FREES = "free(object);"
EXPECTED = {
    "writes_1_behind": (SEGV, "overflow", "write", 64, "[offset] = 0", None, ALLOCATES),
    "writes_16_behind": (SEGV, "overflow", "write", 79, "[offset] = 0", None, ALLOCATES),
    "writes_1_before": (SEGV, "underflow", "write", -1, "[offset] = 0", None, ALLOCATES),
    "writes_16_before": (SEGV, "underflow", "write", -16, "[offset] = 0", None, ALLOCATES),
    "reads_behind": (SEGV, "overflow", "read", 64, "(object)[offset]", None, ALLOCATES),
    "reads_freed": (SEGV, "use_after_free", "read", 8, "(object)[offset]", FREES, ALLOCATES),
    "writes_freed": (SEGV, "use_after_free", "write", 63, "[offset] = 0", FREES, ALLOCATES),
    "frees_twice": (ABORT, "double_free", "free", 0, FREES, FREES, ALLOCATES),
    "frees_inside": (ABORT, "invalid_free", "free", 16, FREES, None, ALLOCATES),
    "uses_reallocated": (SEGV, "use_after_free", "read", 0, "(object)[offset]", "realloc(object",
                         ALLOCATES),
    "freed_by_other_thread": (SEGV, "use_after_free", "read", 0, "(object)[offset]", FREES,
                              ALLOCATES),
    "used_in_child": (FINE, "use_after_free", "read", 0, "(object)[offset]", FREES, ALLOCATES),
    "copies_text": (SEGV, "overflow", "write", 64, "copy_name(object, name)", None, ALLOCATES),
    "deletes_twice": (ABORT, "double_free", "free", 0, "finish(opaque(session))",
                      "finish(session);", "opaque(new Session)"),
    "handled_by_program": (7, "use_after_free", "read", 8, "(object)[offset]", FREES, ALLOCATES),
    "writes_padding": (FINE, "overflow", "earlier_write", 20, FREES, None, ALLOCATES),
}


def line_of(stack):
    """The text of the first line of faulty.cc in a stack of --json."""
    for frame in stack:
        if frame.get("file", "").endswith("faulty.cc"):
            return SOURCE[frame["line"] - 1]
    return ""


def offset_of(fault):
    offset = fault["address"] - fault["object"]
    return offset if offset < 1 << 63 else offset - (1 << 64)


class Guard(harness.ProcessTest):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.run_file = pathlib.Path(directory.name) / "faulty.geiger"

    def record(self, name, *options):
        """Exit status of the run, as the program's own."""
        command = [GEIGER, "run", "-q", "-f", "-o", self.run_file, *options, "--", FAULTY, name]
        status = harness.run_bare(command).status
        return status

    def faults(self):
        found = subprocess.run([GEIGER, "faults", "--json", "--top", "0", self.run_file],
                               check=True, capture_output=True).stdout
        return json.loads(found)

    def test_each_fault_is_found_with_its_stacks(self):
        for name, (status, kind, access, offset, used, freed, allocated) in EXPECTED.items():
            with self.subTest(name):
                self.assertEqual(self.record(name, "--guard=1", "--interval", "1", "--seed", "1"),
                                 status)
                found = [fault for fault in self.faults()["faults"]
                         if fault["access"] == access]
                self.assertEqual(len(found), 1, found)
                fault, = found
                self.assertEqual((fault["kind"], offset_of(fault)), (kind, offset))
                self.assertIn(used, line_of(fault["stack"]))
                self.assertIn(allocated, line_of(fault["allocated"]["stack"]))
                if freed:
                    self.assertIn(freed, line_of(fault["freed"]["stack"]))

    def test_programs_end_as_without_guard_mode(self):
        """Where the C library finds a wrong free by itself, it is the one that says so."""
        bare = harness.run_bare([FAULTY, "frees_twice"])
        guarded = harness.record([FAULTY, "frees_twice"], 1, env={"GEIGER_GUARD": "1"})
        self.assertEqual(bare, guarded.outcome)

    def test_run_summary_and_page_open_with_the_fault(self):
        command = [GEIGER, "run", "-o", self.run_file, "--guard=1", "--interval", "1", "--",
                   FAULTY, "reads_freed"]
        said = harness.run_bare(command).stderr.decode().splitlines()
        line = 1 + next(i for i, text in enumerate(SOURCE) if "= opaque(object)[offset]" in text)
        self.assertRegex(said[0], rf"use after free: read_from \(faulty.cc:{line}\) reads offset 8")
        self.assertTrue(any("next: geiger faults" in text for text in said), said)
        sentence = f"Use after free: read_from (faulty.cc:{line}) reads offset 8"
        summary = harness.run_bare([GEIGER, "summary", self.run_file]).stdout.decode()
        self.assertTrue(summary.startswith(sentence), summary)
        page = harness.run_bare([GEIGER, "report", "--json", self.run_file]).stdout
        self.assertTrue(json.loads(page)["fault"].startswith(sentence))

    def test_nothing_is_found_where_nothing_is_wrong(self):
        self.assertEqual(self.record("behaves", "--guard=1", "--interval", "1"), 0)
        found = self.faults()
        self.assertEqual(found["fault_count"], 0)
        self.assertGreater(found["guarding"]["guarded"], 50_000 - 10)

    def test_reads_right_behind_an_object(self):
        """Of 20 bytes: beyond them lie 12 that only placement at the byte protects."""
        self.assertEqual(self.record("reads_padding", "--guard=1", "--interval", "1"), 0)
        self.assertEqual(self.faults()["guarding"]["exact"], False)
        said = harness.run_bare([GEIGER, "faults", self.run_file]).stdout.decode()
        self.assertIn("Reads of up to 15 bytes behind an object", " ".join(said.split()))
        self.assertEqual(self.record("reads_padding", "--guard=1,exact", "--interval", "1"), SEGV)
        found = self.faults()
        self.assertEqual(found["guarding"]["exact"], True)
        fault, = found["faults"]
        self.assertEqual((fault["kind"], fault["access"], offset_of(fault)), ("overflow", "read", 20))
        self.assertEqual(self.record("behaves", "--guard=1,exact", "--interval", "1"), 0)
        self.assertEqual(self.faults()["fault_count"], 0)

    def test_quiet_runs_tell_faults(self):
        command = [GEIGER, "run", "-q", "-f", "-o", self.run_file, "--guard=1", "--interval", "1", "--"]
        said = harness.run_bare([*command, FAULTY, "reads_freed"]).stderr.decode()
        self.assertRegex(said, r"^geiger: use after free: read_from .*\n$")
        self.assertEqual(harness.run_bare([*command, FAULTY, "behaves"]).stderr, b"")

    def test_coverage_is_told(self):
        """By summary and doctor, of objects too large for a slot."""
        self.record("behaves", "--guard=1", "--interval", "1")
        guarding = self.faults()["guarding"]
        summary = harness.run_bare([GEIGER, "summary", self.run_file]).stdout.decode()
        self.assertRegex(summary, rf"guarded +{guarding['guarded']:,} of {guarding['chosen']:,} chosen")
        said = subprocess.run([GEIGER, "summary", "--json", self.run_file], check=True, capture_output=True)
        self.assertEqual(json.loads(said.stdout)["guarding"], guarding)
        said = subprocess.run([GEIGER, "doctor", "--json", self.run_file], check=True, capture_output=True)
        check, = (each for each in json.loads(said.stdout)["findings"] if each["check"] == "guarding")
        self.assertIn(f"{guarding['guarded']:,} of {guarding['chosen']:,} chosen", check["what"])
        self.record("behaves", "--interval", "1")
        self.assertNotIn("guard", harness.run_bare([GEIGER, "summary", self.run_file]).stdout.decode())

    def metrics_of(self, directory):
        """The samples of one process that `geiger serve` has of guard mode."""
        server = subprocess.Popen([GEIGER, "serve", "--token", "anything", directory],
                                  stdout=subprocess.PIPE, text=True)
        url = next(found[0] for line in server.stdout if (found := re.search(r"http\S+metrics", line)))
        text = urllib.request.urlopen(url, timeout=60).read().decode()
        server.terminate()
        server.communicate()
        return {name: float(value) for name, value in re.findall(r"(?m)^(\w*guard\w*)\{.*\} (\S+)$", text)}

    def test_the_rate_is_changed_while_the_program_runs(self):
        directory = self.run_file.with_name("run")
        program = subprocess.Popen(
            [GEIGER, "run", "-q", "-o", directory, "--guard=1/1000000", "--interval", "64", "--",
             "/usr/bin/perl", "-e", "$| = 1; while (<>) { my @kept = map { 'text' x $_ } 1..200; print $_ }"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)

        def allocate():
            program.stdin.write("\n")
            program.stdin.flush()
            program.stdout.readline()

        def ctl(*words):
            asking = subprocess.Popen([GEIGER, "ctl", *words, "--wait", "60s"], text=True,
                                      stderr=subprocess.PIPE)
            while asking.poll() is None:
                allocate()
            return asking.returncode, asking.communicate()[1]

        allocate()
        pid = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()[0]
        self.assertIn("guards 1 in 2 samples", ctl(pid, "guard", "1/2,exact")[1])
        for _ in range(20):
            allocate()
        self.assertIn("guards no further samples", ctl(pid, "guard", "off")[1])
        self.assertEqual(ctl(pid, "guard", "2")[0], 2)
        metrics = self.metrics_of(directory)
        self.assertGreater(metrics["geiger_guarded_samples_total"], 100)
        self.assertGreaterEqual(metrics["geiger_guard_chosen_samples_total"],
                                metrics["geiger_guarded_samples_total"])
        program.stdin.close()
        self.assertEqual(program.wait(60), 0)
        said = subprocess.run([GEIGER, "faults", "--json", directory], check=True, capture_output=True)
        guarding = json.loads(said.stdout)["guarding"]
        self.assertEqual((guarding["rate"], guarding["rate_changed"]), (0, True))
        self.assertGreater(guarding["guarded"], 100)

    def test_the_rate_of_a_program_outside_guard_mode(self):
        program = subprocess.Popen([GEIGER, "run", "-q", "-o", self.run_file, "--", "cat"],
                                   stdin=subprocess.PIPE)
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
        while not children.read_text() or pathlib.Path(
                f"/proc/{children.read_text().split()[0]}/comm").read_text() != "cat\n":
            pass
        said = harness.run_bare([GEIGER, "ctl", children.read_text().split()[0], "guard", "1"])
        program.communicate()
        self.assertEqual(said.status, 1)
        self.assertIn(b"was not started in guard mode (geiger run --guard)", said.stderr)

    def check_binomial(self, count, trials, rate):
        z = (count - trials / rate) / math.sqrt(trials / rate * (1 - 1 / rate))
        self.assertLess(abs(z), 4, f"{count} of {trials} at 1/{rate}")

    def test_faults_are_as_frequent_as_the_rate(self):
        for rate in (2, 16):
            with self.subTest(rate):
                options = (f"--guard=1/{rate}", "--interval", "1", "--seed", "5")
                self.assertEqual(self.record("writes_much_padding", *options), 0)
                found = self.faults()
                self.check_binomial(found["fault_count"], 40_000, rate)
                self.check_binomial(found["guarding"]["chosen"], found["guarding"]["samples"],
                                    rate)

    def test_a_fault_is_met_after_as_many_objects_as_the_rate(self):
        """The number of the first object that is guarded is geometric: mean 8, variance 56."""
        rate, runs, met = 8, 40, []
        for seed in range(runs):
            recorded = harness.record([FAULTY, "reads_freed"], 1, seed=seed,
                                      env={"GEIGER_GUARD": str(rate)})
            self.assertEqual(recorded.outcome.status, SEGV)
            trace, = recorded.traces
            self.assertEqual(len(trace.faults), 1)
            met.append(sum(sample.requested == 64 for sample in trace.samples))
        z = (sum(met) / runs - rate) / math.sqrt(rate * (rate - 1) / runs)
        self.assertLess(abs(z), 4, met)

    def test_samples_are_the_same_ones(self):
        def drawn(env):
            trace, = harness.record([FAULTY, "behaves"], 4096, seed=7, env=env).traces
            trace.check()
            return [(s.requested, s.usable, s.offset, s.entry_point) for s in trace.samples], [
                trace.total(field) for field in ("bytes", "trials", "hits", "tail_bytes")]
        bare = drawn({})
        self.assertGreater(len(bare[0]), 500)
        for rate in (1, 4):
            self.assertEqual(drawn({"GEIGER_GUARD": str(rate)}), bare)

    def test_runs_without_guard_mode_are_refused(self):
        self.assertEqual(self.record("behaves"), 0)
        said = harness.run_bare([GEIGER, "faults", self.run_file])
        self.assertEqual(said.status, 2)
        self.assertIn(b"geiger run --guard -- PROGRAM", said.stderr)

    def test_faults_can_fail_a_job(self):
        self.record("writes_padding", "--guard=1", "--interval", "1")
        self.assertEqual(harness.run_bare([GEIGER, "faults", "--fail", self.run_file]).status, 3)
        self.record("behaves", "--guard=1", "--interval", "1")
        self.assertEqual(harness.run_bare([GEIGER, "faults", "--fail", self.run_file]).status, 0)

    def test_wrong_rates_are_refused(self):
        for rate in ("0", "2", "1/0", "1/x", "1/2000000", "-1", ".5"):
            said = harness.run_bare([GEIGER, "run", f"--guard={rate}", "--", "true"])
            self.assertNotEqual(said.status, 0, rate)
            self.assertIn(f"'{rate}' is not a share".encode(), said.stderr)

    def test_allocators_with_frees_of_their_own_are_left_alone(self):
        jemalloc = harness.ALLOCATORS["jemalloc"]
        if not jemalloc.exists():
            self.skipTest("libjemalloc2 is not installed")
        source = self.run_file.with_suffix(".c")
        source.write_text("""
            #include <stdio.h>
            #include <stdlib.h>
            void sdallocx(void *block, size_t bytes, int flags);
            int main(void) {
              for (int i = 0; i < 1000; i++) sdallocx(malloc(100), 100, 0);
              puts("done");
            }""")
        program = source.with_suffix("")
        subprocess.run(["gcc", "-fno-builtin", "-o", program, source, jemalloc], check=True)
        command = [GEIGER, "run", "-q", "-f", "-o", self.run_file, "--guard=1", "--interval", "1",
                   "--", program]
        self.assertEqual(harness.run_bare(command)[:2], (0, b"done\n"))
        guarding = self.faults()["guarding"]
        self.assertEqual(guarding["guarded"], 0)
        self.assertEqual(guarding["obstacles"],
                         ["the program frees by its allocator's own functions"])

    def test_a_free_past_the_runtime_is_not_blamed_on_the_program(self):
        loading = harness.host("loading")
        kinds = set()
        for seed in range(6):
            command = [GEIGER, "run", "-q", "-f", "-o", self.run_file, "--guard=1", "--interval",
                       "1", "--seed", str(seed), "--", loading, "deep_binding"]
            # What lies before the object cannot be read, or is no block for the C library.
            self.assertIn(harness.run_bare(command).status, (SEGV, ABORT))
            for fault in self.faults()["faults"]:
                kinds.add(fault["kind"])
                self.assertIn("not a bug of the program", fault["sentence"])
        self.assertEqual(kinds, {"bypassing_free"})


if __name__ == "__main__":
    unittest.main()
