"""Exact instruction counts of small loops, and the code of their functions.

A loop runs N and 2N times under callgrind; the difference divided by N is per call, loop included.
"""
import re
import subprocess
import sys
import unittest

import harness


def run(program, *arguments, preloads=()):
    """(instructions, what the program printed)"""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True,
                          env=harness.environment(preloads))
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]), done.stdout


def per_call(program, loop, count, mode):
    once, _ = run(program, loop, str(count), mode)
    twice, _ = run(program, loop, str(2 * count), mode)
    return (twice - once) / count


def code_of(program, function):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                           program], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^\s+[0-9a-f]+:\s+(.*)$", text, re.M)


class GoldenTable:
    """Measured once, and equal to tests/golden/NAME.txt. For a unittest.TestCase, which has `name`,
    measure() and format_table(table)."""

    @classmethod
    def golden(cls):
        return harness.ROOT / "tests" / "golden" / f"{cls.name}.txt"

    @classmethod
    def setUpClass(cls):
        harness.require("valgrind", "objdump")
        cls.table = cls.measure()

    def test_golden(self):
        self.assertEqual(self.format_table(self.table), self.golden().read_text(),
                         f"if meant: tests/{self.name}.py --update, and say why")


def main(tests):
    if "--update" in sys.argv:
        tests.golden().write_text(tests.format_table(tests.measure()))
    else:
        unittest.main(module=tests.__module__)
