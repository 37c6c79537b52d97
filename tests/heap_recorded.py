#!/usr/bin/env python3
"""Recordings over geiger's own malloc, which draws the samples and tells the runtime.

What is exact stays exact: the totals are those over the C library, and at interval 1 so are the
samples, their entry points and stacks. What is drawn has the law of the runtime's own draws; truth.py
with GEIGER_TEST_MALLOC=geiger compares its estimates with a program that knows itself.
"""
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import unittest

import harness
import trace_reader

ALLOCATOR = harness.allocator_library()
COMMANDS = {
    "git": ["git", "-C", str(harness.ROOT), "log", "--stat", "-n", "20", "--no-renames"],
    "sqlite3": ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 "
                "from c where x < 3000) select sum(length(hex(x))) from c group by x % 7;"],
}
PERL = ["perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1..900; print scalar(keys %h)"]


def over(allocator, command, interval, **options):
    behind = [ALLOCATOR] if allocator else []
    return harness.record(command, interval, behind=behind, **options)


def stacks_of(trace):
    """Of all samples, as return addresses within their modules."""
    paths = [(module.start, module.end, os.path.basename(module.path)) for module in trace.modules]

    def place(address):
        for start, end, name in paths:
            if start <= address < end:
                return name, address - start
        return "", address

    return collections.Counter((trace_reader.ENTRY_POINTS[s.entry_point], s.requested,
                                tuple(place(f) for f in trace.stacks[s.stack].frames))
                               for s in trace.samples)


class Recorded(harness.ProcessTest):
    def test_totals_and_calls_are_those_over_the_c_library(self):
        for name, command in COMMANDS.items():
            harness.require(command[0])
            for interval in (1, 4 * harness.KIB):
                with self.subTest(name, interval=interval):
                    ours, theirs = (over(each, command, interval) for each in (True, False))
                    self.assert_same_outcome(theirs.outcome, ours.outcome)
                    self.assert_sound(ours)
                    self.assertEqual(ours.total("bytes"), theirs.total("bytes"))
                    if interval == 1:
                        self.assertEqual(len(ours.samples()), len(theirs.samples()))
                        self.assertEqual(sum(s.requested for s in ours.samples()),
                                         ours.total("bytes"))

    def test_drawn_samples_are_those_the_totals_count(self):
        recorded = over(True, COMMANDS["git"], 4 * harness.KIB)
        trace, = recorded.traces
        drawn = [s for s in trace.samples if not s.certain]
        self.assertGreater(len(drawn), 100)
        self.assertEqual(len(drawn), trace.total("hits"))
        self.assertEqual(len(trace.samples) - len(drawn), trace.total("certain_count"))
        self.assertLess(abs(trace.z()), 5)

    def test_stacks_begin_where_the_program_called(self):
        command = [harness.host("truth"), "one", "4096"]
        ours, theirs = (stacks_of(over(each, command, 1).traces[0]) for each in (True, False))
        self.assertEqual(ours, theirs)

    def test_every_process_of_a_tree(self):
        for scenario in ("forks", "fork_threads", "clones", "spawns", "execs_itself"):
            with self.subTest(scenario):
                command = [harness.host("processes"), scenario]
                ours, theirs = (over(each, command, 1) for each in (True, False))
                self.assert_same_outcome(theirs.outcome, ours.outcome)
                self.assert_sound(ours)
                self.assertEqual(len(ours.traces), len(theirs.traces))
                for trace in ours.traces:
                    self.assertIn("libgeiger-malloc", trace.header.allocator)
                    self.assertEqual(len(trace.samples), trace.total("certain_count"))

    def test_guarded_samples_are_drawn_by_the_runtime(self):
        recorded = over(True, PERL, 4 * harness.KIB, env={"GEIGER_GUARD": "1"})
        self.assert_sound(recorded)
        trace, = recorded.traces
        self.assertEqual(len(trace.samples), trace.total("hits") + trace.total("certain_count"))


class WithGeiger(unittest.TestCase):
    def setUp(self):
        self.geiger = harness.BUILD / "bin" / "geiger"
        if not self.geiger.exists():
            self.skipTest("geiger is not built")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)

    def run_it(self, *program, geiger=None, interval="4KiB", options=()):
        return subprocess.run([geiger or self.geiger, "run", "-f", "--malloc=geiger",
                               f"--interval={interval}", *options, "-o", self.here / "out.geiger", "--",
                               *program], capture_output=True, text=True, check=False, timeout=120)

    def report(self, *words):
        done = subprocess.run([self.geiger, *words, "--json", self.here / "out.geiger"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return json.loads(done.stdout)


class Launched(WithGeiger):
    def test_by_its_name(self):
        done = self.run_it("sh", "-c", '"$@"; true', "sh", *PERL)
        self.assertEqual((done.returncode, done.stdout), (0, "900"), done.stderr)
        self.assertRegex(done.stderr, r"(?m)^geiger: malloc is geiger \(/.*/libgeiger-malloc.so\)$")
        out = self.here / "out.geiger"
        for verb in (["table"], ["leaks"], ["stats"], ["lifetimes"], ["doctor"], ["diff", "--kind", "allocated", out]):
            read = subprocess.run([self.geiger, *verb, out], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((read.returncode, read.stderr), (0, ""), verb)
        for process in self.report("summary")["processes"]:
            self.assertIn("libgeiger-malloc", process["allocator"])

    def refused(self, allocator):
        """What an installation with this file as the allocator says."""
        root = self.here / "installed"
        libraries = root / harness.preload_library().parent.relative_to(harness.BUILD)
        libraries.mkdir(parents=True)
        (root / "bin").mkdir()
        shutil.copy(self.geiger, root / "bin")
        shutil.copy(harness.preload_library(), libraries)
        if allocator:
            shutil.copy(allocator, libraries / "libgeiger-malloc.so")
        done = self.run_it("touch", self.here / "ran", geiger=root / "bin" / "geiger")
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse((self.here / "ran").exists())
        return done.stderr

    def test_it_is_missing(self):
        self.assertRegex(self.refused(None), "^geiger: --malloc: cannot read /.*: install it "
                                             r"\(Debian: geiger-malloc\)$")

    def test_it_is_of_another_version(self):
        source = self.here / "other.c"
        source.write_text("void *malloc(unsigned long n) { return 0; }\nvoid free(void *p) {}\n")
        other = self.here / "other.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-w", "-o", other, source], check=True)
        self.assertRegex(self.refused(other), "is of another version of geiger: ")


# Says when its heap stops changing, and how long it waits to be read then.
PYTHON = """import os, sys, time
kept = [bytes(1000) for _ in range(40000)]
del kept[::2]
print(time.monotonic_ns(), flush=True)
time.sleep(float(sys.argv[1]))
os._exit(0)"""
SQL = """create table t(a, b); create index i on t(b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 200000)
insert into t select x, hex(zeroblob(x % 90)) || x from c; select count(*) from t;"""


class Census(WithGeiger):
    def census(self, *program):
        # A reading is dropped if the program changed its heap meanwhile.
        for _ in range(10):
            done = self.run_it(*program)
            self.assertEqual(done.returncode, 0, done.stderr)
            rss = self.report("rss")
            if "heap_census" in rss:
                return self.checked(rss)
        self.fail("no reading has a census")

    def checked(self, rss):
        """The bytes of each part."""
        census = rss["heap_census"]
        self.assertEqual(sum(part["bytes"] for part in census["parts"]), census["mapped_bytes"])
        for part in census["parts"]:
            self.assertLessEqual(part["resident_bytes"], part["bytes"], part)
        rows = {row["part"]: row["resident"] for row in rss["rows"]}
        resident = rows["live_heap"]["value"] + rows["allocator"]["value"]
        self.assertLessEqual(sum(part["resident_bytes"] for part in census["parts"]),
                             resident * 1.01 + harness.MIB)
        return {part["part"]: part["bytes"] for part in census["parts"]}

    def test_of_real_programs(self):
        for command in (["git", "-C", str(harness.ROOT), "log", "-p", "-n", "300"],
                        ["sqlite3", ":memory:", SQL]):
            with self.subTest(command[0]):
                harness.require(command[0])
                self.assertGreater(self.census(*command)["used_blocks"], 0)

    def stranded(self, interval, seed):
        """As estimated, and the free bytes beside live objects as counted in the same reading, which
        is of the heap when it did not change any more."""
        for hold in (1, 3, 10, 30):  # A busy machine reads late.
            done = self.run_it("/usr/bin/python3", "-c", PYTHON, str(hold), interval=interval,
                               options=["--fragmentation", f"--seed={seed}"])
            self.assertEqual(done.returncode, 0, done.stderr)
            start = self.report("summary")["processes"][0]["start_ns"]
            rss = self.report("rss", "--at", "last")
            if start + rss["after_ns"] < int(done.stdout) or "heap_census" not in rss:
                continue
            parts = self.checked(rss)
            total = self.report("table", "--kind", "stranded", "--at", "last")["total"]
            return total["bytes"], parts["free_blocks"] + parts["kept_blocks"]
        self.fail("no reading of the time after the program was done")

    def test_stranded_bytes_are_the_free_ones_beside_live_objects(self):
        estimate, counted = self.stranded(1, seed=1)
        self.assertGreater(counted, 18 * harness.MIB)
        # Each of some 20,000 live objects answers for a whole number of bytes: a standard deviation
        # of at most 71.
        self.assertLess(abs(estimate["value"] - counted), 300)

    # The four scores and their mean are within 5.3 standard deviations (false alarm 6e-7: hashes
    # differ from run to run, so no seed fixes the samples).
    def test_stranded_bytes_are_estimated_without_bias(self):
        scores = []
        for seed in range(1, 5):
            estimate, counted = self.stranded("4KiB", seed)
            scores.append((estimate["value"] - counted) / estimate["variance"] ** .5)
            self.assertLess(abs(scores[-1]), 5.3, (estimate, counted))
        self.assertLess(abs(statistics.mean(scores)), 5.3 / len(scores) ** .5, scores)


if __name__ == "__main__":
    unittest.main()
