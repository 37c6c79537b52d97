#!/usr/bin/env python3
"""Counts what an arena executes per allocation: sampling off, sampling on, and a plain arena.

callgrind counts exactly, so the table is golden; after a change that is meant

    arena_instructions.py --update

rewrites it.  One chunk holds all and no drawn byte is reached: this is the fast path.  The
plain arena (headers/plain_arena.h) has no virtual form, so `pmr` has no third column.
"""
import re
import unittest

import harness
import loop_counts

COUNT = 20000
LOOPS = ("constant", "make", "sized", "aligned", "pmr")
PROGRAM = harness.host("arena_loops")


def measure():
    return {loop: [loop_counts.per_call(PROGRAM, loop, COUNT, mode) for mode in ("off", "on", "plain")
                   if (loop, mode) != ("pmr", "plain")] for loop in LOOPS}


def format_table(table):
    lines = ["   off     on  plain  loop"]
    for loop, counts in table.items():
        cells = "".join(f"{count:6.2f} " for count in counts)
        lines.append(f"{cells:21} {loop}")
    return "\n".join(lines) + "\n"


class ArenaInstructions(loop_counts.GoldenTable, unittest.TestCase):
    name = "arena_instructions"
    measure = staticmethod(measure)
    format_table = staticmethod(format_table)

    def test_sampling_executes_the_same_instructions(self):
        for loop, counts in self.table.items():
            self.assertEqual(counts[0], counts[1], loop)

    def test_no_more_than_a_plain_arena(self):
        for loop, counts in self.table.items():
            if len(counts) == 3:
                self.assertLessEqual(counts[1], counts[2], loop)

    def test_one_comparison_no_thread_local_storage_no_call_but_the_slow_path(self):
        for function in ("fast_constant", "fast_make", "fast_sized", "fast_aligned"):
            code = loop_counts.code_of(PROGRAM, function)
            self.assertGreater(len(code), 4, function)
            self.assertFalse([line for line in code if "%fs" in line or "tls" in line], code)
            called = [line for line in code if re.match(r"(call|jmp)\s.*<(?!fast_)", line)]
            self.assertTrue(all("allocate_slow" in line or "refuse" in line for line in called),
                            called)
            self.assertEqual(len([line for line in code if line.startswith("cmp")]), 1, code)


if __name__ == "__main__":
    loop_counts.main(ArenaInstructions)
