#!/usr/bin/env python3
"""Compares our stack walks with libgcc's inside real programs.

Usage: unwind_compare.py LIBRARY [PROGRAM...]

LIBRARY is the preload library built from tests/unwind_hosts/compare.cc; its head
comment says what "equal" means.  Every program of the list below runs once under
it.  Fails unless each gives at least 20,000 comparisons, of which at least 99.9 %
are equal and not truncated.  A missing program is a failure, not a skip.
"""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import harness

MIN_COMPARED = 20_000
MIN_EQUAL = 0.999
TIMEOUT_SECONDS = 300

JSON_PROGRAM = """\
import json, random
random.seed(1)
rows = [{f"k{i}": [random.random() for _ in range(20)], "s": "x" * random.randint(1, 99)}
        for i in range(1500)]
for _ in range(3):
    rows = json.loads(json.dumps(rows))
"""

CXX_PROGRAM = """\
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() {
  std::map<std::string, std::vector<int>> m;
  m["a"].push_back(1);
  std::cout << m.size() << std::regex_match("aab", std::regex("a+b*"));
}
"""

# program whose counts are taken: (mean mallocs between comparisons, command)
PROGRAMS = {
    "python3.11": (10, ["/usr/bin/python3.11", "json_program.py"]),
    "cc1plus": (20, ["/usr/bin/g++", "-O2", "-c", "program.cc", "-o", "gcc.o"]),
    "gdb": (5, ["/usr/bin/gdb", "-nx", "-batch", "-ex", "info functions regex",
                "-ex", "info types vector", "-ex", "list main", "with_debug.o"]),
    "clang++-14": (20, ["/usr/bin/clang++-14", "-O2", "-c", "program.cc", "-o", "clang.o"]),
}


def write_inputs(folder):
    with open(os.path.join(folder, "json_program.py"), "w") as file:
        file.write(JSON_PROGRAM)
    with open(os.path.join(folder, "program.cc"), "w") as file:
        file.write(CXX_PROGRAM)
    subprocess.run(["/usr/bin/g++", "-g", "-O1", "-c", "program.cc", "-o", "with_debug.o"],
                   cwd=folder, check=True, timeout=TIMEOUT_SECONDS)


def read_counts(prefix, program):
    """Sums over the processes that ran `program`; also what they said about differences."""
    total, examples = {"compared": 0, "different": 0, "truncated": 0, "unstable": 0}, []
    for path in glob.glob(glob.escape(prefix) + ".*"):
        lines = pathlib.Path(path).read_text().splitlines()
        fields = dict(line.split(None, 1) for line in lines if line and line[0] != " ")
        if fields["program"] != program:
            continue
        for name in total:
            total[name] += int(fields[name])
        examples += [line for line in lines if line.startswith(" ")]
    return total, examples


def judge(program, total, examples):
    """Truncated chains may be among the different ones; counting both is the strict side."""
    bad = total["different"] + total["truncated"]
    compared = total["compared"]
    is_good = compared >= MIN_COMPARED and bad <= (1 - MIN_EQUAL) * compared and \
        total["unstable"] == 0
    print(f"{program}: " + ", ".join(f"{value} {name}" for name, value in total.items()) +
          ("" if is_good else "  FAILED"))
    if bad:
        print("\n".join(examples[:200]))
    return is_good


def run(program, library, folder):
    every, command = PROGRAMS[program]
    if not shutil.which(command[0]):
        print(f"{program}: {command[0]} is not installed  FAILED")
        return False
    prefix = os.path.join(folder, "counts-" + program)
    environment = dict(os.environ, LD_PRELOAD=library, PYTHONMALLOC="malloc",
                       GEIGER_COMPARE_OUTPUT=prefix, GEIGER_COMPARE_EVERY=str(every))
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                          timeout=TIMEOUT_SECONDS)
    if done.returncode != 0:
        print(f"{program}: exit code {done.returncode}  FAILED")
        return False
    return judge(program, *read_counts(prefix, program))


def main(library, programs):
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(folder)
        path = pathlib.Path(library).resolve()
        library = str(harness.loadable(path.parent) / path.name)
        results = [run(program, library, folder) for program in programs]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:] or list(PROGRAMS)))
