#!/usr/bin/env python3
"""The frames that are recorded of CPython are those that CPython itself names at the same instant.

    python_frames.py [SECONDS]

At every sample a preloaded library (hosts/python_oracle.cc) has the interpreter write its thread's
stack, by the function of its fault handler. Runs for each interpreter that is found: that of the
machine, those of pyenv, and those in GEIGER_PYTHONS.
"""
import collections
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness
import pythons
import trace_reader

ORACLE = harness.BUILD / "hosts" / "libpython_oracle.so"
SCRIPTS = pathlib.Path(__file__).resolve().parent / "python"
DEEPEST = 100  # frames that the interpreter writes
LONGEST = 500  # characters of a name that it writes
RENAMED = {"<__array_function__ internals>"}
# Whose dump crashes on frames without code.
FRAGILE = "3.13.0"
SAID = re.compile(r'  File "(.*)", line (\d+|\?\?\?) in (.*)')


@functools.cache  # The symbols of the same files take longer to read than most recordings.
def distance_of_dump(path):
    """From PyGILState_GetThisThreadState to _Py_DumpTraceback, in the file that has both."""
    libraries = subprocess.run([path, "-c", "import sysconfig as s; print(s.get_config_var('LIBDIR'),"
                                "s.get_config_var('LDLIBRARY'))"],
                               capture_output=True, text=True, check=True).stdout.split()
    for file in (os.path.realpath(path), os.path.join(*libraries)):
        for options in (["-D"], []):
            said = subprocess.run(["nm", *options, file], capture_output=True, text=True).stdout
            at = {line.split()[2].split("@")[0]: int(line.split()[0], 16)
                  for line in said.splitlines() if re.match(r"[0-9a-f]+ [tT] ", line)}
            if "_Py_DumpTraceback" in at and "PyGILState_GetThisThreadState" in at:
                return at["_Py_DumpTraceback"] - at["PyGILState_GetThisThreadState"]
    return None


def signed_of(bytes_, at):
    """A location table's number, and where it ends."""
    value, shift = 0, 0
    while True:
        value |= (bytes_[at] & 63) << shift
        shift += 6
        at += 1
        if not bytes_[at - 1] & 64:
            return (-(value >> 1) if value & 1 else value >> 1), at


def line_of(code, minor, unit):
    """The line of an instruction, None if the table has none for it."""
    line, start, table = code.first_line, 0, code.lines
    if minor < 10:
        for step, delta in zip(table[::2], table[1::2]):
            start += step
            if start > unit * 2:
                break
            line += delta - 256 if delta > 127 else delta
        return line
    if minor == 10:
        for step, delta in zip(table[::2], table[1::2]):
            delta = delta - 256 if delta > 127 else delta
            line += delta if delta != -128 else 0
            start += step
            if start > unit * 2:
                return line if delta != -128 else None
        return None
    at = 0
    while at < len(table):
        kind, units = table[at] >> 3 & 15, (table[at] & 7) + 1
        at += 1
        if kind in (13, 14):
            line += signed_of(table, at)[0]
        elif 10 <= kind <= 12:
            line += kind - 10
        start += units
        if start > unit:
            return None if kind == 15 else line
        while at < len(table) and not table[at] & 128:
            at += 1
    return None


def escaped(text):
    """As the fault handler writes it."""
    text = text[:LONGEST] + ("..." if len(text) > LONGEST else "")
    return "".join(c if " " <= c <= "~" else f"\\x{ord(c):02x}" if ord(c) < 256
                   else f"\\u{ord(c):04x}" if ord(c) < 65536 else f"\\U{ord(c):08x}" for c in text)


@functools.cache  # A few hundred lines come again at every sample.
def said_frame(line):
    """(file, line, name), None if it is no frame."""
    found = SAID.fullmatch(line)
    return found.groups() if found else None


def said_stacks(path):
    """(time, address) -> [(file, line, name)], of what the interpreter wrote whole."""
    stacks = {}
    for block in path.read_text(errors="surrogateescape").split("begin ")[1:]:
        lines = block.split("\n")
        if "end" not in lines:
            continue
        frames = [frame for frame in map(said_frame, lines) if frame is not None]
        frames = [frame for frame in frames if frame[0] != "<shim>"]  # 3.12, as the innermost
        stacks[tuple(map(int, lines[0].split()))] = frames
    return stacks


class PythonFrames(unittest.TestCase):
    seconds = 1.0

    def record(self, path, directory, *words):
        said, trace = directory / "said", directory / "trace.geiger"
        environment = dict(os.environ, LD_PRELOAD=str(ORACLE), GEIGER_ORACLE=str(said),
                           GEIGER_ORACLE_DUMP=str(distance_of_dump(path)))
        if FRAGILE in path:
            environment["GEIGER_ORACLE_FRAGILE"] = "1"
        done = subprocess.run([harness.BUILD / "bin" / "geiger", "run", "-q", "--no-symbolize",
                               "-f", "--interval", "4KiB", "-o", trace, "--", path, *words],
                              env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return said_stacks(said), trace_reader.read(trace)

    def compare(self, said, trace):
        """Counts of what came of the samples, and the first that differ."""
        (interpreter, *_), counts, different = trace.interpreters.values(), collections.Counter(), []
        minor = interpreter.version >> 16 & 0xff
        decode = functools.cache(trace.interpreted)

        @functools.cache  # Stacks differ, but are made of the same few thousand frames.
        def is_alike(code, unit, file, line, name):
            found = None if unit is None else line_of(code, minor, unit)
            # The interpreter names the first line where a function has not begun.
            lines = {str(found if found is not None else code.first_line)}
            lines |= {"???"} if found is None else set()
            last = code.name.rpartition(".")[2] if code.name[-1] != ">" else code.name[code.name.rfind("<"):]
            # numpy gives its wrappers the names of what they wrap, but not the qualified ones.
            is_named = name == escaped(last) or file in RENAMED
            return file == escaped(code.file) and is_named and line in lines

        for sample in trace.samples:
            expected = said.get((sample.time, sample.address))
            if expected is None:
                continue
            frames = [decode(word) for word in trace.stacks[sample.stack].frames]
            frames = [frame for frame in frames if frame is not None]
            alike = len(frames) == len(expected) or len(expected) == DEEPEST < len(frames)
            alike = alike and all(is_alike(*frame, *said_of_it)
                                  for frame, said_of_it in zip(frames, expected))
            counts["same" if alike else "different"] += 1
            if not alike and len(different) < 3:
                different.append((expected, [(c.name, c.file, c.first_line, u) for c, u in frames]))
        return counts, different

    def check(self, path, script):
        with self.subTest(path), tempfile.TemporaryDirectory() as directory:
            if distance_of_dump(path) is None:
                print(path, "has no symbol of its dump")
                return
            for seconds in (1, 4, 16):  # A busy machine does little in one.
                said, trace = self.record(path, pathlib.Path(directory), SCRIPTS / script,
                                          str(seconds * self.seconds))
                counts, different = self.compare(said, trace)
                print(path, script, dict(counts), "of", len(trace.samples))
                self.assertEqual(counts["different"], 0, different)
                if counts["same"] > 400 * self.seconds:
                    return
            self.fail(f"too few samples: {counts}")

    def test_each_interpreter(self):
        for path in pythons.interpreters():
            self.check(path, "hard.py")

    def check_with(self, module, script):
        found = [path for path in pythons.interpreters()
                 if subprocess.run([path, "-c", f"import {module}"], capture_output=True).returncode == 0]
        if not found:
            self.skipTest(f"no interpreter has {module}")
        for path in found:
            self.check(path, script)

    def test_greenlets(self):
        self.check_with("gevent", "greenlets.py")

    def test_extension_modules(self):
        self.check_with("numpy", "arrays.py")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        PythonFrames.seconds = float(sys.argv.pop(1))
    unittest.main()
