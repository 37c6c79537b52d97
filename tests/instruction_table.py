#!/usr/bin/env python3
"""Counts what the interposer adds to each entry point, in executed instructions.

callgrind counts exactly, so the table is golden: any change fails this test until
the table is rewritten with

    instruction_table.py --update

and the commit says why.  Method: a loop over one entry point runs N and 2N times
under callgrind with an interval that nothing reaches; the difference of the
instructions executed inside the preload library, divided by N, is the cost of a
call from our entry to the original function.  Landing pads (endbr64) are not
counted.  What a pair adds over the bare program is the difference of whole
programs, and may be negative: operator new skips a wrapper of libstdc++.
"""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import unittest

import harness

TABLE = harness.ROOT / "tests" / "golden" / "instructions.txt"
COUNT = 20000
NEVER = 1 << 40  # an interval that no loop reaches

SINGLES = ("malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc",
           "memalign", "valloc", "pvalloc", "new", "new_nothrow", "new_array",
           "new_array_nothrow", "new_aligned", "new_aligned_nothrow", "new_array_aligned",
           "new_array_aligned_nothrow")
PAIRS = ("malloc+free", "malloc+realloc+free", "new+delete", "new+delete_sized",
         "new+delete_nothrow", "new+delete_array", "new+delete_array_sized",
         "new+delete_array_nothrow", "new_aligned+delete_aligned",
         "new_aligned+delete_aligned_sized", "new_aligned+delete_aligned_nothrow",
         "new_aligned+delete_array_aligned", "new_aligned+delete_array_aligned_sized",
         "new_aligned+delete_array_aligned_nothrow")

Cost = collections.namedtuple("Cost", "inside total")


def parse(path):
    """Instructions executed in the preload library, and in all, from a callgrind file."""
    objects, inside, total = {}, 0, 0
    current, is_call_cost = "", False
    with open(path) as file:
        for line in file:
            match = re.match(r"ob=\((\d+)\)(?: (.*))?$", line)
            if match:
                objects.setdefault(match[1], match[2])
                current = objects[match[1]]
            elif line.startswith("cob="):
                match = re.match(r"cob=\((\d+)\)(?: (.*))?$", line)
                objects.setdefault(match[1], match[2])
            elif line.startswith("calls="):
                is_call_cost = True
            elif re.match(r"[+\-*\d]", line):
                cost = int(line.split()[1]) if len(line.split()) > 1 else 0
                if not is_call_cost:
                    total += cost
                    if current and current.endswith("libgeiger-preload.so"):
                        inside += cost
                is_call_cost = False
    return Cost(inside, total)


def callgrind(name, count, is_bare=False, interval=NEVER):
    with tempfile.TemporaryDirectory() as directory:
        output = os.path.join(directory, "callgrind.out")
        preloads = [] if is_bare else [harness.preload_library()]
        env = {"GEIGER_DIR": directory, "GEIGER_INTERVAL": str(interval), "GEIGER_SEED": "1",
               "GEIGER_CAPACITY": str(64 * harness.MIB)}
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}",
                   harness.host("loops"), name, str(count)]
        subprocess.run(command, check=True, capture_output=True,
                       env=harness.environment(preloads, env))
        return parse(output)


def per_call(name, is_bare=False, **options):
    """Instructions per iteration: inside the library, and in the whole program."""
    once = callgrind(name, COUNT, is_bare, **options)
    twice = callgrind(name, 2 * COUNT, is_bare, **options)
    return Cost(round((twice.inside - once.inside) / COUNT, 2),
                round((twice.total - once.total) / COUNT, 2))


def landing_pads():
    """Entry points that begin with endbr64, which is not counted."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(harness.preload_library())],
                          check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"<(\w+)>:\n\s+[0-9a-f]+:\s+endbr64", text))


def measure():
    """The table: entry point -> instructions."""
    pads = 1 if "malloc" in landing_pads() else 0
    names = [*SINGLES, *PAIRS, "nothing"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ours = dict(zip(names, pool.map(per_call, names)))
        bare = dict(zip(names, pool.map(lambda name: per_call(name, True), names)))
        live = per_call("free_live", interval=40000).inside
        none = per_call("free_none", interval=40000).inside
    table = collections.OrderedDict()
    for name in SINGLES:
        table[name] = ours[name].inside - pads
    for name in PAIRS:
        first = name.split("+")[0]
        calls = name.count("+") + 1
        table[name] = ours[name].inside - calls * pads
        table[name + " (last)"] = table[name] - (table[first] if calls == 2 else 0)
        table[name + " (over bare)"] = ours[name].total - bare[name].total - calls * pads
    table["free, 4000 live samples: filter hits add"] = round(live - none, 2)
    return table


def format_table(table):
    return "".join(f"{count:8.2f}  {name}\n" for name, count in table.items())


def read_table():
    rows = [line.split(None, 1) for line in TABLE.read_text().splitlines()]
    return {name.strip(): float(count) for count, name in rows}


class InstructionTable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require("valgrind", "objdump")
        cls.table = measure()

    def test_golden(self):
        self.assertEqual(format_table(self.table), TABLE.read_text(),
                         "if meant: tests/instruction_table.py --update, and say why")

    def test_limits(self):
        free = self.table["malloc+free (last)"]
        self.assertLessEqual(self.table["malloc"], 4)
        self.assertLessEqual(self.table["new"], 4)
        self.assertLessEqual(free, 7)
        self.assertLessEqual(free + self.table["free, 4000 live samples: filter hits add"], 9)
        self.assertLessEqual(self.table["new+delete_sized (over bare)"], 0)


if __name__ == "__main__":
    if "--update" in sys.argv:
        TABLE.write_text(format_table(measure()))
    else:
        unittest.main()
