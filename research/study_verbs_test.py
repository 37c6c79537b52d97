"""The verbs of geiger-study: on known sites, on a real run, and on a program that knows its bytes.

usage: study_verbs_test.py GEIGER GEIGER_STUDY HOST_PHASES HOSTILE_TRACE
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

STUDY, PHASES, HOSTILE = (os.path.abspath(sys.argv.pop(2)) for _ in range(3))
VERBS = pathlib.Path(__file__).resolve().parents[1] / "src" / "cli" / "verbs"
sys.path.insert(0, str(VERBS))
from recorded_program import RecordedProgram, geiger  # noqa: E402


class StudyVerbs(RecordedProgram):
    def run_study(self, *words, **environment):
        env = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
        return subprocess.run([STUDY, *words], cwd=self.here, env=env, capture_output=True,
                              timeout=300, check=False)

    def study(self, *words, **environment):
        done = self.run_study(*words, **environment)
        self.assertEqual(done.returncode, 0, done)
        self.assertNotRegex(done.stdout.decode(), r"\b(nan|inf)\b")
        return done.stdout.decode()

    def json(self, *words):
        document = json.loads(self.study(*words, "--json"))
        self.assertEqual(document["schema_version"], 1)
        return document

    def error(self, *words, code):
        done = self.run_study(*words)
        self.assertEqual(done.returncode, code, done)
        line = done.stderr.decode().splitlines()[0]
        self.assertTrue(line.startswith("geiger: "), line)
        return line


class Simulate(StudyVerbs):
    def test_simulate_repeats_itself_with_any_number_of_jobs(self):
        words = ["simulate", "--replicates", "120", "--mix", "const16,huge", "--seed", "3"]
        one = self.json(*words, "--jobs", "1")
        self.assertEqual(one, self.json(*words, "--jobs", "5"))
        self.assertNotEqual(one, self.json(*words[:-1], "4"))
        self.assertEqual([row["mix"] for row in one["mixes"]], ["const16", "huge"])
        for row in one["mixes"]:
            for cell in row["cells"]:
                for method in cell["methods"]:
                    coverage = method["coverage"]
                    self.assertLessEqual(coverage["lo"], coverage["value"])
                    self.assertLessEqual(coverage["value"], coverage["hi"])

    def test_simulate_shows_who_holds(self):
        text = self.study("simulate", "--replicates", "400", "--mix", "const16", "--widths")
        lines = {line[:14].strip(): line for line in text.splitlines() if "." in line[14:]}
        self.assertIn("!", lines["normal"] + text)
        self.assertIn("Mean width", text)
        certain = self.json("simulate", "--replicates", "50", "--mix", "const2T", "--certain")
        for cell in certain["mixes"][0]["cells"]:
            self.assertEqual(cell["methods"][0]["coverage"]["value"], 1)
            self.assertEqual(cell["methods"][1]["replicates"], 0)

    def test_simulate_shows_that_a_fixed_stride_is_blind(self):
        words = ["simulate", "--patterns", "--replicates", "300"]
        alone = self.json(*words, "--jobs", "1")
        self.assertEqual(alone, self.json(*words, "--jobs", "3"))
        self.assertEqual(alone["mixes"], [])
        self.assertEqual(self.json(*words, "--mix", "huge")["patterns"], alone["patterns"])
        row = next(row for row in alone["patterns"] if row["pattern"] == "every 4th")
        cell = next(cell for cell in row["cells"] if cell["expected_samples"] == 100)
        by_name = {one["scheme"]: one for one in cell["schemes"]}
        self.assertEqual(by_name["fixed stride"]["coverage"]["value"], 0)
        self.assertGreater(by_name["fixed stride"]["error"], 1)
        self.assertGreater(by_name["Bernoulli"]["coverage"]["hi"], 0.95)
        self.assertLess(by_name["Bernoulli"]["error"], 0.2)

    def test_simulate_refuses_what_cannot_be(self):
        for words in (["--replicates", "0"], ["--jobs", "0"], ["--mix", "nothing"],
                      ["--ci", "1.5%x"],
                      ["--seed", "x"]):
            with self.subTest(words=words):
                self.error("simulate", *words, code=2)

    def test_pictures_are_whole_documents(self):
        small = ["--replicates", "20"]
        for words in (["simulate", *small, "--mix", "const16"], ["simulate", *small, "--patterns"]):
            self.study(*words, "--svg", "out.svg", "-f")
            root = xml.etree.ElementTree.parse(os.path.join(self.here, "out.svg")).getroot()
            self.assertTrue(root.tag.endswith("svg"))
            self.assertIn("exists", self.error(*words, "--svg", "out.svg", code=1))
            self.assertIn("No such file", self.error(*words, "--svg", "no/such/x.svg", code=1))

    def test_plain_terminals_get_ascii(self):
        words = ["simulate", "--replicates", "20", "--mix", "const16"]
        self.assertTrue(self.study(*words, LC_ALL="C").isascii(), words)
        self.assertNotIn("\x1b", self.study(*words))
        self.assertIn("\x1b[", self.study(*words, CLICOLOR_FORCE="1"))
        self.assertNotIn("\x1b", self.study(*words, CLICOLOR_FORCE="1", NO_COLOR="1"))

    def test_help_has_examples(self):
        self.assertIn("Examples:\n  geiger-study simulate", self.study("simulate", "--help"))


class Estimators(StudyVerbs):
    def test_estimators_side_by_side(self):
        report = self.json("estimators")
        summary = json.loads(self.geiger("summary", "--json"))
        self.assertEqual(report["exact_bytes"], summary["exact"]["bytes"])
        lines = {line["estimator"]: line for line in report["whole"]["bytes"]}
        ours = lines["horvitz_thompson"]
        allocated = summary["allocated"]["bytes"]["value"]
        self.assertAlmostEqual(ours["value"], allocated, delta=1e-12 * allocated)
        for name in ("failed_trials", "draw_counting"):
            self.assertLess(abs(lines[name]["relative_error"]), 6 * lines[name]["variance"] ** 0.5
                            / lines[name]["value"])
            self.assertGreater(lines[name]["variance"], ours["variance"])
        self.assertLess(lines["naive"]["relative_error"], -0.03)
        # The bytes handed out are those that the samples say malloc rounded up to.
        self.assertGreater(lines["unskewed_usable"]["value"], ours["value"])
        self.assertEqual(len(report["intervals"]), 5)
        self.assertEqual(len(report["sites"]), 3)
        text = self.study("estimators")
        self.assertIn("none: biased", text)
        self.assertEqual(text, self.study("estimators"), "drawn again alike")
        self.error("estimators", "--ci", "nan", code=2)


    def test_names_that_are_attacks_are_neutralised(self):
        self.assertNotRegex(self.study("estimators", HOSTILE), "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


class EstimatorsOfParts(StudyVerbs):
    """A program recorded with interval 1 and with 4 KiB, which prints what it allocates."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, interval in (("exact", "1"), ("sampled", "4KiB")):
            run = geiger("run", "-q", "--interval", interval, "--seed", "3", "-o",
                         f"{name}.geiger", "--", PHASES, cwd=cls.here)
            assert run.returncode == 0, run
            cls.truth = json.loads(run.stdout)

    def test_stacks_beside_estimators_are_named_alike(self):
        names = [site["name"] for site in self.json("estimators", "exact.geiger")["sites"]]
        first = names[0]
        hidden = self.json("estimators", "exact.geiger", "--hide", f"^{re.escape(first)}$")["sites"]
        self.assertNotIn(first, [site["name"] for site in hidden])
        self.assertEqual(len(hidden), len(names))

    def test_estimators_in_a_window(self):
        part = ("--from", "loaded", "--to", "step#2", "--label", "request")
        document = self.json("estimators", "sampled.geiger", *part)
        expected = 2 * self.truth["tenant"]
        ours = document["whole"]["bytes"][0]
        self.assertLessEqual(ours["lo"], expected)
        self.assertGreaterEqual(ours["hi"], expected)
        by_key = {line["interval"]: line for line in document["intervals"]}
        up_to, fixed = by_key["negative_binomial_s_s"], by_key["negative_binomial_s_s1"]
        self.assertEqual(up_to["lo"], fixed["lo"])
        self.assertLess(up_to["hi"], fixed["hi"])
        self.error("estimators", "sampled.geiger", "--kind", "peak", code=2)

    def test_a_part_has_no_exact_bytes(self):
        self.assertNotIn("exact_bytes", self.json("estimators", "sampled.geiger", "--from", "begin"))


if __name__ == "__main__":
    unittest.main()
