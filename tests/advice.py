#!/usr/bin/env python3
"""`geiger advise` against programs that waste memory in one known way (hosts/wastes.cc), and against the
same programs without the waste.

Each waste is found and named by its line, with its saving within its interval, and nothing is advised where
there is none.  All intervals of a list hold together with 95 %, so at most one list in twenty has a wrong one
on average; those of the seeds that are used here have none.
"""
import concurrent.futures
import json
import os
import tempfile
import unittest

import jsonschema

import harness

SOURCE = harness.ROOT / "tests/hosts/wastes.cc"
SCHEMA = json.loads((harness.ROOT / "docs/schema/geiger-report.schema.json").read_text())
SEEDS = 1 if harness.IS_SMALL else 20
INTERVAL = 16 * harness.KIB
# What is advised for each waste.
WASTES = {"vector": "reserve", "string": "reserve", "realloc": "reserve", "reuse": "reuse", "untouched": "untouched",
          "pool": "pool", "rounding": "rounding", "peak": "peak", "blank": "blank", "duplicate": "duplicate"}


def line_of(waste):
    lines = SOURCE.read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.endswith(f"// wastes: {waste}"))


class Wastes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.TemporaryDirectory(prefix="geiger-advice-")

    @classmethod
    def tearDownClass(cls):
        cls.here.cleanup()

    def geiger(self, *words):
        done = harness.run_bare([harness.BUILD / "bin" / "geiger", *words], cwd=self.here.name)
        self.assertEqual(done.status, 0, done.stderr)
        return done.stdout

    def advised(self, case):
        """What the program says of itself, and what is advised. Contents are read only where these matter: the
        other programs store the same byte everywhere.
        """
        waste, seed, *words = case
        option = "--content" if waste in ("blank", "duplicate") else "--free-stacks"
        run = os.path.join(self.here.name, f"{'-'.join(map(str, case))}.geiger")
        truth = json.loads(self.geiger("run", "-q", "--seed", seed, "--interval", INTERVAL, option, "-o", run, "--",
                                       harness.host("wastes"), waste, *words))
        report = json.loads(self.geiger("advise", "--json", run))
        os.remove(run)
        jsonschema.validate(report, SCHEMA)
        return case, truth, report

    def each(self, *words):
        """Of every waste and seed. The programs mostly wait."""
        cases = [(waste, seed, *words) for waste in WASTES for seed in range(1, SEEDS + 1)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            yield from pool.map(self.advised, cases)

    def test_wastes_are_found(self):
        for (waste, seed), truth, report in self.each():
            with self.subTest(waste=waste, seed=seed):
                items = report["items"]
                self.assertEqual([item["advice"] for item in items], [WASTES[waste]], items)
                item = items[0]
                self.assertEqual((os.path.basename(item["file"]), item["line"]), (SOURCE.name, line_of(waste)))
                saved = item["saved"]["bytes"]
                self.assertTrue(saved["lo"] <= truth["bytes"] <= saved["hi"], (truth, saved))
                if item["of"] == "allocated":
                    calls = item["saved"]["objects"]
                    self.assertTrue(calls["lo"] <= truth["calls"] <= calls["hi"], (truth, calls))

    def test_nothing_is_advised_of_the_healthy(self):
        for case, _, report in self.each("healthy"):
            with self.subTest(case=case):
                self.assertEqual(report["items"], [])

    def test_diff_says_what_was_taken(self):
        for name, words in (("before", []), ("after", ["healthy"])):
            self.geiger("run", "-q", "--seed", 1, "--interval", INTERVAL, "--free-stacks", "-o", f"{name}.geiger", "--",
                        harness.host("wastes"), "vector", *words)
        followed = json.loads(self.geiger("diff", "--json", "before.geiger", "after.geiger"))["advice"]
        self.assertEqual([(each["advice"], each["verdict"]) for each in followed], [("reserve", "taken")])
        self.assertIn(b"growth by copying at numbers (wastes.cc:", self.geiger("diff", "before.geiger", "after.geiger"))
        same = json.loads(self.geiger("diff", "--json", "before.geiger", "before.geiger"))["advice"]
        self.assertEqual([each["verdict"] for each in same], ["not shown to be smaller"])

    def test_a_run_ends_with_what_is_large_and_sure(self):
        for words, is_said in (["peak"], True), (["peak", "healthy"], False), (["string"], False):
            done = harness.run_bare([harness.BUILD / "bin" / "geiger", "run", "-f", "--seed", 1, "--interval", INTERVAL,
                                     "--free-stacks", "-o", "said.geiger", "--", harness.host("wastes"),
                                     *words], cwd=self.here.name)
            self.assertEqual(b"geiger: short-lived objects at the peak at convert (wastes.cc:" in done.stderr, is_said,
                             done.stderr)
            self.assertEqual(b"see geiger advise" in done.stderr, is_said)


if __name__ == "__main__":
    unittest.main()
