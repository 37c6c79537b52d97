#!/usr/bin/env python3
"""Counts what pairs of malloc and free execute over geiger's own malloc.

callgrind counts exactly, so the table is golden; after a change that is meant

    heap_instructions.py --update

rewrites it.  All columns execute the same but for what draws and samples cost; "per sample" is that,
from the draw to the later free, without a stack and a record, rounded: a table of some 200 samples.
The loop itself is included (hosts/heap_loops.cc): 8, 11 and 15 instructions, and two
for each call of a function of another library.
"""
import unittest

import harness
import loop_counts

COUNT = 200_000
LIMITS = {"ring": 45.5, "once": 43.5, "mix": 59.0}
MOST_PER_SAMPLE = 480  # The aim is 410.
FAST_PATHS = {"malloc": 15, "free": 18}
PROGRAM = harness.host("heap_loops")
# Off draws as well, and drops what it draws.
INTERVALS = {"off": [], "never": ["0"], "512 KiB": [str(512 << 10)], "64 KiB": [str(64 << 10)]}


def counted(loop, count, arguments):
    """(instructions, samples)"""
    instructions, output = loop_counts.run(PROGRAM, loop, str(count), *arguments,
                                           preloads=[harness.allocator_library()])
    return instructions, int(output)


def measure():
    table = {}
    for loop in LIMITS:
        row, samples = {}, {}
        for name, arguments in INTERVALS.items():
            once, twice = (counted(loop, count, arguments) for count in (COUNT, 2 * COUNT))
            row[name] = (twice[0] - once[0]) / COUNT
            samples[name] = twice[1] - once[1]
        row["sample"] = (row["64 KiB"] - row["never"]) * COUNT / samples["64 KiB"]
        table[loop] = row
    return table


def format_table(table):
    lines = ["   off  never  512 KiB  64 KiB  per sample  loop"]
    for loop, row in table.items():
        lines.append(f"{row['off']:6.2f} {row['never']:6.2f}   {row['512 KiB']:6.2f}  "
                     f"{row['64 KiB']:6.2f}  {50 * round(row['sample'] / 50):10}  {loop}")
    return "\n".join(lines) + "\n"


class HeapInstructions(loop_counts.GoldenTable, unittest.TestCase):
    name = "heap_instructions"
    measure = staticmethod(measure)
    format_table = staticmethod(format_table)

    def test_no_more_than_the_limits(self):
        for loop, row in self.table.items():
            self.assertLessEqual(row["off"], LIMITS[loop], loop)
            self.assertLessEqual(row["sample"], MOST_PER_SAMPLE, loop)

    def test_the_fast_paths_are_as_long_as_the_documents_say(self):
        for function, count in FAST_PATHS.items():
            code = loop_counts.code_of(str(harness.allocator_library()), function)
            returns = [i for i, line in enumerate(code) if line.startswith("ret")]
            self.assertEqual(returns[0] + 1, count, code)
            self.assertFalse([line for line in code if line.startswith("call")], code)


if __name__ == "__main__":
    loop_counts.main(HeapInstructions)
