"""Exact instruction counts of small loops, and the code of their functions.

A loop runs N and 2N times under callgrind; the difference divided by N is per call, loop included.
"""
import re
import subprocess

import harness


def run(program, *arguments):
    """(instructions, what the program printed)"""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True,
                          env=harness.environment([]))
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]), done.stdout


def per_call(program, loop, count, mode):
    once, _ = run(program, loop, str(count), mode)
    twice, _ = run(program, loop, str(2 * count), mode)
    return (twice - once) / count


def code_of(program, function):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                           program], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^\s+[0-9a-f]+:\s+(.*)$", text, re.M)
