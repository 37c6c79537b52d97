#!/usr/bin/env python3
"""The page's arithmetic in WebAssembly gives the numbers and texts that it gives on this processor, for
random sums.

usage: page_arithmetic.py CALLS WEB

CALLS is the program of arithmetic_calls.cc; WEB is where web_page.sh has installed what the page's tests
need.
"""
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

CALLS = os.path.abspath(sys.argv.pop(1))
WEB = pathlib.Path(sys.argv.pop(1)).resolve()
ROWS = 3000
LEVELS = (0.95, 0.95, 0.9, 0.99, 0.5, 0.999)
ADDED, EXTREMES = 8, 6


def bits(number):
    return struct.pack(">d", number).hex()


def number(text):
    return struct.unpack(">d", bytes.fromhex(text.zfill(16)))[0]


def sample(rng, size, interval, keep):
    """What one object adds (NodeSums::add): its columns, and its extremes."""
    if interval <= 1 and keep == 1:
        return [0, 1, size, 0, 0, 0, 0, 0], None
    tried = max(size, 1)
    rate = math.inf if interval <= 1 else -math.log1p(-1 / interval)
    pi = keep * -math.expm1(-rate * tried)
    missed = (1 - keep) + keep * math.exp(-rate * tried)
    value = size if rng.random() < 0.8 else rng.randrange(size + 1)  # Resident bytes are a part.
    added = [1, 0, 0, value, value / pi, (value / pi) * (value * missed / pi), 1 / pi,
             missed / pi / pi]
    event = tried / -math.log1p(-pi) if pi < 1 else 1
    return added, (event, max(value / tried, 2**-60) * event, 1 / pi, 1 / (keep * rate) if rate < math.inf else 0,
                   tried, tried)


def row(rng):
    """A row of sums: of few or many samples, certain ones, thinned ones, open ones, of one size or of many."""
    interval = rng.choice((1, 4096, 65536, 524288, 524288, 2**20))
    keep = rng.choice((1, 1, 1, 0.5, 1 / 64))
    sizes = rng.choice(([64], [0], [48, 64], [24, 4096], [2 ** i for i in range(3, 24)],
                        [rng.randrange(1, 2**rng.randrange(1, 40)) for _ in range(5)]))
    sums = [0.0] * (2 * ADDED + EXTREMES)
    is_wide_open = rng.random() < 0.15
    for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 8, 20, 300))):
        size = rng.choice(sizes)
        added, extremes = sample(rng, size, 1 if rng.random() < 0.1 else interval, keep)
        times = rng.choice((1, 1, 1, 2, 1000))
        at = ADDED + EXTREMES if is_wide_open or rng.random() < 0.1 else 0
        for i, one in enumerate(added):
            sums[at + i] += times * one
        if extremes:
            for i, (one, kind) in enumerate(zip(extremes, (max, min, max, max, min, max))):
                old = sums[ADDED + i]
                sums[ADDED + i] = one if old == 0 else kind(old, one)
    sums[ADDED] = max(sums[ADDED], interval if interval > 1 else 0)
    sums[ADDED + 3] = max(sums[ADDED + 3], sums[ADDED])
    return sums


def merged(a, b):
    both = [x + y for x, y in zip(a, b)]
    for i, kind in enumerate((max, min, max, max, min, max)):
        x, y = a[ADDED + i], b[ADDED + i]
        both[ADDED + i] = x + y if x == 0 or y == 0 else kind(x, y)
    return both


def ask(command, calls, cwd):
    lines = "".join(f"{name} {results} {' '.join(map(bits, given))}\n" for name, results, given in calls)
    with tempfile.TemporaryFile("w+") as answers:
        subprocess.run(command, input=lines, cwd=cwd, text=True, stdout=answers, check=True, timeout=600)
        answers.seek(0)
        return answers.read().splitlines()


class Arithmetic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Numbers from sums, then texts: on each side of its own numbers."""
        rng = random.Random(20)
        cls.asked, cls.found = [], ([], [])
        numbers, parts = [], []
        for _ in range(ROWS):
            part, rest = row(rng), row(rng)
            whole = merged(part, rest)
            level = rng.choice(LEVELS)
            listed = float(rng.random() < 0.5)
            exact = whole[2] + whole[4] * rng.uniform(0.9, 1.1) if rng.random() < 0.5 else -1
            calibrates = float(rng.random() < 0.9)
            of_whole = [*whole, math.floor(exact), calibrates]
            numbers += [("estimate_bytes", 7, [*part, level, listed]),
                        ("estimate_objects", 8, [*part, level, listed]),
                        ("part_bytes", 7, [*part, *of_whole, level, listed]),
                        ("rest_of", len(part), [*part, *whole])]
            parts.append((part, of_whole, level))
        sides = ((CALLS, None), (["npx", "vite-node", "tests/calls.ts"], WEB))
        for found, (command, cwd) in zip(cls.found, sides):
            got = ask(command, numbers, cwd)
            values = [[number(one) for one in line.split()] for line in got]
            shares = [("share_of", 3, [*part, *of_whole, level, *values[4 * i + 2]])
                      for i, (part, of_whole, level) in enumerate(parts)]
            more = ask(command, shares, cwd)
            texts = cls.texts(random.Random(21), values, [[number(one) for one in line.split()] for line in more])
            found += [*got, *more, *ask(command, texts, cwd)]
            cls.asked = [*numbers, *shares, *texts]

    @staticmethod
    def texts(rng, values, shares):
        """Calls for the texts of these numbers, and of others that are ties or at the ends of units."""
        calls = []
        for i, share in enumerate(shares):
            bytes_, objects, shown = (values[4 * i + j] for j in range(3))
            unknown = [1 - objects[7]]
            calls += [("figure", 0, [*bytes_, 0]), ("figure", 0, [*shown, 0]),
                      ("figure", 0, [*objects[:7], 1]), ("limits_text", 0, [*bytes_[1:3], 0]),
                      ("objects_figure", 0, [*bytes_, *objects[:7], *unknown]), ("share_figure", 0, share),
                      ("change_figure", 0, [bytes_[0] - shown[2], bytes_[1] - shown[2], bytes_[2] - shown[1]]),
                      ("bound_bytes", 0, [bytes_[2]])]
        for power in range(60):
            for factor in (1, 1.0625, 1.5, 1.125, 2.5, 9.995, 9.9995, 99.95, 1023 / 1024, 1023.5 / 1024):
                value = factor * 2**power
                calls += [("exact_bytes", 0, [value]), ("exact_count", 0, [value]),
                          ("bound_bytes", 0, [value])]
        for _ in range(4000):
            digits = rng.randrange(1, 100000)
            calls += [("duration", 0, [digits * 5 * 10**rng.randrange(13)]),
                      ("probability", 0, [digits * 10.0**-rng.randrange(4, 18)])]
        calls += [("duration", 0, [value]) for value in (1125, 258500, 999500, 9.995e9, 59.95e9, 3599.5e9)]
        calls += [("level_text", 0, [level]) for level in LEVELS]
        return calls

    def test_texts(self):
        """Letter for letter."""
        different = [(*asked, *both) for asked, *both in zip(self.asked, *self.found)
                     if asked[1] == 0 and both[0] != both[1]]
        self.assertEqual(different, [])
        self.assertGreater(sum(asked[1] == 0 for asked in self.asked), 30000)

    def test_numbers(self):
        """To 12 digits: the C libraries differ in the last bits of exp and its like."""
        for (name, results, given), *both in zip(self.asked, *self.found):
            if results > 0:
                for one, other in zip(*(map(number, line.split()) for line in both)):
                    self.assertTrue(math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-300),
                                    (name, given, one, other))


if __name__ == "__main__":
    unittest.main(verbosity=1)
