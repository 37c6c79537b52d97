#!/usr/bin/env python3
"""What holds memory, from core files: of gdb's gcore and of the kernel, with the recording and without,
of tests/hosts/holders.cc, which knows; and core files that cannot be used.

usage: holders_core.py GEIGER
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import harness
import holders

GEIGER = holders.GEIGER
PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()


def gcore(file, pid):
    subprocess.run(["gcore", "-o", file, str(pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"{file}.{pid}"


class Core(unittest.TestCase):
    """The host, recorded; its core file by `write`."""

    @classmethod
    def setUpClass(cls):
        cls.program = holders.Program()
        cls.here = pathlib.Path(cls.program.here.name)
        cls.core = cls.here / "core"
        cls.write()

    @classmethod
    def tearDownClass(cls):
        cls.program.end()

    @classmethod
    def pid(cls):
        trace, = os.listdir(cls.program.file + ".parts")
        return int(trace.split(".")[-3])

    def ask(self, *words):
        asked = subprocess.run([GEIGER, "holders", "--top", "0", *words, "--core", self.core],
                               capture_output=True, text=True, check=False)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return asked.stdout

    def check_kinds(self, report):
        found = holders.sums(report)
        kinds = [name for name in found if name.startswith(("by_", "lost", "hidden"))]
        self.assertGreaterEqual(len(kinds), 51)
        for name in kinds:
            wanted = holders.UNREACHABLE if name in holders.LOST + holders.HIDDEN else ("reached",)
            self.assertEqual(set(found[name][0]) - set(wanted), set(), name)
        self.assertEqual(set(found["lost"][0]), {"unreferenced"})
        self.assertEqual(set(found["lost_cycle"][0]), {"unreachable"})
        for name, root in (("by_global", "g_pointer[*]"), ("by_map", "g_map"),
                           ("by_thread_local", "thread_local t_pointer[*] of thread holders"),
                           ("by_stack_of_main", "stack of thread holders")):
            self.assertTrue(any(of and of.endswith(root) for of in found[name][1]), (name, found[name][1]))


@unittest.skipUnless(shutil.which("gcore"), "gdb is not installed")
class OfGdb(Core):
    """The program goes on after it."""

    @classmethod
    def write(cls):
        cls.core = gcore(cls.core, cls.pid())

    def test_every_kind_is_told(self):
        self.check_kinds(json.loads(self.ask("--json", "--wrappers", "named", self.program.file + ".parts")))

    def test_another_process_is_refused(self):
        run = self.here / "other.geiger"
        subprocess.run([GEIGER, "run", "-q", "-o", run, "--", "sh", "-c", ":"], check=True)
        self.refuse("no recording", str(run))

    def refuse(self, why, *words):
        asked = subprocess.run([GEIGER, "holders", "--core", self.core, *words], capture_output=True, text=True,
                               check=False)
        self.assertEqual((asked.returncode, len(asked.stderr.splitlines())), (1, 1), asked.stderr)
        self.assertIn(why, asked.stderr)


@unittest.skipUnless(shutil.which("gcore"), "gdb is not installed")
class OfMovingBlocks(unittest.TestCase):
    def test_the_instant_of_the_file_counts(self):
        """Four threads move, allocate and free before it is written, and afterwards."""
        program = holders.Program("churn")
        try:
            trace, = os.listdir(program.file + ".parts")
            core = gcore(os.path.join(program.here.name, "core"), int(trace.split(".")[-3]))
            found = holders.sums(json.loads(program.ask("--json", "--core", core)))
        finally:
            program.end()
        self.assertEqual(set(found["moved"][0]), {"reached"})
        lost = sum(size for hold, size in found["lost"][0].items() if hold in holders.UNREACHABLE)
        self.assertGreaterEqual(lost, 600 * 48)


@unittest.skipUnless(shutil.which("gcore"), "gdb is not installed")
class OfFrames(unittest.TestCase):
    def test_all_registers_are_known(self):
        program = holders.Program(host="frames")
        try:
            trace, = os.listdir(program.file + ".parts")
            core = gcore(os.path.join(program.here.name, "core"), int(trace.split(".")[-3]))
            report = json.loads(program.ask("--json", "--core", core))
        finally:
            program.end()
        holders.check_frames(self, report, {
            "by_frame": holders.in_frame("hold_in_frame", r"\d+"),
            "by_frame_of_caller": holders.in_frame("hold_in_caller", r"\d+"),
            "by_saved_register": holders.in_frame("hold_in_register", r"\d+"),
            "by_frame_with_pointer": holders.in_frame("hold_with_pointer", r"\d+"),
            "by_frame_without_rules": r"stack of thread \d+",
            "by_running_frame": holders.in_frame("hold_and_run", r"\d+")})


class OfTheKernel(Core):
    @classmethod
    def write(cls):
        if PATTERN.startswith("|") or "/" in PATTERN:
            raise unittest.SkipTest(f"core files go to {PATTERN}")

    @classmethod
    def setUpClass(cls):
        before, here = resource.getrlimit(resource.RLIMIT_CORE), os.getcwd()
        place = tempfile.mkdtemp(prefix="geiger-core-")
        os.chdir(place)
        resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        try:
            super().setUpClass()
            os.kill(cls.pid(), signal.SIGABRT)
            cls.program.process.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_CORE, before)
            os.chdir(here)
        cores = [path for path in pathlib.Path(place).iterdir() if path.name.startswith("core")]
        if not cores:
            raise unittest.SkipTest("no core file was written")
        shutil.copy2(cores[0], cls.core)
        shutil.rmtree(place)

    def test_every_kind_is_told(self):
        self.check_kinds(json.loads(self.ask("--json", "--wrappers", "named", self.program.file)))


@unittest.skipUnless(shutil.which("gcore"), "gdb is not installed")
class Alone(unittest.TestCase):
    """Of a program that was not recorded."""

    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.TemporaryDirectory(prefix="geiger-core-")
        with subprocess.Popen([harness.host("holders")], stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout.readline() == "ready\n"
            cls.core = gcore(os.path.join(cls.here.name, "core"), program.pid)
            program.kill()

    @classmethod
    def tearDownClass(cls):
        cls.here.cleanup()

    def test_blocks_are_counted(self):
        report = json.loads(subprocess.run([GEIGER, "holders", "--json", "--core", self.core], capture_output=True,
                                           check=True).stdout)
        jsonschema.validate(report, json.loads((harness.ROOT / "docs/schema/geiger-report.schema.json").read_text()))
        self.assertEqual(report["unread_bytes"], 0)
        parts = {part.get("root", part["hold"]): part for part in report["parts"]}
        chunk = 64  # Of 48 bytes.
        self.assertEqual({size["bytes"] for size in parts["unreferenced"]["sizes"]}, {chunk})
        # What is lost or hidden, and the first of the lost list; the rest of that, its payload, and cycles.
        self.assertEqual(parts["unreferenced"]["blocks"], 50 * 4 + 1)
        self.assertEqual(parts["unreachable"]["blocks"], 50 * 4 - 1)
        self.assertEqual(parts["g_pointer[*]"]["blocks"], 50)
        self.assertEqual(parts["g_pointer[*]"]["alone_bytes"], 50 * chunk)

    def test_the_text_says_what_is_lost(self):
        said = subprocess.run([GEIGER, "holders", "--top", "0", "--core", self.core], capture_output=True, text=True,
                              check=True).stdout
        self.assertIn(" in 400 blocks is unreachable.", said)
        self.assertRegex(said, r"g_pointer\[\*\] +64 B ×50")


class Refused(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.TemporaryDirectory(prefix="geiger-core-")
        cls.file = pathlib.Path(cls.here.name) / "core"

    @classmethod
    def tearDownClass(cls):
        cls.here.cleanup()

    def refuse(self, content, why):
        self.file.write_bytes(content)
        asked = subprocess.run([GEIGER, "holders", "--core", self.file], capture_output=True, text=True, check=False)
        self.assertEqual((asked.returncode, asked.stdout), (1, ""), asked.stderr)
        self.assertEqual(len(asked.stderr.splitlines()), 1, asked.stderr)
        self.assertIn(why, asked.stderr)

    @staticmethod
    def elf(kind=4, machine=62, bits=2, phnum=0, segments=b""):
        header = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9) + struct.pack(
            "<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, phnum, 0, 0, 0)
        return header + segments

    @staticmethod
    def segment(kind, offset, size, address=0x10000):
        return struct.pack("<IIQQQQQQ", kind, 6, offset, address, 0, size, size, 1)

    def test_what_is_no_core_file(self):
        self.refuse(b"", "not a core file")
        self.refuse(b"#!/bin/sh\n" * 100, "not a core file")
        self.refuse(self.elf(kind=3), "not a core file")
        self.refuse(pathlib.Path(harness.host("holders")).read_bytes(), "not a core file")

    def test_other_machines(self):
        self.refuse(self.elf(bits=1), "32-bit")
        self.refuse(self.elf(machine=243), "another processor (ELF machine 243)")

    def test_what_is_cut(self):
        self.refuse(self.elf()[:40], "its header is cut")
        self.refuse(self.elf(phnum=3), "its headers are cut")
        self.refuse(self.elf(phnum=1, segments=self.segment(1, 4096, 1 << 20)), "the core file is cut")

    def test_what_is_damaged(self):
        self.refuse(self.elf(), "no registers")
        note = struct.pack("<III", 5, 1 << 30, 1) + bytes(12)
        self.refuse(self.elf(phnum=1, segments=self.segment(4, 120, 24) + note), "a note is cut")
        self.refuse(self.elf(phnum=1, segments=self.segment(1, (1 << 64) - 1, 1 << 20)), "makes no sense")

    def test_what_is_not_there(self):
        asked = subprocess.run([GEIGER, "holders", "--core", "/nonexistent"], capture_output=True, text=True,
                               check=False)
        self.assertEqual((asked.returncode, asked.stderr), (1, "geiger: /nonexistent: No such file or directory\n"))


del Core
if __name__ == "__main__":
    unittest.main()
