#!/usr/bin/env python3
"""Counts what pairs of malloc and free execute over geiger's own malloc.

callgrind counts exactly, so the table is golden; after a change that is meant

    heap_instructions.py --update

rewrites it.  The loop itself is included (hosts/heap_loops.cc): 8, 11 and 15 instructions, and two
for each call of a function of another library.
"""
import unittest

import harness
import loop_counts

COUNT = 200_000
LIMITS = {"ring": 45.5, "once": 43.5, "mix": 59.0}
FAST_PATHS = {"malloc": 15, "free": 18}
PROGRAM = harness.host("heap_loops")


def per_pair(loop):
    once, twice = (loop_counts.run(PROGRAM, loop, str(count),
                                   preloads=[harness.allocator_library()])[0]
                   for count in (COUNT, 2 * COUNT))
    return (twice - once) / COUNT


def measure():
    return {loop: per_pair(loop) for loop in LIMITS}


def format_table(table):
    return "".join(["geiger  loop\n", *(f"{count:6.2f}  {loop}\n" for loop, count in table.items())])


class HeapInstructions(loop_counts.GoldenTable, unittest.TestCase):
    name = "heap_instructions"
    measure = staticmethod(measure)
    format_table = staticmethod(format_table)

    def test_no_more_than_the_limits(self):
        for loop, count in self.table.items():
            self.assertLessEqual(count, LIMITS[loop], loop)

    def test_the_fast_paths_are_as_long_as_the_documents_say(self):
        for function, count in FAST_PATHS.items():
            code = loop_counts.code_of(str(harness.allocator_library()), function)
            returns = [i for i, line in enumerate(code) if line.startswith("ret")]
            self.assertEqual(returns[0] + 1, count, code)
            self.assertFalse([line for line in code if line.startswith("call")], code)


if __name__ == "__main__":
    loop_counts.main(HeapInstructions)
