#!/usr/bin/env python3
"""What verbs execute for a recording grows with its processes and samples, not with their product.

callgrind counts exactly; nothing of a recording depends on how fast the machine is: it has
no readings of memory. A program with 100 N samples forks N children with one each: from 100 to
200 children a verb takes about twice what it takes from 50 to 100, and four times if it goes through
all processes for every sample.
"""
import pathlib
import subprocess
import tempfile
import unittest

import harness
import loop_counts

GEIGER = str(harness.BUILD / "bin" / "geiger")
CHILDREN = (50, 100, 200)
VERBS = (("summary",), ("leaks",), ("export", "firefox"), ("export", "heaptrack"), ("export", "pprof"))
SCRIPT = """
my ($n) = @ARGV;
my @kept = map { "x" x (4000 + $_ % 50) } 1 .. 100 * $n;
for (1 .. $n) {
  my $child = fork;
  if (!$child) { my $own = "y" x 9000; kill 9, $$; }
  waitpid $child, 0;
}
"""


class ProcessCost(unittest.TestCase):
    def test_linear(self):
        harness.require("valgrind", "perl")
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            for number in CHILDREN:
                subprocess.run([GEIGER, "run", "-q", "--seed", "1", "--no-observe", "--interval", "4KiB", "-o",
                                directory / f"{number}.geiger", "--", "perl", "-e", SCRIPT,
                                str(number)], check=True)
            for verb in VERBS:
                executed = [self.executed(verb, directory / f"{number}.geiger")
                            for number in CHILDREN]
                first, second = executed[1] - executed[0], executed[2] - executed[1]
                print(*verb, *executed, f"{second / first:.2f}", flush=True)
                self.assertLess(second, 2.8 * first, verb)

    def executed(self, verb, recording):
        to = ("-o", recording.with_suffix(".out"), "-f") if verb[0] == "export" else ()
        return loop_counts.run(GEIGER, *verb, recording, *to)[0]


if __name__ == "__main__":
    unittest.main()
