"""Windows, instants, groupings and filters of all verbs, on a program that knows its bytes.

The program (tests/hosts/phases.cc) is recorded twice: with interval 1, where every answer
must be exact to the byte, and with 4 KiB and a fixed seed, where the interval must hold it.
"""
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
PHASES = os.path.abspath(sys.argv.pop(1))


def geiger(*words, cwd):
    return subprocess.run([GEIGER, *words], cwd=cwd, capture_output=True, timeout=300,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})


class SelectionVerbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-selection-")
        for name, interval in (("exact", "1"), ("sampled", "4KiB")):
            run = geiger("run", "-q", "--interval", interval, "--seed", "3", "-o",
                         f"{name}.geiger", "--", PHASES, cwd=cls.here)
            assert run.returncode == 0, run
            cls.truth = json.loads(run.stdout)
        bare = subprocess.run([PHASES], capture_output=True, check=True)
        assert json.loads(bare.stdout) == cls.truth

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def geiger(self, *words, run="exact"):
        done = geiger(*words, f"{run}.geiger", cwd=self.here)
        self.assertEqual(done.returncode, 0, done)
        self.assertNotRegex(done.stdout.decode(errors="replace"), r"\b(nan|inf)\b")
        return done.stdout.decode(errors="replace")

    def json(self, *words, run="exact"):
        return json.loads(self.geiger(*words, "--json", run=run))

    def table(self, *words, run="exact"):
        return self.json("table", "--top", "0", *words, run=run)

    def rows(self, *words, run="exact"):
        return {row["name"]: row for row in self.table(*words, run=run)["rows"]}

    def assert_bytes(self, expected, *words):
        """Exact at interval 1, within the interval when sampled."""
        self.assertEqual(self.table(*words)["total"]["bytes"]["value"], expected, words)
        sampled = self.table(*words, run="sampled")["total"]["bytes"]
        self.assertLessEqual(sampled["lo"], expected, words)
        self.assertLessEqual(expected, sampled["hi"], words)

    def refused(self, *words, run="exact", verb="table"):
        done = geiger(verb, *words, f"{run}.geiger", cwd=self.here)
        self.assertEqual(done.returncode, 2, done)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines[0].startswith("geiger: "), lines)
        self.assertEqual(len(lines), 2, lines)  # The second names the help.
        return lines[0]

    def test_labels(self):
        self.assert_bytes(self.truth["load"], "--label", "load")
        self.assert_bytes(self.truth["tenant"], "--label", "tenant=acme")
        self.assert_bytes(2 * self.truth["tenant"], "--label", "request")
        self.assert_bytes(2 * self.truth["tenant"], "--label", "*tenant=*")
        self.assert_bytes(self.truth["tenant"], "--label", "request / tenant=zeta")

    def test_windows_between_marks(self):
        load = ("--label", "load")
        self.assert_bytes(self.truth["load"], "--from", "begin", "--to", "mark:loaded", *load)
        self.assert_bytes(0, "--from", "loaded", *load)
        self.assert_bytes(0, "--to", "begin", *load)
        acme = ("--label", "tenant=acme")
        half = self.truth["tenant"] // 2
        self.assert_bytes(half, "--from", "loaded", "--to", "mark:step#1", *acme)
        self.assert_bytes(half, "--from", "step#1", "--to", "step#2", *acme)
        self.assert_bytes(self.truth["load"], "--from", "start", "--to", "end", *load)
        self.assert_bytes(self.truth["load"], "--from", "0%", "--to", "100%", *load)

    def test_windows_add_up(self):
        whole = self.table()["total"]["bytes"]["value"]
        before = self.table("--to", "loaded")["total"]["bytes"]["value"]
        after = self.table("--from", "loaded")["total"]["bytes"]["value"]
        self.assertEqual(before + after, whole)

    def test_live_at_instants(self):
        load = ("--label", "load")
        self.assert_bytes(0, "--at", "begin", *load)
        self.assert_bytes(self.truth["load"], "--kind", "live", "--at", "loaded", *load)
        self.assert_bytes(self.truth["load"], "--kind", "live", *load)
        self.assert_bytes(0, "--at", "step#2", "--label", "request")
        self.assertEqual(self.table("--at", "peak")["kind"], "peak")
        self.assertEqual(self.table("--at", "end"), self.table("--kind", "live"))

    def test_threads(self):
        self.assert_bytes(self.truth["tenant"], "--thread", "io-1", "--label", "request")
        self.assert_bytes(2 * self.truth["tenant"], "--thread", "io-*", "--label", "request")
        self.assert_bytes(0, "--thread", "phases", "--label", "request")
        names = set(self.rows("--by", "thread"))
        self.assertLessEqual({"io-1", "io-2"}, names)
        by_name = self.rows("--by", "thread")["io-1"]
        self.assertEqual(by_name["detail"], "2 threads")
        self.assertEqual(len([name for name in self.rows("--by", "tid")
                              if name.startswith("io-")]), 4)

    def test_types(self):
        self.assert_bytes(self.truth["load"], "--type", "Record")
        self.assert_bytes(self.truth["orders"], "--type", "*Order")
        rows = self.rows("--by", "type")
        self.assertEqual(rows["Record"]["self"]["bytes"]["value"], self.truth["load"])
        self.assertIn("[unknown]", rows)

    def test_sizes(self):
        self.assert_bytes(self.truth["blocks"], "--size", "200", "--label", "request")
        self.assert_bytes(self.truth["orders"], "--size", "6KiB..7KiB", "--label", "request")
        self.assert_bytes(self.truth["load"], "--size", "2KiB..4095", "--label", "load")
        self.assert_bytes(self.truth["blocks"], "--size", "..200", "--label", "request")
        table = self.table("--by", "size", "--sort", "natural", "--label", "request")
        self.assertEqual([row["name"] for row in table["rows"]], ["128-255 B", "4-8 KiB"])

    def test_labels_total_and_self(self):
        rows = self.rows("--by", "label")
        self.assertEqual(rows["request"]["self"]["samples"], 0)
        self.assertEqual(rows["request"]["total"]["bytes"]["value"], 2 * self.truth["tenant"])
        inner = rows["request / tenant=acme"]
        self.assertEqual(inner["self"]["bytes"]["value"], self.truth["tenant"])

    def test_lifetimes(self):
        rows = self.rows("--by", "lifetime", "--label", "load")
        self.assertEqual(list(rows), ["alive at end"])
        rows = self.rows("--by", "lifetime", "--label", "request")
        self.assertNotIn("alive at end", rows)
        total = sum(row["self"]["bytes"]["value"] for row in rows.values())
        self.assertEqual(total, 2 * self.truth["tenant"])

    def test_heaps(self):
        self.assert_bytes(self.truth["pool"], "--heap", "pool")
        self.assert_bytes(self.truth["pool"] // 2, "--heap", "pool", "--kind", "live")
        table = self.table("--by", "heap")
        rows = {row["name"]: row for row in table["rows"]}
        self.assertEqual(set(rows), {"[process]", "pool"})
        self.assertEqual(rows["pool"]["self"]["bytes"]["value"], self.truth["pool"])
        self.assertEqual(table["total"]["bytes"], self.table()["total"]["bytes"])
        self.assertNotIn("share", rows["pool"])
        # What is drawn of the pool is no part of the process's own totals.
        self.assertNotIn("pool", self.geiger("table", "--by", "function"))

    def test_functions(self):
        self.assert_bytes(self.truth["orders"], "--function", "*serve_orders*")
        self.assert_bytes(0, "--function", "*serve_orders*", "--label", "load")

    def test_focus_and_ignore_part_the_whole(self):
        whole = self.table()["total"]["bytes"]["value"]
        self.assert_bytes(self.truth["orders"], "--focus", "serve_ord[e]rs")
        self.assert_bytes(whole - self.truth["orders"], "--ignore", "serve_ord[e]rs")
        self.assertIn("ignore serve_orders", self.geiger("tree", "--ignore", "serve_orders"))
        for verb in ("summary", "lifetimes", "stats"):
            self.geiger(verb, "--focus", "serve_orders")

    def test_hiding_changes_no_total(self):
        """Whatever is left out, rows add up to the same bytes."""
        whole = self.table()["total"]
        for words in ([], ["--plumbing"], ["--hide", "."], ["--hide", "serve|load"]):
            for by in ("function", "line", "stack"):
                table = self.table("--by", by, *words)
                self.assertEqual(table["total"], whole, words)
                rows = sum(row["self"]["bytes"]["value"] for row in table["rows"])
                self.assertEqual(rows, whole["bytes"]["value"], (words, by))
            nodes = self.json("tree", *words)["nodes"]
            self.assertEqual(nodes[0]["total"], whole, words)

    def test_own_code_is_blamed(self):
        orders = next(row for name, row in self.rows().items() if "serve_orders" in name)
        self.assertEqual(orders["self"]["bytes"]["value"], self.truth["orders"])
        self.assertFalse([name for name in self.rows() if name.startswith("std::")])
        self.assertTrue([name for name in self.rows("--plumbing") if name.startswith("std::")])
        lines = self.table("--by", "line", "--focus", "serve_orders")["rows"]
        self.assertTrue(lines[0]["file"].endswith("phases.cc"), lines[0])
        self.assertGreater(lines[0]["line"], 0)

    def test_rules_of_the_project(self):
        rules = os.path.join(self.here, "our.rules")
        with open(rules, "w", encoding="ascii") as file:
            file.write("# handed on\nplumbing serve_orders\n")
        self.assertFalse([n for n in self.rows("--rules", rules) if "serve_orders" in n])
        for text, said in (("mine f\n", "our.rules:1: invalid role 'mine'"),
                           ("\nown (\n", "our.rules:2: '('")):
            with open(rules, "w", encoding="ascii") as file:
                file.write(text)
            done = geiger("table", "--rules", rules, "exact.geiger", cwd=self.here)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(said, done.stderr.decode())
        done = geiger("table", "--focus", "(", "exact.geiger", cwd=self.here)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--focus '('", done.stderr.decode())

    def test_filters_stand_in_the_heading(self):
        head = self.geiger("table", "--thread", "io-1", "--label", "tenant=acme", "--from",
                           "loaded").splitlines()[0]
        self.assertIn("Allocated from mark 'loaded' (", head)
        self.assertIn("only thread io-1, label tenant=acme", head)
        self.assertIn("Live at mark 'loaded' (", self.geiger("tree", "--at", "loaded"))
        selection = self.table("--thread", "io-1", "--from", "loaded")["selection"]
        self.assertEqual(selection["only"], [{"what": "thread", "which": "io-1"}])
        self.assertGreater(selection["from_ns"], 0)
        self.assertNotIn("selection", self.table())

    def test_a_part_is_not_calibrated(self):
        self.assertIn("exact_bytes", self.table(run="sampled"))
        for part in (("--from", "begin"), ("--label", "*"), ("--heap", "pool")):
            table = self.table(*part, run="sampled")
            self.assertNotIn("exact_bytes", table)
            self.assertNotIn("calibrated", json.dumps(table))
        summary = self.json("summary", "--from", "loaded", run="sampled")
        self.assertNotIn("exact", summary)
        self.assertNotIn("self_check", summary)
        self.assertNotIn("exact total", self.geiger("summary", "--from", "loaded", run="sampled"))

    def test_every_verb_takes_a_part(self):
        part = ("--from", "loaded", "--to", "step#2", "--label", "request", "--size", "1..1MiB")
        expected = 2 * self.truth["tenant"]
        self.assertEqual(self.json("tree", *part)["nodes"][0]["total"]["bytes"]["value"], expected)
        self.assertEqual(self.json("summary", *part)["allocated"]["bytes"]["value"], expected)
        self.assertEqual(self.json("summary", *part)["live_at_end"]["bytes"]["value"], 0)
        self.assertEqual(self.json("stats", *part)["total"]["bytes"]["value"], expected)
        folded = self.geiger("export", "folded", *part)
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), expected)
        geiger("export", "sqlite", *part, "-f", "-o", "part.db", "exact.geiger", cwd=self.here)
        with sqlite3.connect(os.path.join(self.here, "part.db")) as database:
            total, = database.execute("SELECT SUM(size * allocated) FROM counts").fetchone()
        self.assertEqual(total, expected)

    def test_lifetimes_take_windows_and_filters(self):
        load = self.json("lifetimes", "--to", "loaded", "--label", "load", "--by", "none")
        self.assertEqual(load["whole"]["allocated"]["bytes"]["value"], self.truth["load"])
        self.assertEqual(load["selection"]["only"], [{"what": "label", "which": "load"}])
        self.refused("--to", "peak", verb="lifetimes", run="sampled")

    def test_instants_of_snapshots_have_names_of_their_own(self):
        self.assertIn("maximum or last", self.refused("--kind", "resident", "--at", "50%"))
        self.refused("--kind", "resident", "--from", "50%")
        overhead = ("--kind", "overhead", "--label", "request")
        self.assertGreater(self.table(*overhead, "--from", "loaded")["total"]["bytes"]["value"], 0)
        self.assertEqual(self.table(*overhead, "--to", "loaded")["total"]["bytes"]["value"], 0)

    def test_peak_within_a_window(self):
        table = self.table("--kind", "peak", "--from", "loaded", "--to", "step#1", "--label",
                           "load")
        self.assertEqual(table["total"]["bytes"]["value"], self.truth["load"])

    def test_windows_that_the_samples_bound(self):
        table = self.table("--to", "peak", run="sampled")
        self.assertTrue(table["is_split"])
        self.assertTrue(table["selection"]["is_split"])
        self.assertIn("quarter of the samples", self.geiger("table", "--to", "peak", run="sampled"))

    def test_pprof_carries_labels(self):
        target = os.path.join(self.here, "labels.pb.gz")
        self.geiger("export", "pprof", "-f", "-o", target, "--from", "begin")
        with gzip.open(target) as file:
            text = file.read()
        for word in (b"request / tenant=acme", b"tenant=zeta", b"Record", b"io-1", b"thread",
                     b"label", b"type", b"bytes", b"allocated from mark 'begin'"):
            self.assertIn(word, text)
        words = ("table", "--json", "--top", "0", "--by", "label", target)
        known = self.rows("--by", "label", "--from", "begin")
        for row in json.loads(geiger(*words, cwd=self.here).stdout)["rows"]:  # Read back.
            self.assertAlmostEqual(row["total"]["bytes"]["value"],
                                   known.pop(row["name"])["total"]["bytes"]["value"], delta=2)
        self.assertLessEqual(set(known), {"[no label]"})
        if shutil.which("go"):
            tool = ["go", "tool", "pprof", "-tags", "-sample_index=alloc_space", target]
            tags = subprocess.check_output(tool, text=True, env={**os.environ, "HOME": self.here})
            self.assertRegex(tags, r"(?s)label: .*/ tenant=zeta\n.*tenant: Total.*\): acme\n")

    def test_marks(self):
        marks = self.json("marks")["marks"]
        self.assertEqual([(mark["name"], mark["number"], mark["of_name"]) for mark in marks],
                         [("begin", 1, 1), ("loaded", 1, 1), ("step", 1, 2), ("step", 2, 2),
                          ("pooled", 1, 1)])
        loaded = marks[1]
        self.assertGreaterEqual(loaded["allocated_since"]["bytes"]["value"], self.truth["load"])
        self.assertGreaterEqual(loaded["live"]["bytes"]["value"], self.truth["load"])
        text = self.geiger("marks")
        self.assertIn("step#2", text)
        self.assertIn("loaded", text)

    def test_diff_and_check(self):
        done = geiger("diff", "--label", "load", "--from", "begin", "exact.geiger", "exact.geiger",
                      "--json", cwd=self.here)
        document = json.loads(done.stdout)
        self.assertNotIn("exact", document)
        self.assertEqual(document["selection"]["when"], "allocated from begin to end")
        limit = ("check", "--label", "load", "--max-bytes")
        for most, code in ((str(self.truth["load"] + 1), 0), (str(self.truth["load"] - 1), 3)):
            done = geiger(*limit, most, "exact.geiger", cwd=self.here)
            self.assertEqual(done.returncode, code, done)

    def test_instants_that_are_none(self):
        self.assertIn("did you mean 'loaded'", self.refused("--from", "loded"))
        self.assertIn("there are: begin, loaded, step, pooled",
                      self.refused("--from", "mark:nowhere near any"))
        self.assertIn("mark:step#1 to mark:step#2", self.refused("--at", "step"))
        self.assertIn("mark:step#1 to mark:step#2", self.refused("--at", "step#3"))
        self.assertIn("after the end of the recording", self.refused("--from", "2h"))
        self.assertIn("no unit", self.refused("--from", "0"))
        self.assertIn("not a duration", self.refused("--from", "1parsec"))
        self.assertIn("0% to 100%", self.refused("--at", "101%"))
        self.assertIn("0% to 100%", self.refused("--at", "-1%"))
        self.assertIn("0% to 100%", self.refused("--at", "nan%"))
        self.assertIn("window is empty", self.refused("--from", "step#2", "--to", "loaded"))
        self.assertIn("window is empty", self.refused("--from", "loaded", "--to", "loaded"))
        self.assertIn("window is empty", self.refused("--from", "end"))
        self.assertIn("--kind live", self.refused("--at", "1%", "--kind", "allocated"))
        self.assertIn("--at WHEN", self.refused("--from", "1%", "--kind", "live"))
        self.assertIn("cannot be combined", self.refused("--at", "1%", "--from", "1%"))

    def test_filters_that_are_none(self):
        self.assertIn("--pid", self.refused("--pid", "1"))
        self.assertIn("did you mean 'pool'", self.refused("--heap", "pol"))
        self.assertIn("is empty", self.refused("--size", "2KiB..1KiB"))
        self.assertIn("not a size", self.refused("--size", "big"))
        self.assertIn("MIN..MAX", self.refused("--size", ".."))
        # Allocations without samples may have been there all the same.
        done = geiger("table", "--thread", "io-9", "sampled.geiger", cwd=self.here)
        self.assertEqual(done.returncode, 0)
        self.assertIn("no thread 'io-9' was seen; did you mean 'io-1'?", done.stderr.decode())
        self.assertIn("below the limit", done.stdout.decode())
        self.assertRegex(done.stdout.decode().splitlines()[0], r": < .* from 0 samples")


RUST = """
struct Node { v: [u64; 16], next: Option<Box<Node>> }
fn chain(n: u64) -> Option<Box<Node>> {
    (0..n).fold(None, |next, i| Some(Box::new(Node { v: [i; 16], next })))
}
fn main() {
    let (a, b) = (chain(1000), std::sync::Arc::new([7u16; 500]));
    println!("{} {}", a.map_or(0, |n| n.v[3] + n.next.is_some() as u64), b.len());
}
"""


@unittest.skipUnless(shutil.which("rustc"), "no rustc here")
class RustTypes(unittest.TestCase):
    """Sizes of a Rust program by type: 1,000 nodes of 136 bytes, one shared array."""

    def test_what_inlined_functions_allocate(self):
        with tempfile.TemporaryDirectory(prefix="geiger-rust-") as here:
            with open(os.path.join(here, "chain.rs"), "w", encoding="ascii") as source:
                source.write(RUST)
            subprocess.run(["rustc", "-g", "-O", "chain.rs"], cwd=here, check=True,
                           capture_output=True)
            run = geiger("run", "-q", "--interval", "1", "-o", "t.geiger", "--", "./chain",
                         cwd=here)
            self.assertEqual((run.returncode, run.stdout), (0, b"1000 500\n"), run)
            table = geiger("table", "--by", "type", "--top", "0", "--json", "t.geiger", cwd=here)
            rows = {row["name"]: row["total"]["bytes"]["value"]
                    for row in json.loads(table.stdout)["rows"]}
            self.assertEqual(rows["chain::Node"], 1000 * 136, rows)
            self.assertEqual(rows["[u16; 500]"], 2 * 8 + 500 * 2, rows)
            functions = geiger("export", "folded", "t.geiger", cwd=here).stdout.decode()
            self.assertIn("alloc::boxed::Box<chain::Node>::new", functions)
            self.assertNotIn(";alloc::alloc::alloc ", functions)


if __name__ == "__main__":
    unittest.main()
