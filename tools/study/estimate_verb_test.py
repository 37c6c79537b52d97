"""The calculator from the command line, and what it refuses. Numbers: tests/statistics_agree.py."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

STUDY = os.path.abspath(sys.argv.pop(1))
SMALL = "16@512KiB:3"


def run(*words, data=b""):
    return subprocess.run([STUDY, *words], input=data, capture_output=True, timeout=60,
                          check=False)


class EstimateVerb(unittest.TestCase):
    def document(self, *words, data=b""):
        done = run("estimate", "--json", *words, data=data)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, *words, code=2, data=b""):
        done = run("estimate", *words, data=data)
        self.assertEqual((done.returncode, done.stdout), (code, b""), words)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines[0].startswith("geiger: "), lines)
        self.assertLessEqual(len(lines), 2)  # the parser adds where help is
        return lines[0]

    def test_the_same_samples_three_ways(self):
        words = self.document(SMALL, "--certain", "8MiB:2")
        csv = self.document("--file", "-", data=b"size,interval,count,certain\n"
                                                b"16,524288,3\n8MiB,,2,1\n")
        data = (b'{"size": 16, "interval": "512KiB", "count": 3}\n'
                b'{"size": 8388608, "count": 2, "certain": true}\n')
        lines = self.document("--file", "-", data=data)
        self.assertEqual(words, csv)
        self.assertEqual(words, lines)
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"16,524288,3\n")
            file.flush()
            self.assertEqual(self.document("--file", file.name), self.document(SMALL))

    def test_help_names_values_in_full(self):
        self.assertIn(b"--certain SIZE[:COUNT]  ", run("estimate", "--help").stdout)

    def test_levels_and_forms(self):
        narrow, wide = self.document(SMALL, "--ci", "50%"), self.document(SMALL, "--level", "0.999")
        self.assertLess(wide["bytes"]["lo"], narrow["bytes"]["lo"])
        self.assertGreater(wide["bytes"]["hi"], narrow["bytes"]["hi"])
        self.assertEqual(self.document(SMALL, "--listed")["form"], "listed")
        self.assertEqual(self.document(SMALL, "--poisson")["sums"]["largest_interval"], 524288)

    def test_nothing_sampled(self):
        document = self.document("--interval", "512KiB")
        self.assertEqual(document["bytes"]["lo"], 0)
        self.assertAlmostEqual(document["bytes"]["hi"] / 524288, 3.68888, places=4)

    def test_text_has_every_letter(self):
        text = run("estimate", SMALL).stdout.decode()
        for letter in ("s", "B", "Y", "V", "C", "VC", "CB", "c", "E", "X", "XC"):
            self.assertRegex(text, rf"(?m)^  {letter} +\d")

    def test_what_is_no_sample(self):
        for word in ("0@4096", "-1@4096", "nan@4096", "16@0", "16@nan", "16@-1", "16", "16@4096:0",
                     "16@4096:-3", "16@4096:1.5", "@"):
            self.refused(word)
        for level in ("0", "-1", "nan", "100%", "101", "x"):
            self.refused(SMALL, "--ci", level)
        self.refused("--certain", "0")
        self.refused("--interval", "0")
        self.refused()
        self.refused("9PB@4096:9007199254740992", "9PB@4096:1")

    def test_offsets_give_the_estimate_of_failed_trials(self):
        # The worked example of the .NET design text: 8 samples, u = 10,908.
        words = ["2000+636@102400:4", "2000+637@102400:4"]
        trials = self.document(*words)["failed_trials"]
        self.assertEqual(trials["untried"], 10908)
        self.assertEqual(trials["bytes"]["value"], 8 * 102399 + 10908)
        self.assertEqual(trials["up_to_sample"], {"lo": 353666 + 10908, "hi": 1476870 + 10908})
        self.assertGreater(trials["bytes"]["hi"], trials["up_to_sample"]["hi"])
        # Offsets change nothing of the estimate that needs none.
        without = self.document("2000@102400:8")
        self.assertNotIn("failed_trials", without)
        self.assertEqual(without["bytes"], self.document(*words)["bytes"])
        one = self.document("24+7@102400", "--certain", "1MB")["failed_trials"]
        self.assertEqual(one["bytes"]["value"], 102399 + 17 + 10**6)
        file = self.document("--file", "-", data=b"2000,102400,4,0,636\n"
                             b'{"size": 2000, "interval": 102400, "count": 4, "offset": 637}\n')
        self.assertEqual(file["failed_trials"], trials)
        text = run("estimate", *words).stdout.decode()
        self.assertIn("[364574, 1487778] if recording ended at a sample", text)

    def test_offsets_that_have_no_law(self):
        self.assertIn("0 to 23", self.refused("24+24@4096"))
        self.assertIn("all samples", self.refused("24+7@4096", "24@4096"))
        self.assertIn("one interval", self.refused("24+7@4096", "24+7@8192"))
        self.assertIn("--poisson", self.refused("24+7@4096", "--poisson"))
        self.assertIn("--interval", self.refused("24+7@4096", "--interval", "8192"))
        self.assertIn("interval of 1", self.refused("24+7@1"))

    def test_files(self):
        self.assertIn("line 2", self.refused("--file", "-", data=b"16,4096,1\n16,4096,-1\n"))
        self.assertIn("line 1", self.refused("--file", "-", data=b'{"size": 1e400}\n'))
        self.assertIn("No such file", self.refused("--file", "/nowhere", code=1))
        self.assertIn("directory", self.refused("--file", "/", code=1))
        self.refused("--file", "-")

    def test_hostile_names_are_neutralised(self):
        self.assertNotIn("\x1b", self.refused("\x1b[2J@4096"))


if __name__ == "__main__":
    unittest.main()
