#!/usr/bin/env python3
"""Every verb's --json against docs/schema/geiger-report.schema.json.

usage: json_schema.py GEIGER SCHEMA CORPUS

The schema lets fields be added; here a field that it does not name is a fault, so that
none is added without being described. CORPUS is fuzz/corpus/trace: names that are attacks,
damaged and unfinished traces, labels, types, heaps and marks.
"""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import jsonschema

GEIGER = os.path.abspath(sys.argv.pop(1))
SCHEMA = json.loads(pathlib.Path(sys.argv.pop(1)).read_text())
CORPUS = pathlib.Path(sys.argv.pop(1)).resolve()
FAULTY = str(pathlib.Path(GEIGER).parent.parent / "hosts" / "faulty")
PROGRAM = ["perl", "-e", 'my %h; $h{$_} = "x" x ($_ % 300) for 1..20000; fork and wait; %h = ()']
OF_A_FLEET = [
    (["list"], "fleet-list"), (["doctor"], "fleet-doctor"), (["symbolize"], "fleet-symbolize"),
    (["maintain"], "fleet-maintain"),
    (["top", "--by", "service"], "fleet-services"), (["remove", "1"], "fleet-remove"),
    (["top"], "table"), (["top", "1", "--label", "zone=2", "--by", "host"], "table"),
    (["diff", "1", "2"], "diff"), (["diff", "1", "2", "--match", "zone", "--all"], "diff"),
    (["check", "2", "--max-bytes", "1TiB"], "check"), (["series"], "fleet-series"),
    (["series", "2", "--by", "function", "--kind", "live"], "fleet-series"),
    (["cost"], "fleet-cost"), (["cost", "--price", "0.005"], "fleet-cost")]
# OTLP's JSON, of which the test otlp has the layout; lines, which test_live checks; the data of a page; and the schema itself.
OTHERS = {"export", "holders", "live", "report", "schema"}

GROUPS = ["function", "stack", "module", "thread", "tid", "process", "size", "type", "label",
          "lifetime", "heap", "alignment"]
KINDS = ["live", "peak", "resident", "swapped", "untouched", "overhead", "live-overhead",
         "usable", "live-usable", "stranded", "mapped", "mapped-peak", "mapped-total", "mapped-files", "reserved"]
OF_A_RUN = (
    [["summary"], ["stats"], ["rss"], ["rss", "--at", "last"],
     ["marks"], ["faults"], ["advise"], ["doctor"], ["plan"], ["plan", "--change", "1MiB"], ["tree"],
     ["tree", "--inverted"], ["tree", "--kind", "mapped"], ["leaks"], ["leaks", "--all"],
     ["leaks", "--all", "--by", "function"]]
    + [["table", "--by", by] for by in GROUPS] + [["table", "--kind", kind] for kind in KINDS]
    + [["lifetimes", "--by", by] for by in ("function", "stack", "thread", "size", "none")]
    + [[verb, "--from", "20%", "--to", "80%", "--size", "1..1MiB"]
       for verb in ("summary", "table", "tree", "stats", "lifetimes")])
OF_TWO = [["diff"], ["diff", "--by", "stack", "--all"], ["diff", "--kind", "live"],
          ["diff", "--kind", "mapped", "--all"], ["diff", "--from", "10%"],
          ["check", "--max-growth", "5%"], ["check", "--max-growth", "5%", "--by", "function"],
          ["check", "--max-growth", "5%", "--from", "10%"]]
OF_NONE = [["estimate", "16@512KiB:3", "8MiB@1:2"], ["estimate", "--listed", "--poisson", "16"],
           ["estimate", "24+7@102400"], ["estimate", "--table"], ["estimate", "--loop", "20,80"],
           ["plan", "--interval", "64KiB"],
           ["plan", "--interval", "16KiB,64KiB", "--site", "10MiB"],
           ["plan", "--precision", "10%", "--site", "10MiB"],
           ["compare-malloc", "--rounds", "2", "--json", "--", "true"],  # Which is given --json too.
           ["ctl"]]


def closed(node):
    """A copy of the schema that refuses fields it does not name, but in what others extend."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {key: {inner: closed(value) for inner, value in part.items()}
            if key in ("properties", "$defs") else closed(part) if key != "enum" else part
            for key, part in node.items()}
    is_object = ("properties" in node or "allOf" in node) and "additionalProperties" not in node
    if is_object and node is not SCHEMA and "const" not in str(
            node.get("properties", {}).get("report", "")):
        made["unevaluatedProperties"] = False
    return made


class JsonSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        cls.validator = jsonschema.Draft202012Validator(closed(SCHEMA))
        cls.here = tempfile.mkdtemp(prefix="geiger-schema-")
        cls.record("a.geiger", "--interval", "1KiB", "--seed", "7", "--free-stacks",
                   "--fragmentation")
        cls.record("b.geiger", "--interval", "4KiB", "--seed", "8", "--no-observe")
        cls.record("sums.geiger", "--aggregate", "--interval", "4KiB")
        for trace in CORPUS.iterdir():
            shutil.copy(trace, cls.here)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here, ignore_errors=True)

    @classmethod
    def record(cls, name, *options):
        subprocess.run([GEIGER, "run", "-q", "-o", name, *options, "--", *PROGRAM], check=True,
                       cwd=cls.here, timeout=120, capture_output=True)

    def document(self, verb, *words):
        done = subprocess.run([GEIGER, verb, *words, "--json"], cwd=self.here, timeout=120,
                              capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1, 2, 3, 4), (verb, words, done))
        return json.loads(done.stdout) if done.stdout else None

    def check(self, verb, *words):
        """The name of the report, or None."""
        document = self.document(verb, *words)
        if document is None:
            return None
        faults = [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message[:300]}"
                  for fault in self.validator.iter_errors(document)]
        self.assertEqual(faults, [], (verb, words))
        return document["report"]

    def test_reports_of_a_run(self):
        seen = {self.check(words[0], "a.geiger", *words[1:]) for words in OF_A_RUN}
        self.assertLessEqual({"summary", "table", "tree", "stats", "rss", "marks",
                              "doctor", "plan", "leaks", "lifetimes"}, seen)

    def test_reports_of_hostile_damaged_and_unfinished_runs(self):
        for trace in [path.name for path in CORPUS.iterdir()] + ["sums.geiger"]:
            seen = [self.check(words[0], trace, *words[1:]) for words in OF_A_RUN]
            self.assertIn("doctor", seen, trace)

    def test_report_of_faults(self):
        subprocess.run([GEIGER, "run", "-q", "-o", "faulty.geiger", "--guard=1", "--interval", "1",
                        "--", FAULTY, "reads_freed"], check=False, cwd=self.here, timeout=120)
        self.assertEqual(self.check("faults", "faulty.geiger"), "faults")
        self.assertEqual(len(self.document("faults", "faulty.geiger")["faults"]), 1)
        self.assertIn("use after free", self.document("summary", "faulty.geiger")["fault"])

    def test_reports_of_two_runs(self):
        for before, after in (("a.geiger", "b.geiger"), ("hostile_names", "hostile_names")):
            for words in OF_TWO:
                self.assertEqual(self.check(words[0], before, after, *words[1:]), words[0])
        self.assertEqual(self.check("diff", "a.geiger", "b.geiger", "--", "b.geiger", "a.geiger"),
                         "diff")

    def test_reports_of_no_run(self):
        for words in OF_NONE:
            self.assertEqual(self.check(*words), words[0])

    def test_reports_of_a_fleet(self):
        for version in ("1", "2"):
            for host in ("web-1", "web-2"):
                run = f"{host}-{version}.geiger"  # One run on two hosts would be refused.
                self.record(run, "--interval", "4KiB")
                subprocess.run([GEIGER, "push", "--service", "shop", "--version", version, "--host", host,
                                "--label", f"zone={host[-1]}", run, "fleet.db"], check=True,
                               cwd=self.here, timeout=120, capture_output=True)
        with sqlite3.connect(os.path.join(self.here, "fleet.db")) as store:  # One ran unrecorded.
            store.execute("UPDATE windows SET recorded_ms = 0, exact_bytes = NULL WHERE window_id = 1")
        for words, report in OF_A_FLEET:
            self.assertEqual(self.check("fleet", *words, "--store", "fleet.db"), report)
        help_text = subprocess.run([GEIGER, "fleet", "--help"], capture_output=True, text=True, check=True)
        listed = help_text.stdout.split("Subcommands:\n")[1].split("\n\n")[0]
        verbs = set(re.findall(r"(?m)^  ([a-z-]+)", listed))
        self.assertEqual(verbs - {"init", "report"}, {words[0] for words, _ in OF_A_FLEET})

    def test_live(self):
        lines = subprocess.run([GEIGER, "live", "--json", "--updates", "2", "--every", "100ms", "--", *PROGRAM],
                               cwd=self.here, timeout=120, capture_output=True, text=True, check=False).stdout
        documents = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
        self.assertTrue(documents)
        for document in documents:
            self.assertEqual([fault.message for fault in self.validator.iter_errors(document)], [])

    def test_documents_of_pages(self):
        printed = subprocess.run([GEIGER, "schema", "--page"], check=True, capture_output=True).stdout
        validator = jsonschema.Draft202012Validator(closed(json.loads(printed)))
        documents = [self.document("report", *words) for words in (
            ["a.geiger"], ["sums.geiger"], ["b.geiger", "--diff", "a.geiger", "--from", "10%"],
            ["a.geiger", "--plumbing", "--source"], *([trace.name] for trace in CORPUS.iterdir()))]
        for document in filter(None, documents):
            self.assertEqual([fault.message for fault in validator.iter_errors(document)], [])
        documents[0]["cells"][0]["strata"].pop("bytes")
        self.assertFalse(validator.is_valid(documents[0]))

    def test_what_is_generated_of_the_schemas_is_as_generated(self):
        for name in ("report_fields.py", "page_types.py"):
            script = pathlib.Path(__file__).resolve().parent.parent / "tools" / name
            done = subprocess.run([sys.executable, script, GEIGER, "--check"], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_fault_is_seen(self):
        document = self.document("table", "a.geiger")
        for spoil in (lambda d: d.pop("level"), lambda d: d.update(level="0.95"),
                      lambda d: d.update(surprise=1), lambda d: d["rows"][0].pop("self"),
                      lambda d: d["rows"][0]["self"].update(surprise=1),
                      lambda d: d["total"]["bytes"].pop("lo"), lambda d: d.update(kind="lve")):
            spoilt = json.loads(json.dumps(document))
            spoil(spoilt)
            self.assertFalse(self.validator.is_valid(spoilt))

    def test_added_fields_are_no_fault_for_readers(self):
        document = {**self.document("table", "a.geiger"), "surprise": 1}
        self.assertTrue(jsonschema.Draft202012Validator(SCHEMA).is_valid(document))

    def test_every_verb_with_json_is_here(self):
        whole = subprocess.run([GEIGER, "--help"], capture_output=True, text=True, check=True)
        verbs = re.findall(r"(?m)^  ([a-z-]+)",
                           whole.stdout.split("Subcommands:\n")[1].split("\n\n")[0])
        with_json = {verb for verb in verbs if "--json" in subprocess.run(
            [GEIGER, verb, "--help"], capture_output=True, text=True, check=True).stdout}
        tried = {words[0] for words in OF_A_RUN + OF_TWO + OF_NONE}
        self.assertEqual(with_json - OTHERS, tried)


if __name__ == "__main__":
    unittest.main()
