"""The verbs that read a run, over a real one, checked with independent tools."""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from recorded_program import RecordedProgram, geiger


class ReadingVerbs(RecordedProgram):
    def json(self, *words):
        document = json.loads(self.geiger(*words, "--json"))
        self.assertEqual(document["schema_version"], 1)
        return document

    def error(self, *words, code=1):
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, code, done)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines and all(line.startswith("geiger: ") for line in lines), lines)
        return lines[0]

    def test_the_newest_run_is_the_default(self):
        self.assertEqual(self.geiger("summary"), self.geiger("summary", "a.geiger"))

    def test_summary(self):
        summary = self.json("summary")
        self.assertGreater(summary["samples"], 1000)
        self.assertLess(abs(summary["exact"]["z"]), 6)
        self.assertEqual(summary["processes"][0]["ending"], "exited")
        self.assertIn("exact total", self.geiger("summary"))

    def test_tables_agree_with_the_summary(self):
        total = self.json("summary")["allocated"]["bytes"]
        for by in ("function", "stack", "module"):
            table = self.json("table", "--by", by, "--top", "0")
            self.assertEqual(table["total"]["bytes"], total)
            own = sum(row["self"]["bytes"]["value"] for row in table["rows"])
            self.assertAlmostEqual(own, total["value"], delta=1e-6 * own)

    def test_tables_are_calibrated_to_the_exact_total(self):
        exact = self.json("summary")["exact"]
        self.assertEqual(exact["unsettled_bound"], 0)
        for view in (("table", "--by", "stack"), ("tree",)):
            document = self.json(*view)
            self.assertEqual(document["exact_bytes"], exact["bytes"])
            self.assertIn(" exactly from ", self.geiger(*view).splitlines()[0])
        rows = self.json("table", "--by", "stack", "--top", "0")["rows"]
        own = [row["self"].get("calibrated", row["self"]["bytes"])["value"] for row in rows]
        # Rows of fewer than five samples keep the estimate of their own.
        self.assertAlmostEqual(sum(own), exact["bytes"], delta=0.01 * exact["bytes"])
        self.assertEqual(own, sorted(own, reverse=True))
        for row in rows:
            calibrated = row["self"].get("calibrated")
            self.assertEqual(calibrated is not None, row["self"]["bytes"]["samples"] >= 5)
            if calibrated:
                self.assertLess(calibrated["variance"], row["self"]["bytes"]["variance"])
        self.assertNotIn("exact_bytes", self.json("table", "--kind", "live"))

    def test_every_option_of_the_table(self):
        for kind in ("allocated", "live", "peak"):
            for sort in ("self", "total", "samples", "name"):
                self.geiger("table", "--kind", kind, "--sort", sort, "--top", "3")

    def test_levels(self):
        narrow = self.json("summary", "--ci", "50%")["allocated"]["bytes"]
        wide = self.json("summary", "--ci", "0.999")["allocated"]["bytes"]
        self.assertLess(wide["lo"], narrow["lo"])
        self.assertGreater(wide["hi"], narrow["hi"])
        self.error_usage("summary", "--ci", "100%")

    def error_usage(self, *words):
        self.assertEqual(geiger(*words, cwd=self.here).returncode, 2)

    def test_tree(self):
        tree = self.json("tree", "--min-percent", "0")
        for node in tree["nodes"][1:]:
            self.assertLess(node["parent"], node["id"])
        self.assertIn("main", self.geiger("tree", "--inverted", "--kind", "peak"))

    def test_stats(self):
        stats = self.json("stats")
        total = stats["total"]["samples"]
        for group in ("sizes", "entry_points", "lifetimes", "depths"):
            self.assertEqual(sum(one["samples"] for one in stats[group]), total, group)

    def test_sql_views_need_no_run(self):
        views = self.geiger("export", "sql", "--views")
        self.geiger("export", "sql", "--views", "-o", "views.sql")
        with open(os.path.join(self.here, "views.sql"), encoding="utf-8") as file:
            self.assertEqual(file.read(), views)
        self.assertIn("exists", self.error("export", "sql", "--views", "-o", "views.sql"))

    def test_export_names_an_option_that_no_format_has(self):
        for word, said in (("--format", b"unknown option '--format'"), ("--kind", b"choose from")):
            done = geiger("export", word, "pprof", cwd=self.here)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)

    def test_sql_of_unreadable_runs(self):
        for name in ("sqlite", "sql"):
            done = geiger("export", name, "/nowhere", cwd=self.here)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_colours_only_when_asked(self):
        self.assertNotIn("\x1b", self.geiger("table"))
        self.assertIn("\x1b[", self.geiger("table", CLICOLOR_FORCE="1"))
        self.assertNotIn("\x1b", self.geiger("table", CLICOLOR_FORCE="1", NO_COLOR="1"))

    def test_plain_locale_gets_ascii(self):
        self.assertIn("+-", self.geiger("summary", LC_ALL="C"))

    def test_folded_adds_up(self):
        lines = self.geiger("export", "folded").splitlines()
        total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        self.assertEqual(total, round(self.json("summary")["allocated"]["bytes"]["value"]))

    def folded(self, *words):
        """Bytes by stack, each as its functions from the root."""
        bytes_of = collections.Counter()
        for line in self.geiger("export", "folded", "--names", "full", *words).splitlines():
            stack, number = line.rsplit(" ", 1)
            bytes_of[tuple(stack.split(";"))] += int(number)
        return bytes_of

    def test_exports_leave_out_frames_and_no_bytes(self):
        every = self.folded()
        functions = {name for stack in every for name in stack}
        # One function with two names in the symbol table.
        self.assertTrue({"__libc_start_main_impl", "__libc_start_main"} & functions)
        own = self.folded("--no-plumbing")
        self.assertFalse([stack for stack in own
                          if any(name.startswith("__libc_start_main") for name in stack)])
        hidden = self.folded("--hide", "^main$")
        self.assertEqual({name for stack in hidden for name in stack}, functions - {"main"})
        rules = os.path.join(self.here, "export.rules")
        with open(rules, "w", encoding="utf-8") as file:
            file.write("hide ^main$\n")
        self.assertEqual(self.folded("--rules", rules), hidden)
        for words in (own, hidden):
            self.assertEqual(sum(words.values()), sum(every.values()))
        for form in ("pprof", "speedscope", "firefox", "dhat", "heaptrack"):
            path = os.path.join(self.here, form)
            for words, is_there in (((), True), (("--hide", "^main$"), False)):
                self.geiger("export", form, "-f", "-o", path, *words)
                with open(path, "rb") as file:
                    data = file.read()
                data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
                # In protocol buffers a string is followed by the next one's tag, "2".
                found = re.search(rb"\bmain(2|\b)(?![.:/-])", data)
                self.assertEqual(found is not None, is_there, form)
        self.error_usage("export", "sql", "--hide", "main")
        self.error_usage("export", "folded", "--hide", "(")

    def test_pprof_opens_with_the_same_totals(self):
        if not shutil.which("go"):
            self.skipTest("no go tool pprof")
        self.geiger("export", "pprof", "-f", "-o", "out.pb.gz")
        summary = self.json("summary")
        raw = self.pprof("-raw")
        self.assertIn("PeriodType: space bytes", raw)
        self.assertIn("Period: 1024", raw)
        columns = re.search(r"Samples:\n(.*)\n", raw).group(1).split()
        sums = self.column_sums(raw, len(columns))
        self.assertEqual(columns[:4], ["alloc_objects/count", "alloc_space/bytes",
                                       "inuse_objects/count", "inuse_space/bytes[dflt]"])
        for name, column in (("allocated", 0), ("live_at_end", 2)):
            for offset, quantity in enumerate(("objects", "bytes")):
                estimate = summary[name][quantity]
                self.assertEqual(sums[column + offset], round(estimate["value"]))
                # Variances are halves to even in one place and up in the other.
                self.assertAlmostEqual(sums[column + offset + 4], estimate["variance"],
                                       delta=1 + 1e-9 * estimate["variance"])
        top = self.pprof("-top", "-sample_index=alloc_space")
        self.assertIn("95 % interval", top)
        self.assertIn("Type: alloc_space", top)

    def test_pprof_is_sound_protobuf(self):
        if not shutil.which("protoc"):
            self.skipTest("no protoc")
        self.geiger("export", "pprof", "-f", "-o", "raw.pb.gz")
        with open(os.path.join(self.here, "raw.pb.gz"), "rb") as packed:
            raw = gzip.decompress(packed.read())
        text = subprocess.run(["protoc", "--decode_raw"], input=raw, capture_output=True,
                              check=True)
        self.assertEqual(text.stdout.count(b"\n1 {") + text.stdout.startswith(b"1 {"), 10)

    def pprof(self, *words):
        env = {**os.environ, "HOME": self.here, "PPROF_TMPDIR": self.here}
        return subprocess.run(["go", "tool", "pprof", *words, "out.pb.gz"], cwd=self.here, env=env,
                              capture_output=True, check=True, timeout=300).stdout.decode()

    @staticmethod
    def column_sums(raw, columns):
        sums = [0] * columns
        for line in raw.split("Samples:\n", 1)[1].split("Locations\n", 1)[0].splitlines():
            values = re.match(r"\s*(-?\d+(?:\s+-?\d+)*):", line)
            if values:
                sums = [a + int(b) for a, b in zip(sums, values.group(1).split())]
        return sums

    def test_outputs_are_not_overwritten(self):
        self.geiger("export", "folded", "-o", "once.txt")
        self.assertIn("exists", self.error("export", "folded", "-o", "once.txt"))
        self.geiger("export", "folded", "-f", "-o", "once.txt")

    def test_outputs_have_the_permissions_of_the_umask(self):
        before = os.umask(0o027)
        try:
            self.geiger("export", "folded", "-o", "mine.txt")
        finally:
            os.umask(before)
        path = os.path.join(self.here, "mine.txt")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        os.chmod(path, 0o600)
        self.geiger("export", "folded", "-f", "-o", "mine.txt")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual([f for f in os.listdir(self.here) if f.startswith("once")], ["once.txt"])

    def test_outputs_that_cannot_be(self):
        self.assertIn("No such file", self.error("export", "folded", "-o", "no/such/dir/x"))
        self.assertIn("directory", self.error("export", "folded", "-o", "."))
        self.assertIn("No space left", self.error("export", "folded", "-o", "/dev/full"))
        self.geiger("export", "folded", "-o", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))

    def test_damaged_traces_are_read_as_far_as_they_go(self):
        with open(os.path.join(self.here, "a.geiger"), "rb") as trace:
            whole = trace.read()
        half = os.path.join(self.here, "half.trace")
        with open(half, "wb") as trace:
            trace.write(whole[:len(whole) // 3 // 8 * 8])
        summary = geiger("summary", half, "--json", cwd=self.here)
        self.assertEqual(summary.returncode, 1)
        self.assertGreater(json.loads(summary.stdout)["samples"], 100)
        self.assertIn("half.trace", self.error("table", half))
        for name, content in (("empty.trace", b""), ("foreign.trace", b"#!/bin/sh\n" * 2000)):
            path = os.path.join(self.here, name)
            with open(path, "wb") as trace:
                trace.write(content)
            self.assertIn(name, self.error("summary", path))

    def test_runs_that_are_not_there(self):
        self.assertIn("nowhere", self.error("table", "nowhere"))
        with tempfile.TemporaryDirectory() as empty:
            done = geiger("table", cwd=empty)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"no run found here", done.stderr)

    def test_a_file_that_is_not_written_yet(self):
        os.mkdir(os.path.join(self.here, "later.geiger.parts"))
        said = self.error("leaks", "later.geiger")
        self.assertIn("later.geiger is written when the program ends", said)
        self.assertIn("its traces are in later.geiger.parts", said)

    def test_options_without_a_value_are_named(self):
        for verb, option in (("run", "--malloc="), ("run", "--interval="), ("table", "--kind=")):
            done = geiger(verb, option, *(["--", "true"] if verb == "run" else []), cwd=self.here)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{option[:-1]}: no value given".encode(), done.stderr)
        # Those of a program are its own business.
        with tempfile.TemporaryDirectory() as here:
            self.assertEqual(geiger("run", "-q", "--", "true", "--malloc=", cwd=here).returncode, 0)

    def test_help_has_no_two_empty_lines(self):
        for verb in ("run", "compare-malloc", "table"):
            self.assertNotIn(b"\n\n\n", geiger(verb, "--help", cwd=self.here).stdout, verb)

    def test_symbolize_keeps_names_with_the_trace(self):
        shutil.copy(os.path.join(self.here, "a.geiger"), os.path.join(self.here, "b.trace"))
        self.assertRegex(self.geiger("symbolize", "b.trace"),
                         r"^\d[\d,]* of \d[\d,]* locations named")
        self.assertTrue(self.json("summary", "b.trace")["is_symbolized"])
        self.assertEqual(self.json("table", "b.trace"), self.json("table", "a.geiger"))


if __name__ == "__main__":
    unittest.main()
