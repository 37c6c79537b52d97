#!/usr/bin/env python3
"""Profiles that other profilers wrote of programs that know their heaps, read by geiger.

usage: foreign_profiles.py GEIGER

Estimates must lie within five standard errors of the truth: a false alarm is one in 1.7
million per number, of which there are some twenty. What is exact must be.
"""
import csv
import gzip
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
SOURCES = pathlib.Path(__file__).resolve().parent / "foreign"
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
SIGMAS = 5


def require(*needed):
    for name in needed:
        is_there = os.path.exists(name) if os.sep in str(name) else shutil.which(name)
        if not is_there:
            raise unittest.SkipTest(f"not installed: {name}")


class ForeignProfiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = pathlib.Path(tempfile.mkdtemp(prefix="geiger-foreign-"))
        cls.program = cls.here / "known_heap"
        cls.run_tool("g++", "-g", "-O1", "-std=c++20", SOURCES / "known_heap.cc", "-o", cls.program)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    @classmethod
    def run_tool(cls, *words, **environment):
        done = subprocess.run([str(word) for word in words], cwd=cls.here, timeout=300, check=False,
                              env={**os.environ, **environment}, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done}")
        return done.stdout

    def known_heap(self, *words, program=None, **environment):
        """Runs it; what it knows of itself."""
        output = self.run_tool(program or self.program, *words, **environment)
        return json.loads([line for line in output.splitlines() if line.startswith("{")][-1])

    def one(self, pattern):
        found = sorted(self.here.glob(pattern))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def geiger(self, *words):
        done = subprocess.run([GEIGER, *[str(word) for word in words]], cwd=self.here, timeout=120,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, (words, done))
        return done.stdout

    def rows(self, profile, kind):
        table = json.loads(self.geiger("table", profile, "--kind", kind, "--top", "0", "--json"))
        return {row["name"].replace("(anonymous namespace)::", "").split("(")[0]: row["self"]
                for row in table["rows"]}

    def assert_near(self, estimate, truth, what):
        error = math.sqrt(estimate["variance"])
        self.assertGreater(error, 0, what)
        self.assertLess(estimate["lo"], estimate["value"])
        self.assertGreater(estimate["hi"], estimate["value"])
        self.assertLess(abs(estimate["value"] - truth), SIGMAS * error, (what, estimate, truth))

    def test_jemalloc(self):
        jemalloc = LIBRARIES / "libjemalloc.so.2"
        require(jemalloc)
        known = self.known_heap(
            MALLOC_CONF="prof:true,lg_prof_sample:16,prof_final:true,prof_prefix:je",
            LD_PRELOAD=str(jemalloc))
        profile = self.one("je.*.heap")
        rows = self.rows(profile, "live")
        for name, truth in known.items():
            self.assert_near(rows[name]["bytes"], truth["usable"], name)
            self.assert_near(rows[name]["objects"], truth["count"], name)
        summary = self.geiger("summary", profile)
        self.assertIn("heap profile of jemalloc, one byte in 65536", summary)
        self.assertIn("size classes", summary)
        self.assertIn("not recorded", summary)
        # jeprof must print the same total, as far as its digits go.
        if shutil.which("jeprof"):
            text = self.run_tool("jeprof", "--show_bytes", "--text", self.program, profile)
            theirs = int(text.splitlines()[0].split()[1])
            total = json.loads(self.geiger("summary", profile, "--json"))["live_at_end"]["bytes"]
            self.assertAlmostEqual(total["value"] / theirs, 1, delta=0.001)

    def test_jemalloc_refuses_what_it_does_not_tell(self):
        jemalloc = LIBRARIES / "libjemalloc.so.2"
        require(jemalloc)
        self.known_heap(MALLOC_CONF="prof:true,prof_final:true,prof_prefix:untold",
                        LD_PRELOAD=str(jemalloc))
        profile = self.one("untold.*.heap")
        for words in (["--kind", "allocated"], ["--kind", "peak"], ["--kind", "overhead"]):
            done = subprocess.run([GEIGER, "table", profile, *words], capture_output=True,
                                  text=True, check=False)
            self.assertIn(done.returncode, (1, 2), done)
            self.assertIn("not available", done.stderr)

    def test_gperftools_heap_profile_is_exact(self):
        tcmalloc = LIBRARIES / "libtcmalloc.so.4"
        require(tcmalloc)
        known = self.known_heap(HEAPPROFILE=str(self.here / "gp"), LD_PRELOAD=str(tcmalloc),
                                HEAP_PROFILE_ALLOCATION_INTERVAL=str(1 << 40))
        profile = sorted(self.here.glob("gp.*.heap"))[-1]
        for kind, key in (("live", "live"), ("allocated", "allocated")):
            rows = self.rows(profile, kind)
            for name, truth in known.items():
                self.assertEqual(rows[name]["bytes"]["value"], truth[key], (kind, name))
                self.assertEqual(rows[name]["bytes"]["hi"], truth[key])

    def test_tcmalloc_heap_sample(self):
        require("/usr/include/gperftools/malloc_extension.h")
        program = self.here / "known_heap_tcmalloc"
        self.run_tool("g++", "-g", "-O1", "-std=c++20", "-DWITH_TCMALLOC",
                      SOURCES / "known_heap.cc", "-o", program, "-ltcmalloc")
        profile = self.here / "tc.heap"
        known = self.known_heap(profile, program=program, TCMALLOC_SAMPLE_PARAMETER="65536")
        rows = self.rows(profile, "live")
        for name, truth in known.items():
            self.assert_near(rows[name]["bytes"], truth["live"], name)

    def test_go(self):
        require("go")
        profile = self.here / "go.pb.gz"
        output = self.run_tool("go", "run", SOURCES / "known_heap.go", profile)
        known = json.loads(output)
        for kind, key in (("live", "live"), ("allocated", "allocated")):
            rows = self.rows(profile, kind)
            for name, truth in known.items():
                self.assert_near(rows[name]["bytes"], truth[key], (kind, name))
        # Its estimates are Go's own, but for what Go rounds down in each row.
        top = self.run_tool("go", "tool", "pprof", "-top", "-unit=B",
                            "-sample_index=inuse_space", profile)
        theirs = int(re.search(r"of (\d+)B total", top).group(1))
        total = json.loads(self.geiger("summary", profile, "--json"))["live_at_end"]["bytes"]
        self.assertAlmostEqual(total["value"] / theirs, 1, delta=0.001)

    def test_heaptrack_is_exact(self):
        require("heaptrack")
        output = self.run_tool("heaptrack", "-o", self.here / "ht", self.program)
        known = json.loads([line for line in output.splitlines() if line.startswith('{"')][-1])
        profile = self.one("ht.zst")
        for kind, key in (("live", "live"), ("allocated", "allocated")):
            rows = self.rows(profile, kind)
            for name, truth in known.items():
                self.assertEqual(rows[name]["bytes"]["value"], truth[key], (kind, name))
        self.geiger("lifetimes", profile)
        self.geiger("table", profile, "--kind", "peak")

    def test_raw_heaptrack_says_what_to_do(self):
        require("heaptrack")
        self.run_tool("heaptrack", "--raw", "-o", self.here / "raw", self.program)
        done = subprocess.run([GEIGER, "summary", self.one("raw*.zst")], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("heaptrack_interpret", done.stderr)

    def test_pprof_of_geiger_reads_back(self):
        self.run_tool(GEIGER, "run", "-q", "--interval", "16KiB", "--seed", "3", "-o", "own.geiger",
                      "--", self.program)
        self.geiger("export", "pprof", "own.geiger", "-o", "own.pb.gz")
        for kind in ("live", "allocated"):
            ours = json.loads(self.geiger("table", "own.geiger", "--kind", kind, "--json"))
            again = json.loads(self.geiger("table", "own.pb.gz", "--kind", kind, "--json"))
            for key in ("value", "lo", "hi"):
                self.assertAlmostEqual(again["total"]["bytes"][key] / ours["total"]["bytes"][key],
                                       1, delta=0.01, msg=(kind, key))

    def test_heap_text_of_geiger_reads_back(self):
        """Stack by stack, objects that are recorded with certainty among them."""
        self.run_tool(GEIGER, "run", "-q", "--interval", "4KiB", "--seed", "3", "-o", "ht.geiger",
                      "--", self.program)
        self.geiger("export", "heap_v2", "ht.geiger", "-o", "ht.heap")
        for kind in ("live", "allocated"):
            ours, again = [self.by_stack(name, kind) for name in ("ht.geiger", "ht.heap")]
            self.assertEqual(ours.keys(), again.keys(), kind)
            for stack, (space, _) in ours.items():
                self.assertAlmostEqual(again[stack][0], space, delta=2 + space / 8000,
                                       msg=(kind, stack))
            # Bytes that stand without objects are read as one.
            objects = [sum(row[1] for row in rows.values()) for rows in (ours, again)]
            self.assertAlmostEqual(*objects, delta=len(ours) + objects[0] / 8000)

    def by_stack(self, profile, kind):
        """Bytes and objects; stacks that read alike together."""
        sums = {}
        for row in csv.DictReader(io.StringIO(self.geiger("export", "csv", profile, "--kind",
                                                          kind))):
            space, objects = sums.get(row["stack"], (0, 0))
            sums[row["stack"]] = space + float(row["bytes"]), objects + float(row["objects"])
        return sums

    def test_every_reading_verb_takes_them(self):
        profile = self.here / "verbs.heap"
        profile.write_text("heap profile: 2: 300 [ 4: 700] @ heapprofile\n"
                           " 2: 300 [ 4: 700] @ 0x1 0x2\n")
        for words in (["summary"], ["table"], ["tree"], ["stats"], ["table", "--by", "size"],
                      ["export", "csv"], ["export", "speedscope"], ["export", "dhat"],
                      ["export", "folded"], ["export", "heaptrack"]):
            self.geiger(*words, profile)
        self.geiger("diff", profile, profile)

    def refused(self, name, content, *words):
        path = self.here / name
        path.write_bytes(content)
        done = subprocess.run([GEIGER, *(words or ["summary"]), name], cwd=self.here, timeout=60,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"geiger: {name}: "), lines)
        return lines[0]

    def test_damage_is_one_line_with_the_place(self):
        text = b"heap_v2/9\n@ 0x1\n  t*: 1: 9 [0: 0]\n@ 0x2\n  t*: 1: nine [0: 0]\n"
        self.assertIn("line 5", self.refused("a.heap", text))
        self.assertIn("line 2", self.refused("a.ht", b"v 10400 3\n+ 0\n"))
        whole = gzip.compress(text.replace(b"nine", b"9") * 50)
        self.assertIn("offset", self.refused("cut.heap.gz", whole[:-20]))
        broken = bytearray(whole)
        broken[len(broken) // 2] ^= 0xff
        self.refused("broken.heap.gz", bytes(broken))
        self.assertIn("4 MiB", self.refused("bomb.heap.gz",
                                            gzip.compress(b"heap_v2/9\n" + bytes(64 << 20))))
        self.refused("no.pb", b"\x0a\x04\x08\x01\x10\x02\x12\x7f\x0a")
        self.assertIn("needs a recording made by geiger",
                      self.refused("doctor.heap", b"heap_v2/9\n@ 0x1\n  t*: 1: 9 [0: 0]\n",
                                   "rss"))

    def test_traces_and_others_do_not_mix(self):
        profile = self.here / "mixed.heap"
        profile.write_text("heap_v2/1\n")
        self.run_tool(GEIGER, "run", "-q", "-o", "mixed.geiger", "--", "true")
        done = subprocess.run([GEIGER, "summary", "mixed.geiger", profile], cwd=self.here,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("cannot be read together", done.stderr)


if __name__ == "__main__":
    unittest.main()
