#!/usr/bin/env python3
"""What holds memory, from core files: of gdb's gcore and of the kernel, with the recording and without,
of tests/hosts/holders.cc, which knows; and core files that cannot be used.

usage: holders_core.py GEIGER
"""
import json
import os
import pathlib
import platform
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

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
        roots = [("by_global", "g_pointer[*]"), ("by_map", "g_map"), ("by_stack_of_main", "stack of thread holders")]
        if platform.machine() == "x86_64":
            roots.append(("by_thread_local", "thread_local t_pointer[*] of thread holders"))
        for name, root in roots:
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
        import jsonschema  # Not where tests/arm64_guest.py runs.

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
        self.assertRegex(said, r"g_pointer\[\*\]\s+64 B ×50")


class Made:
    """A core file as the kernel writes it, with pages of any size: a program, glibc's data, its heap, a block with a
    mapping of its own, and a thread's stack."""

    BIN, TOP, STATE, CHUNK = 112, 96, 2200, 64

    def __init__(self, machine, page):
        self.machine, self.page = machine, page
        self.memory = {}
        self.data, self.libc, self.heap, self.own, self.stack = (0x7f0000000000 + 256 * page * i for i in range(5))
        # Chunks of 64 bytes up to the top one. A page's end is nothing special to them.
        self.blocks = [self.heap + self.CHUNK * i + 16 for i in range(2 * page // self.CHUNK)]
        for block in self.blocks:
            self.memory[block - 8] = self.CHUNK | 1
        top = self.blocks[-1] - 16 + self.CHUNK
        self.memory[top + 8] = (self.heap + 3 * page - top) | 1
        self.memory[self.own + 8] = page | 2  # With a mapping of its own.
        arena = self.libc + page + 0x460
        self.memory[arena + self.TOP] = top
        for i in range(127):
            for place in (0, 8):
                self.memory[arena + self.BIN + 16 * i + place] = arena + self.TOP + 16 * i

    def segments(self):
        return [(self.data, 2), (self.libc, 2), (self.heap, 3), (self.own, 1), (self.stack, 1)]

    def bytes(self):
        x86 = self.machine == 62
        registers = [0] * (27 if x86 else 34)
        registers[19 if x86 else 31] = self.stack + self.page // 2
        status = bytes(32) + struct.pack("<I", 7) + bytes(76) + struct.pack(f"<{len(registers)}Q", *registers)
        program = bytes(24) + struct.pack("<I", 7) + bytes(12) + b"made".ljust(16, b"\0") + bytes(80)
        names = b"/nonexistent/program\0/nonexistent/libc.so.6\0"
        files = struct.pack("<8Q", 2, self.page, self.data, self.data + 2 * self.page, 0,
                            self.libc, self.libc + 2 * self.page, 0) + names
        auxiliary = struct.pack("<4Q", 6, self.page, 0, 0)
        notes = b"".join(struct.pack("<III", 5, len(note), kind) + b"CORE\0\0\0\0" + note + bytes(-len(note) % 4)
                         for kind, note in ((1, status), (3, program), (6, auxiliary), (0x46494c45, files)))
        segments = self.segments()
        offset = self.page
        headers = [struct.pack("<IIQQQQQQ", 4, 0, 64 + 56 * (1 + len(segments)), 0, 0, len(notes), 0, 1)]
        content = b""
        for start, pages in segments:
            size = pages * self.page
            headers.append(struct.pack("<IIQQQQQQ", 1, 6, offset, start, 0, size, size, self.page))
            part = bytearray(size)
            for place, word in self.memory.items():
                if start <= place < start + size:
                    part[place - start:place - start + 8] = struct.pack("<Q", word)
            content += part
            offset += size
        head = Refused.elf(machine=self.machine, phnum=len(headers), segments=b"".join(headers) + notes)
        return head + bytes(self.page - len(head)) + content


class OfOtherPages(unittest.TestCase):
    def test_pages_of_any_size(self):
        for machine, page in ((62, 4096), (183, 4096), (183, 16384), (183, 65536)):
            with self.subTest(machine=machine, page=page), tempfile.TemporaryDirectory() as here:
                made = Made(machine, page)
                first, over_border, of_stack, of_own, lost, cycle = (
                    made.blocks[i] for i in (3, page // 64 - 1, 9, 11, 13, 15))
                made.memory[made.data + 2 * page - 8] = first  # On its last page.
                made.memory[first] = over_border
                made.memory[over_border + 40] = made.own + 16  # On the next page of the heap.
                made.memory[made.own + page - 8] = of_own
                made.memory[made.stack + page - 16] = of_stack
                made.memory[made.stack + 64] = lost  # Below the stack pointer.
                made.memory[cycle] = cycle
                core = pathlib.Path(here) / "core"
                core.write_bytes(made.bytes())
                asked = subprocess.run([GEIGER, "holders", "--json", "--top", "0", "--core", core], capture_output=True,
                                       text=True, check=False)
                self.assertEqual(asked.returncode, 0, asked.stderr)
                parts = {part.get("root", part["hold"]): part for part in json.loads(asked.stdout)["parts"]}
                found = {name: {size["bytes"]: size["count"] for size in part["sizes"]}
                         for name, part in parts.items()}
                self.assertEqual(found, {f"program+0x{2 * page - 8:x}": {64: 3, page - 16: 1},
                                         "stack of thread made": {64: 1},
                                         "unreferenced": {64: len(made.blocks) - 4}})


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
