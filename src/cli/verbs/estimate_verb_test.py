"""The estimators from the command line, and what they refuse. More numbers: tests/statistics_agree.py.

usage: estimate_verb_test.py GEIGER
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
VECTORS = json.loads((pathlib.Path(__file__).resolve().parents[3] / "tests" / "vectors"
                      / "statistics.json").read_text())
SMALL = "16@512KiB:3"
# The worked example of the .NET design's text: 8 samples, u = 10,908.
EXAMPLE = ["--interval", "102400", "2000+636:4", "2000+637:4"]


def run(*words, data=b""):
    return subprocess.run([GEIGER, "estimate", *words], input=data, capture_output=True, timeout=60,
                          check=False)


class EstimateVerb(unittest.TestCase):
    def document(self, *words, data=b""):
        done = run("--json", *words, data=data)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def text(self, *words):
        done = run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stdout.decode(), r"\b(nan|inf)\b")
        return done.stdout.decode()

    def refused(self, *words, code=2, data=b""):
        done = run(*words, data=data)
        self.assertEqual((done.returncode, done.stdout), (code, b""), words)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines[0].startswith("geiger: "), lines)
        self.assertLessEqual(len(lines), 2)  # The second says where help is.
        return lines[0]

    def test_words_and_standard_input_are_alike(self):
        words = self.document(SMALL, "8MiB@1:2")
        self.assertEqual(words, self.document("-", data=b"16@524288:3  # small\n\n8MiB@1:2\n"))
        self.assertEqual(words, self.document("16:3", "8MiB@1:2"))
        self.assertEqual((words["samples"], words["certain_samples"]), (5, 2))
        self.assertEqual(words["sums"]["certain_bytes"], 16 << 20)

    def test_levels_and_forms(self):
        narrow, wide = self.document(SMALL, "--ci", "50%"), self.document(SMALL, "--level", "0.999")
        self.assertLess(wide["bytes"]["lo"], narrow["bytes"]["lo"])
        self.assertGreater(wide["bytes"]["hi"], narrow["bytes"]["hi"])
        self.assertEqual(self.document(SMALL, "--listed")["form"], "listed")
        poisson = self.document(SMALL, "--poisson")
        self.assertEqual((poisson["rate"], poisson["sums"]["largest_interval"]), ("poisson", 524288))

    def test_nothing_sampled(self):
        for words in (["--interval", "512KiB"], ["1@512KiB:0"]):
            document = self.document(*words)
            self.assertEqual((document["bytes"]["value"], document["bytes"]["lo"]), (0, 0))
            self.assertAlmostEqual(document["bytes"]["hi"] / 524288, 3.68888, places=4)

    def test_text_has_every_letter(self):
        text = self.text(SMALL)
        for letter in ("s", "B", "Y", "V", "C", "VC", "c", "E", "X", "XC"):
            self.assertRegex(text, rf"(?m)^  {letter} +\d")

    def test_offsets_give_the_estimate_of_failed_trials(self):
        trials = self.document(*EXAMPLE)["failed_trials"]
        self.assertEqual(trials["untried"], 10908)
        self.assertEqual(trials["bytes"]["value"], 8 * 102399 + 10908)
        self.assertEqual(trials["bytes"]["variance"], 8 * 102400 * 102399)
        self.assertEqual(trials["up_to_sample"], {"lo": 353666 + 10908, "hi": 1476870 + 10908})
        self.assertGreater(trials["bytes"]["hi"], trials["up_to_sample"]["hi"])
        # Offsets change nothing of the estimate that needs none.
        without = self.document("2000@102400:8")
        self.assertNotIn("failed_trials", without)
        self.assertEqual(without["bytes"], self.document(*EXAMPLE)["bytes"])
        self.assertIn("[364574, 1487778] if recording ended at a sample", self.text(*EXAMPLE))
        # Those recorded for certain need none, and are in the bytes.
        one = self.document("24+7@102400", "1MB@1")["failed_trials"]["bytes"]
        self.assertEqual((one["value"], one["exact"]), (102399 + 17 + 10**6, 10**6))
        none = self.document("24+7@102400:0")["failed_trials"]
        self.assertEqual((none["untried"], "up_to_sample" in none), (0, False))

    def test_the_table_of_the_dotnet_text(self):
        rows = {row["samples"]: row
                for row in self.document("--table", "--interval", "102400")["table"]}
        for row in VECTORS["nb_table"]["rows"]:
            end = "lo" if row["target"] < 0.5 else "hi"
            self.assertEqual(rows[row["s"]]["failures"][end], row["failures"], row)
        self.assertAlmostEqual(rows[1]["camp_paulson_error"], 0.0122, places=4)
        self.assertAlmostEqual(rows[5]["camp_paulson_error"], 0.0013, places=4)
        # What is wrong by so little is a quantile that is wrong by half.
        self.assertAlmostEqual(rows[1]["camp_paulson"]["lo"] / rows[1]["failures"]["lo"], 0.52, delta=0.01)
        self.assertRegex(self.text("--table", "--interval", "102400"), "8 +353666 to 1476870 ")

    def test_a_fixed_stride_is_blind_to_a_loop_that_it_fits(self):
        small, large = self.document("--loop", "20,80", "--interval", "100")["loop"]
        self.assertEqual((small["share"], small["least"], small["most"], small["chance_none"]), (.2, 0, 1, .8))
        self.assertEqual((large["share"], large["least"], large["most"], large["chance_none"]), (.8, 0, 1, .2))
        # One that has no divisor in common sees each byte of the loop.
        for row in self.document("--loop", "20,80", "--interval", "99")["loop"]:
            self.assertEqual((row["least"], row["most"], row["chance_none"]), (row["share"], row["share"], 0))
        self.assertIn("20 %", self.text("--loop", "20,80", "--interval", "100"))

    def test_what_is_no_sample(self):
        for word in ("0@4096", "nan@4096", "16@0", "16@nan", "16@-1", "16@4096:-3", "16@4096:1.5", "@"):
            self.assertIn("estimate: invalid sample", self.refused(word))
        for level in ("0", "-1", "nan", "100%", "101", "x"):
            self.refused(SMALL, "--ci", level)
        for words in (["--interval", "0"], ["--interval", "2TiB"], ["--loop", "0"], ["--loop", "20,x"], ["-"], []):
            self.refused(*words)
        self.refused("4PB@4096:9007199254740992", "4PB@4096:1")
        self.assertIn("too large", self.refused("-", data=b"1 " * (1 << 20), code=1))

    def test_offsets_that_have_no_law(self):
        self.assertIn("0 to 23", self.refused("24+24@4096"))
        self.assertIn("all samples", self.refused("24+7@4096", "24@4096"))
        self.assertIn("one interval", self.refused("24+7@4096", "24+7@8192"))
        self.assertIn("one interval", self.refused("24+7@4096", "--interval", "8192"))
        self.assertIn("--poisson", self.refused("24+7@4096", "--poisson"))
        self.assertIn("interval of 1", self.refused("24+7@1"))

    def test_names_are_neutralised(self):
        self.assertNotIn("\x1b", self.refused("\x1b[2J@4096"))


if __name__ == "__main__":
    unittest.main()
