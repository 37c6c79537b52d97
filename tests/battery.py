#!/usr/bin/env python3
"""Host programs must print the same and exit the same with and without the runtime.

Each scenario of each host program in tests/hosts runs once bare and then under the
runtime at several intervals; stdout, stderr and the exit status must not differ,
and the traces must agree with themselves.  One scenario:

    battery.py Battery.test_edges            all of a program
    battery.py --only edges/reallocs         one scenario, verbose
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness
import trace_reader

INTERVALS = (4096,) if harness.IS_SMALL else (1, 4096, 512 * harness.KIB)
# At which of them once more with every sample guarded.
GUARDED = () if harness.IS_SMALL else (1, 4096)
# A module bound to the C library's own free, which cannot know guarded objects (docs/guide/guard.md).
CANNOT_GUARD = {"loading/deep_binding"}

# Scenarios in which the program leaves the runtime no room for a whole recording:
# there the program must be unharmed, and losses are allowed but must be counted.
MAY_LOSE = {"limits/address_space", "limits/file_size", "limits/closed_all",
            "limits/death_by_limit", "limits/locked_memory", "limits/stack_size",
            "limits/file_size_at_once", "limits/address_space_at_once",
            "limits/credentials_at_once", "mappings/address_space_limit",
            "signals/jumps_out", "signals/allocating_handler", "signals/alternate_stack",
            "signals/allocating_handler_fast", "stacks/overflow",
            "loading/deep_binding", "sandboxed/kills_with_threads", "sandboxed/strict",
            "sandboxed/strict_by_syscall", "sandboxed/without_time_stamps",
            "sandboxed/without_time_stamps_by_syscall", "sandboxed/dispatches",
            "sandboxed/dispatches_by_syscall"}
# A process that is killed, or jumps out of a signal handler, may leave one record or
# one pair of totals half done.
LEAVES_OPEN = {"stacks/overflow", "sandboxed/strict", "sandboxed/strict_by_syscall", "exits/killed",
               "exits/aborts", "exits/terminates", "exits/faults",
               "signals/jumps_out", "exits/others_still_run", "exits/thread_exits", "exits/immediate"}


def files_in(directory):
    """What a program left: names, modes and contents."""
    return {str(path.relative_to(directory)): (path.stat().st_mode, path.read_bytes())
            for path in pathlib.Path(directory).rglob("*") if path.is_file()}


class Battery(harness.ProcessTest):
    def check(self, program, name):
        command = [harness.host(program), name]
        with tempfile.TemporaryDirectory() as cwd:
            bare = harness.run_bare(command, cwd=cwd)
            left = files_in(cwd)
        self.assertNotIn(b"not so", bare.stdout, f"{program}/{name} fails bare")
        kinds = [(interval, {}) for interval in INTERVALS]
        if f"{program}/{name}" not in CANNOT_GUARD:
            kinds += [(interval, {"GEIGER_GUARD": "1"}) for interval in GUARDED]
        for interval, env in kinds:
            with tempfile.TemporaryDirectory() as cwd:
                recorded = harness.record(command, interval, cwd=cwd, env=env)
                self.assert_same_outcome(bare, recorded.outcome,
                                         f"{program}/{name} at interval {interval} {env}")
                self.assertEqual(left, files_in(cwd), f"{program}/{name} left other files")
            self.check_traces(f"{program}/{name}", interval, recorded)

    def check_traces(self, name, interval, recorded):
        self.assertTrue(recorded.paths or name in MAY_LOSE, f"{name}: no trace")
        for trace in recorded.traces:
            if name not in LEAVES_OPEN:
                trace.check()
            self.assertEqual(trace.faults, [], name)
            self.assertLess(abs(trace.z()), 6, f"{name} at {interval}")
        if name not in MAY_LOSE:
            for trace in recorded.traces:
                self.assertEqual(sum(trace.header.drops), 0, f"{name}: {trace.drops()}")
        if interval == 1 and name not in MAY_LOSE:
            self.assertTrue(recorded.samples(), f"{name}: no sample at interval 1")

    def check_program(self, program):
        for name in harness.scenarios(program):
            with self.subTest(scenario=f"{program}/{name}"):
                self.check(program, name)

    def test_edges(self):
        self.check_program("edges")

    def test_first(self):
        self.check_program("first")

    def test_processes(self):
        self.check_program("processes")

    def test_threads(self):
        self.check_program("threads")

    def test_signals(self):
        self.check_program("signals")

    def test_exits(self):
        self.check_program("exits")

    def test_limits(self):
        self.check_program("limits")

    def test_loading(self):
        self.check_program("loading")

    def test_mappings(self):
        self.check_program("mappings")

    def test_stacks(self):
        self.check_program("stacks")

    def test_sandboxed(self):
        self.check_program("sandboxed")

    def test_traps(self):
        self.check_program("traps")

    def test_registers(self):
        self.check_program("registers")


class Foreign(harness.ProcessTest):
    """Programs that the library does not fit, started by one that it does fit."""

    def check(self, name):
        if not pathlib.Path(harness.host(name)).exists():
            self.skipTest(f"no toolchain for {name}")
        shell = ["/bin/sh", "-c", f"{harness.host(name)}; echo status $?"]
        bare = harness.run_bare(shell)
        recorded = harness.record(shell, 4096)
        self.assertTrue(recorded.of("dash") or recorded.of("bash"))
        self.assertEqual(bare.stdout, recorded.outcome.stdout)
        self.assertEqual(bare.status, recorded.outcome.status)
        self.assertEqual(bare.stderr, recorded.outcome.stderr)
        self.assertFalse(recorded.of(name))

    def test_32_bit(self):
        self.check("foreign_32")

    def test_static(self):
        self.check("foreign_static")


class TraceDirectory(harness.ProcessTest):
    """The place for the traces is missing, read-only, full, or too small."""
    COMMAND = [harness.host("edges"), "properties"]

    def run_into(self, directory, interval=1, **extra):
        env = dict(GEIGER_DIR=str(directory), GEIGER_INTERVAL=str(interval), GEIGER_SEED="1",
                   **extra)
        return harness.run_bare(self.COMMAND, [harness.preload_library()], env)

    def setUp(self):
        self.bare = harness.run_bare(self.COMMAND)

    def test_missing(self):
        self.assert_same_outcome(self.bare, self.run_into("/nonexistent/directory"))

    def test_relative(self):
        with tempfile.TemporaryDirectory() as cwd:
            env = dict(GEIGER_DIR="here", GEIGER_INTERVAL="1")
            self.assert_same_outcome(self.bare, harness.run_bare(
                self.COMMAND, [harness.preload_library()], env, cwd=cwd))

    def test_unset(self):
        self.assert_same_outcome(self.bare, harness.run_bare(
            self.COMMAND, [harness.preload_library()]))

    def test_not_numbers(self):
        with tempfile.TemporaryDirectory() as directory:
            for interval in ("", "x", "-1", "0", "99999999999999999999", "1e3"):
                self.assert_same_outcome(self.bare, self.run_into(directory, interval),
                                         f"interval {interval!r}")
            for extra in ({"GEIGER_SEED": "x"}, {"GEIGER_CAPACITY": "1"},
                          {"GEIGER_CAPACITY": "x"}, {"GEIGER_CAPACITY": "8200"},
                          {"GEIGER_MODE": "nonsense,,pure"}):
                env = dict(GEIGER_DIR=directory, GEIGER_INTERVAL="4096", **extra)
                self.assert_same_outcome(self.bare, harness.run_bare(
                    self.COMMAND, [harness.preload_library()], env), str(extra))

    def test_small_capacity(self):
        recorded = harness.record(self.COMMAND, 1, capacity=256 * harness.KIB)
        self.assert_same_outcome(self.bare, recorded.outcome)
        trace, = recorded.traces
        self.assertGreater(trace.drops()["trace_full"], 0)
        self.assertEqual(trace.header.stop_reason, 1)
        self.assertGreater(len(trace.samples), 100)

    def test_full_disk(self):
        with tempfile.TemporaryDirectory() as mount:
            if os.geteuid() != 0 or subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", "size=1m", "none", mount],
                    capture_output=True).returncode != 0:
                self.skipTest("mounting is not permitted")
            try:
                self.assert_same_outcome(self.bare, self.run_into(mount))
                path, = pathlib.Path(mount).glob("*.geiger")
                trace = trace_reader.read(path)
                self.assertIn(trace.header.stop_reason, (2, 3))
                self.assertGreater(len(trace.samples), 100)
            finally:
                subprocess.run(["umount", mount], check=True)

    def test_read_only(self):
        if not os.path.isdir("/proc/sys"):
            self.skipTest("no read-only directory")
        self.assert_same_outcome(self.bare, self.run_into("/proc/sys"))

    def test_modes_of_the_file(self):
        with harness.Recorder(4096) as recorder:
            recorder.run(self.COMMAND, umask=0)
            path, = pathlib.Path(recorder.directory).glob("*.geiger")
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)


class TwoPreloads(harness.ProcessTest):
    """Other preloaded libraries before and behind the runtime."""

    def test_libraries(self):
        command = ["/usr/bin/perl", "-e", "print join(q(,), map { $_ * $_ } 1..20000)"]
        bare = harness.run_bare(command)
        for name in ("libeatmydata.so", "faketime/libfaketime.so.1"):
            library = harness.LIBRARIES / name
            if not library.exists():
                continue
            with self.subTest(library=name):
                for order in ([library, harness.preload_library()],
                              [harness.preload_library(), library]):
                    with tempfile.TemporaryDirectory() as directory:
                        env = dict(GEIGER_DIR=directory, GEIGER_INTERVAL="4096")
                        self.assert_same_outcome(bare, harness.run_bare(command, order, env), name)


class Environment(harness.ProcessTest):
    def test_bind_now(self):
        command = [harness.host("edges"), "properties"]
        bare = harness.run_bare(command)
        recorded = harness.record(command, 4096, env={"LD_BIND_NOW": "1"})
        self.assert_same_outcome(bare, recorded.outcome)
        self.assertTrue(recorded.samples())

    def test_no_children(self):
        # The process of `root` is followed through exec, its children are not.
        shell = ["/bin/sh", "-c", "export GEIGER_MODE=nochildren,root=$$;"
                 " exec /bin/sh -c \"/usr/bin/perl -e 'print 1'; true\""]
        recorded = harness.record(shell, 1, mode=["nochildren"])
        self.assertEqual([t.header.executable for t in recorded.traces if "perl" in
                          t.header.executable], [])


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--only":
        program, name = sys.argv[2].split("/")
        Battery().check(program, name)
        return
    unittest.main()


if __name__ == "__main__":
    main()
