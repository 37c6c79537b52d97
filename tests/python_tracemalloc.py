#!/usr/bin/env python3
"""Live bytes per line of a Python program against what tracemalloc counts.

    python_tracemalloc.py [--seeds N]      (default 15)

The program does the same in every run, so tracemalloc counts it in a run of its own: requested
bytes by the innermost line, without what tracemalloc itself takes. Every line that keeps more than
2 MiB is compared, at 32 KiB, with the 95 % interval of `table --by line`. The intervals that miss
are a binomial number: more than come by chance once in a million interpreters fail, and with 100
seeds or more so few do too. Seeds are fixed, those of hashes too, but addresses are not: some runs
still draw other samples.
"""
import json
import math
import os
import statistics
import sys
import tempfile
import unittest

import harness
import pythons

GEIGER = harness.BUILD / "bin" / "geiger"
SCRIPT = harness.ROOT / "tests" / "python" / "sites.py"
INTERVAL, LARGE = "32KiB", 2 * harness.MIB
MISSED = 0.05
FALSE_ALARM = 1e-6
MANY_SEEDS = 100


def probability(count, chance, least, most):
    """That a binomial number lies in [least, most]."""
    return sum(math.comb(count, k) * chance ** k * (1 - chance) ** (count - k)
               for k in range(least, most + 1))


class PythonTracemalloc(unittest.TestCase):
    seeds = 15

    def run_quietly(self, *words):
        outcome = harness.run_bare(words, env={"PYTHONHASHSEED": "1"}, cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome.stderr)
        return outcome.stdout

    def truth(self, python):
        """Line -> bytes, of the large ones."""
        lines = json.loads(self.run_quietly(python, "-X", "tracemalloc=1", SCRIPT))
        return {int(line): size for line, size in lines.items() if size > LARGE}

    def estimates(self, python, seed):
        """Line -> its estimate."""
        trace = os.path.join(self.directory, "run.geiger")
        self.run_quietly(GEIGER, "run", "-q", "-f", "--no-symbolize", "--no-observe", "--seed", seed,
                         "--interval", INTERVAL, "-o", trace, "--", python, SCRIPT)
        table = json.loads(self.run_quietly(GEIGER, "table", "--json", "--kind", "live", "--by", "line",
                                            "--frames", "python", "--top", "0", trace))
        lines = {}
        for row in table["rows"]:
            if row.get("file") == str(SCRIPT) and row["self"]["samples"]:
                self.assertNotIn(row["line"], lines)
                lines[row["line"]] = row["self"]["bytes"]
        return lines

    def compare(self, python):
        """How many intervals there were and how many missed, and the means of the estimates."""
        truth, count, missed, values = self.truth(python), 0, 0, {}
        self.assertGreaterEqual(len(truth), 5)
        for seed in range(1, self.seeds + 1):
            estimates = self.estimates(python, seed)
            for line, size in truth.items():
                found = estimates[line]
                is_covered = found["lo"] <= size <= found["hi"]
                if found["variance"] == 0:  # All objects are as large as the interval.
                    self.assertTrue(is_covered, (line, size, found))
                else:
                    count, missed = count + 1, missed + (not is_covered)
                values.setdefault(line, []).append(found["value"])
        means = {line: statistics.fmean(found) / truth[line] for line, found in values.items()}
        return count, missed, means

    def test_large_lines_are_within_their_intervals(self):
        for python in pythons.some_interpreters():
            with self.subTest(python), tempfile.TemporaryDirectory() as self.directory:
                count, missed, means = self.compare(python)
                print(f"{python}: {missed} of {count} intervals miss, {100 * (1 - missed / count):.1f} %"
                      " cover; mean estimate over truth by line "
                      + ", ".join(f"{line}: {mean:.3f}" for line, mean in sorted(means.items())))
                self.assertGreater(probability(count, MISSED, missed, count), FALSE_ALARM)
                if self.seeds >= MANY_SEEDS:
                    self.assertGreater(probability(count, MISSED, 0, missed), FALSE_ALARM)


if __name__ == "__main__":
    if "--seeds" in sys.argv:
        at = sys.argv.index("--seeds")
        PythonTracemalloc.seeds = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
