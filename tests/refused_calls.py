#!/usr/bin/env python3
"""Every system call of the runtime may fail, at any time, and the program must not notice.

Persistent failures come from a seccomp filter that looks at the instruction pointer: only
calls made from inside the runtime's library fail, in every process and thread, while the
program's own succeed.  (The library's address is known, as the programs run without
address randomisation.)  Single failures are injected by strace, one run for each call the
runtime makes, found by its instruction pointer.

    refused_calls.py               two errors, few programs: what ctest runs
    refused_calls.py --all         the whole, with the table of docs/internals/reliability.md

A call that bare programs would need goes through another instruction, so nothing here
depends on counting what the bare program does.
"""
import ctypes
import errno
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import harness
import trace_reader

NUMBERS = {"mmap": 9, "munmap": 11, "rt_sigprocmask": 14, "pwrite64": 18, "mremap": 25,
           "madvise": 28, "getpid": 39, "close": 3, "ftruncate": 77, "getppid": 110,
           "prctl": 157, "gettid": 186, "tgkill": 234, "openat": 257, "readlinkat": 267,
           "fallocate": 285, "prlimit64": 302, "getrandom": 318}
ERRORS = ("ENOMEM", "ENOSPC", "EIO", "EMFILE", "EAGAIN", "EINTR", "EACCES")
PROGRAMS = (("edges", "reallocs"), ("threads", "names"), ("threads", "small_stacks"),
            ("processes", "fork_exit"), ("processes", "spawns"), ("signals", "contexts"),
            ("loading", "plugins"))
# Many children would only repeat what few have shown.
QUICK_PROGRAMS = (("edges", "reallocs"), ("threads", "names"), ("processes", "fork_exit"))
# A call that waits for a signal or for memory is repeated: for ever, if it always fails so,
# which madvise never does in a real kernel.
NEVER_FOR_EVER = {("madvise", "EINTR"), ("madvise", "EAGAIN")}
ADDR_NO_RANDOMIZE = 0x0040000
LIBC = ctypes.CDLL(None, use_errno=True)
SEED = {"GEIGER_SEED": "1"}


def fixed_addresses():
    LIBC.personality(ADDR_NO_RANDOMIZE)


def library_range(command):
    """Where the runtime's code lies in a process without address randomisation."""
    env = harness.environment([harness.preload_library()], {"LD_TRACE_LOADED_OBJECTS": "1"})
    text = subprocess.run(command, env=env, capture_output=True, check=True, text=True,
                          preexec_fn=fixed_addresses).stdout
    base = int(re.search(r"libgeiger-preload\.so.*\(0x([0-9a-f]+)\)", text)[1], 16)
    segments = subprocess.run(["readelf", "--segments", "--wide", harness.preload_library()],
                              capture_output=True, check=True, text=True).stdout
    address, size = re.search(r"LOAD +\S+ (\S+) \S+ \S+ (\S+) R E", segments).groups()
    return base + int(address, 16), base + int(address, 16) + int(size, 16)


def statement(code, value, if_true=0, if_false=0):
    return struct.pack("<HBBI", code, if_true, if_false, value)


def refusal(number, error, start, end):
    """A seccomp filter: `number` fails with `error` if it is called from [start, end)."""
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    assert start >> 32 == end >> 32
    steps = [statement(load, 0), statement(equal, number, 0, 6),
             statement(load, 12), statement(equal, start >> 32, 0, 4),
             statement(load, 8), statement(at_least, start & 0xffffffff, 0, 2),
             statement(at_least, end & 0xffffffff, 1, 0),
             statement(give, 0x00050000 | error), statement(give, 0x7fff0000)]
    return b"".join(steps), len(steps)


def install(number, error, where):
    """In the child, before exec: the filter and the fixed addresses."""
    code, length = refusal(number, error, *where)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("<HxxxxxxQ", length, ctypes.addressof(buffer))
    fixed_addresses()
    LIBC.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if LIBC.prctl(22, 2, ctypes.c_char_p(program)) != 0:  # PR_SET_SECCOMP, filter
        os._exit(99)


def readable(paths):
    for path in paths:
        if os.path.getsize(path):
            trace_reader.read(path)


class Refused(harness.ProcessTest):
    """One program, with a call that fails persistently or once."""

    def bare(self, command):
        return harness.run_bare(command, preexec_fn=fixed_addresses)

    def check_persistent(self, program, name, error, interval, bare, where):
        command = [harness.host(program[0]), program[1]]
        with harness.Recorder(interval) as recorder:
            process = recorder.start(command, preexec_fn=lambda: install(
                NUMBERS[name], getattr(errno, error), where))
            outcome = harness.finish(process, None, 60)
            self.assert_same_outcome(bare, outcome, f"{program}: {name} {error} at {interval}")
            traces = [os.path.join(recorder.directory, path)
                      for path in os.listdir(recorder.directory)]
            readable(traces)
            return len(traces)

    def check_all_persistent(self, programs, errors, intervals):
        runs = 0
        for program in programs:
            command = [harness.host(program[0]), program[1]]
            bare, where = self.bare(command), library_range(command)
            for name in NUMBERS:
                for error in errors:
                    if (name, error) in NEVER_FOR_EVER:
                        continue
                    for interval in intervals:
                        with self.subTest(program=program, call=name, error=error):
                            traces = self.check_persistent(program, name, error, interval, bare,
                                                           where)
                            # The filter is aimed well: without these there is no trace.
                            self.assertEqual(name in ("openat", "mmap"), traces == 0)
                            runs += 1
        return runs

    def own_calls(self, command, directory, interval):
        """(name, how manyth of that name in the process) of the runtime's calls."""
        start, end = library_range(command)
        log = os.path.join(directory, "strace.out")
        self.run_traced(command, directory, interval, log, ["-i"])
        counts, own = {}, []
        with open(log, encoding="ascii", errors="replace") as file:
            for line in file:
                match = re.match(r"\[([0-9a-f]+)\] (\w+)\(", line)
                if not match:
                    continue
                counts[match[2]] = counts.get(match[2], 0) + 1
                # The first is made by strace, where nothing of ours is mapped yet.
                if match[2] != "execve" and start <= int(match[1], 16) < end:
                    own.append((match[2], counts[match[2]]))
        return own

    def run_traced(self, command, directory, interval, log, options):
        env = {"GEIGER_DIR": directory, "GEIGER_INTERVAL": str(interval), **SEED,
               "LD_PRELOAD": str(harness.preload_library())}
        settings = [word for item in env.items() for word in ("-E", "=".join(item))]
        return harness.run_bare(["strace", "-qq", "-o", log, *options, *settings, *command],
                                preexec_fn=fixed_addresses)

    def check_once(self, program, errors, interval):
        """Each call of the runtime fails once, in a program of one process and thread."""
        harness.require("strace")
        command = [harness.host(program[0]), program[1]]
        bare = self.bare(command)
        with tempfile.TemporaryDirectory() as directory:
            calls = self.own_calls(command, directory, interval)
        self.assertGreater(len(calls), 12, calls)
        for name, number in calls:
            for error in errors:
                with self.subTest(program=program, call=name, number=number, error=error), \
                        tempfile.TemporaryDirectory() as directory:
                    log = os.path.join(directory, "strace.out")
                    outcome = self.run_traced(command, directory, interval, log, [
                        "-e", f"trace={name}", "-e", f"inject={name}:error={error}:when={number}"])
                    self.assert_same_outcome(bare, outcome, f"{program}: {name} {number} {error}")
                    with open(log, encoding="ascii", errors="replace") as file:
                        self.assertIn("(INJECTED)", file.read())
                    readable(os.path.join(directory, path) for path in os.listdir(directory)
                             if path.endswith(".geiger"))
        return calls


class Quick(Refused):
    def test_persistent(self):
        self.check_all_persistent(QUICK_PROGRAMS, ("ENOMEM", "EACCES"), (4096,))

    def test_once(self):
        self.check_once(("edges", "reallocs"), ("ENOSPC", "EINTR"), 1)


def whole():
    test = Refused()
    for program in PROGRAMS:
        runs = test.check_all_persistent([program], ERRORS, (1, 4096))
        print(f"for ever: {'/'.join(program)}: {runs} runs, {len(NUMBERS)} calls, "
              f"{len(ERRORS)} errors, 2 intervals: as bare", flush=True)
    for program in (("edges", "reallocs"), ("edges", "properties"), ("loading", "plugins")):
        calls = test.check_once(program, ERRORS, 1)
        per_call = {name: sum(other == name for other, _ in calls) for name, _ in calls}
        print(f"once: {'/'.join(program)}: {len(calls) * len(ERRORS)} runs as bare: {per_call}",
              flush=True)


if __name__ == "__main__":
    if "--all" in sys.argv:
        whole()
    else:
        unittest.main()
