#!/usr/bin/env python3
"""Counts what an allocation from a free list executes: sampling off, on, and a plain list.

callgrind counts exactly, so the table is golden; after a change that is meant

    list_instructions.py --update

rewrites it.  `off` and `on` execute the same: on, no drawn byte is reached.  At 512 KiB there are
samples, and the last column is what each of them costs beyond that.  The plain list
(headers/free_lists.h) ends in a null pointer and counts nothing.
"""
import re
import unittest

import harness
import loop_counts

COUNT = 100000
LOOPS = ("constant", "sized", "pairs")
INTERVALS = {"off": "0", "on": str(1 << 50), "512 KiB": str(512 << 10)}
PROGRAM = harness.host("list_loops")


def measure():
    table = {}
    for loop in LOOPS:
        row, samples = {}, {}
        for name, mode in {**INTERVALS, "plain": "plain"}.items():
            once, twice = (loop_counts.run(PROGRAM, loop, str(count), mode)
                           for count in (COUNT, 2 * COUNT))
            row[name] = (twice[0] - once[0]) / COUNT
            samples[name] = twice[1], once[1]
        more, fewer = map(int, samples["512 KiB"])
        row["sample"] = (row["512 KiB"] - row["off"]) * COUNT / (more - fewer)
        table[loop] = row
    return table


def format_table(table):
    lines = ["   off     on  512 KiB  plain  per sample  loop"]
    for loop, row in table.items():
        lines.append(f"{row['off']:6.2f} {row['on']:6.2f}   {row['512 KiB']:6.2f} {row['plain']:6.2f}"
                     f"  {row['sample']:10.0f}  {loop}")
    return "\n".join(lines) + "\n"


class ListInstructions(loop_counts.GoldenTable, unittest.TestCase):
    name = "list_instructions"
    measure = staticmethod(measure)
    format_table = staticmethod(format_table)

    def test_sampling_executes_the_same_instructions(self):
        for loop, row in self.table.items():
            self.assertAlmostEqual(row["off"], row["on"], delta=10 / COUNT, msg=loop)
            self.assertLess(row["sample"], 250, loop)

    def test_no_more_than_a_plain_list(self):
        for loop in ("constant", "sized"):
            self.assertLessEqual(self.table[loop]["on"], self.table[loop]["plain"], loop)

    def test_one_count_no_comparison_no_thread_local_storage_no_call_but_the_slow_path(self):
        for function in ("fast_constant", "fast_sized"):
            code = loop_counts.code_of(PROGRAM, function)
            self.assertGreater(len(code), 4, function)
            self.assertFalse([line for line in code if "%fs" in line or "tls" in line], code)
            self.assertFalse([line for line in code if line.startswith(("cmp", "test"))], code)
            called = [line for line in code if re.match(r"(call|jmp)\s.*<(?!fast_)", line)]
            self.assertTrue(all("allocate_slow" in line for line in called), called)
            self.assertEqual(len([line for line in code if re.match(r"j(?!mp)", line)]), 1, code)


if __name__ == "__main__":
    loop_counts.main(ListInstructions)
