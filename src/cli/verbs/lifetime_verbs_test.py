"""lifetimes and leaks over programs whose objects live for known parts of their runs."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
HOST = os.path.abspath(sys.argv.pop(1))
SEEDS = (1, 2, 3)
# Rounds of the host are so long; a run whose rounds are as regular as this shows steady growth.
ROUND, LATE = 200e-6, 0.02


def geiger(*words, cwd, **environment):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run([GEIGER, *words], cwd=cwd, env=env, capture_output=True, timeout=300)


class LifetimeVerbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-lifetimes-")
        for seed in SEEDS:
            cls.record_regularly(f"{seed}.geiger", seed, "3000", options=("--free-stacks",))

    @classmethod
    def record_regularly(cls, name, seed, *words, options=()):
        """Where the machine lets the program stand still, its growth is not steady, and no suspect."""
        for _ in range(50):
            run = geiger("run", "-q", "-f", "--interval", "4KiB", "--seed", str(seed), *options, "-o",
                         name, "--", HOST, *words, cwd=cls.here)
            assert run.returncode == 0 and b"3000 lost" in run.stdout, run
            late = 1e-6 * int(re.search(rb"at most (\d+) us late", run.stdout)[1])
            summary = json.loads(geiger("summary", "--json", name, cwd=cls.here).stdout)
            if late < LATE and 1e-9 * summary["duration_ns"] < 3000 * ROUND + 2 * LATE:
                return
        raise AssertionError("no run was regular")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def geiger(self, *words, code=0):
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, code, done)
        self.assertNotRegex(done.stdout.decode(), r"\b(nan|inf)\b")
        return done.stdout.decode()

    def json(self, *words, code=0):
        return json.loads(self.geiger(*words, "--json", code=code))

    def error(self, *words, code=2):
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, code, done)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines and lines[0].startswith("geiger: "), lines)
        return lines

    def write(self, name, text):
        with open(os.path.join(self.here, name), "w") as file:
            file.write(text)
        return name

    # ------------------------------------------------------------ leaks

    def test_the_leak_and_nothing_else_is_suspect(self):
        for seed in SEEDS:
            report = self.json("leaks", f"{seed}.geiger", "--top", "0")
            names = [site["name"] for site in report["sites"]]
            self.assertEqual(names, ["lose"], f"seed {seed}")
            site = report["sites"][0]
            self.assertEqual(site["verdict"], "suspect")
            self.assertLessEqual(site["q_value"], 0.05)
            self.assertLessEqual(site["growth"]["lo"], site["growth"]["bytes"])
            # 3,000 objects of 1,000 B, 3/4 of them or so after the warm-up.
            self.assertLess(site["live"]["bytes"]["lo"], 3e6)
            self.assertGreater(site["live"]["bytes"]["hi"], 3e6)
            self.assertEqual(site["never_freed"]["value"], 1)
            self.assertGreater(site["bytes_per_second"]["lo"], 0)

    def test_what_stays_is_listed_as_clear(self):
        # The vectors that the functions keep their objects in are sites of their own.
        report = self.json("leaks", "1.geiger", "--all", "--top", "0", "--plumbing")
        verdicts = {site["name"]: site["verdict"] for site in report["sites"]}
        self.assertEqual(verdicts["load_table"], "clear")
        self.assertEqual(verdicts["cache_entry"], "clear")
        self.assertEqual(verdicts["lose"], "suspect")
        self.assertNotIn("use_scratch", verdicts)
        self.assertIn("load_table", self.geiger("leaks", "1.geiger", "--all"))

    def test_evidence_is_printed(self):
        text = self.geiger("leaks", "1.geiger")
        for words in ("lose", "live", "growth", "a second", "false-alarm rate", "oldest", "main", "Judged"):
            self.assertIn(words, text)
        self.assertEqual(text.count("load_table"), text.count("Not suspect: load_table"))
        self.assertIn("lose", self.geiger("leaks", "1.geiger", "--by", "function"))

    def test_exit_codes(self):
        self.geiger("leaks", "1.geiger", code=0)
        self.geiger("leaks", "1.geiger", "--fail", code=3)
        known = self.write("known.supp", "# the one we know\nleak:^lose$\n")
        text = self.geiger("leaks", "1.geiger", "--suppressions", known)
        self.assertNotIn("false-alarm rate", text)
        self.assertIn("leak:^lose$", text)
        report = self.json("leaks", "1.geiger", "--suppressions", known)
        self.assertEqual(report["suspects"], 0)
        self.assertGreater(report["suppressed"][0]["samples"], 100)
        done = geiger("leaks", "1.geiger", "--fail", "--suppressions", known, cwd=self.here)
        self.assertIn(done.returncode, (0, 4))

    def test_filters_search_a_part(self):
        whole = self.json("leaks", "1.geiger", "--all", "--top", "0")
        only = self.json("leaks", "1.geiger", "--all", "--top", "0", "--focus", "^lose$")
        rest = self.json("leaks", "1.geiger", "--all", "--top", "0", "--ignore", "^lose$")
        self.assertEqual({site["name"] for site in only["sites"]}, {"lose"})
        self.assertNotIn("lose", [site["name"] for site in rest["sites"]])
        self.assertEqual(rest["suspects"], 0)
        for part in ("live", "live_at_end"):
            self.assertEqual(only[part]["samples"] + rest[part]["samples"],
                             whole[part]["samples"])
        self.assertEqual(only["judged"], whole["judged"])
        self.assertEqual(only["selection"]["only"], [{"what": "focus", "which": "^lose$"}])
        self.assertNotIn("selection", whole)
        self.assertIn("live, only focus ^lose$", self.geiger("leaks", "1.geiger", "--focus",
                                                            "^lose$").replace("\n", " "))
        known = self.write("all.supp", "leak:lose\n")
        report = self.json("leaks", "1.geiger", "--ignore", "^lose$", "--suppressions", known)
        self.assertEqual(report["suppressed"], [])
        self.error("leaks", "1.geiger", "--focus", "(")

    def test_an_earlier_end_forgets_what_came_later(self):
        report = self.json("leaks", "1.geiger", "--until", "1us")
        self.assertEqual(report["live"]["samples"], 0)
        whole = self.json("leaks", "1.geiger", "--until", "end")
        self.assertEqual(whole["judged"]["why"], "given")
        self.assertEqual(whole["judged"]["before_end_ns"], 0)
        plain = self.json("leaks", "1.geiger")
        self.assertEqual(whole["live"], plain["live_at_end"])
        half = self.json("leaks", "1.geiger", "--until", "50%")
        self.assertLess(half["live"]["bytes"]["value"], whole["live"]["bytes"]["value"])
        self.assertEqual(half["live_at_end"], whole["live"])
        self.assertEqual(half["sites"][0]["name"], "lose")
        self.assertEqual(self.json("leaks", "1.geiger", "--until", "peak")["judged"]["why"], "given")
        self.error("leaks", "1.geiger", "--until", "later")
        self.error("leaks", "1.geiger", "--until", "1h")

    def test_too_few_samples_are_undecided(self):
        run = geiger("run", "-q", "--interval", "1MiB", "--seed", "3", "-o", "few.geiger", "--",
                     HOST, "3000", cwd=self.here)
        self.assertEqual(run.returncode, 0, run)
        report = self.json("leaks", "few.geiger", "--all")
        self.assertEqual(report["suspects"], 0)
        self.assertEqual(report["samples_needed"], 6)
        code = 4 if report["finding"] == "undecided" else 0
        self.geiger("leaks", "few.geiger", "--fail", code=code)

    def test_what_is_freed_at_the_end_is_found_or_undecided(self):
        for seed in SEEDS:
            name = f"tidy{seed}.geiger"
            self.record_regularly(name, seed, "3000", "tidy")
            # How long it takes to tidy up decides which of both, never that all is clear.
            self.assertIn(geiger("leaks", name, "--fail", cwd=self.here).returncode, (3, 4))
            before = self.json("leaks", name, "--until", "cleanup")
            self.assertEqual([site["name"] for site in before["sites"]
                              if site["verdict"] == "suspect"], ["lose"])
            self.assertNotIn("freed_from_ns", before["judged"])
            at_end = self.json("leaks", name, "--until", "end", "--fail", code=4)
            self.assertIn("freed_from_ns", at_end["judged"])
            self.assertLess(at_end["live"]["bytes"]["hi"], before["live"]["bytes"]["lo"])
            self.assertIn("--until cleanup", self.geiger("leaks", name, "--until", "end"))

    def test_the_peak_is_the_same_everywhere(self):
        for seed in SEEDS:
            leaks = self.json("leaks", f"{seed}.geiger", "--until", "peak")
            table = self.json("table", f"{seed}.geiger", "--kind", "peak")
            self.assertEqual(leaks["live"]["bytes"], table["total"]["bytes"])

    def test_bad_words(self):
        wrong = self.write("wrong.supp", "leak:ok\nrace:x\n")
        self.assertEqual(self.error("leaks", "1.geiger", "--suppressions", wrong),
                         ["geiger: wrong.supp:2: 'race:x' does not begin with leak:"])
        self.assertIn("No such file", self.error("leaks", "1.geiger", "--suppressions", "no")[0])
        self.error("leaks", "1.geiger", "--q", "nan")
        self.error("leaks", "1.geiger", "--q", "1.5")
        self.error("leaks", "1.geiger", "--warm-up", "95%")
        self.error("leaks", "1.geiger", "--ci", "100%")
        self.error("leaks", "1.geiger", "--by", "moon")
        self.error("leaks", "nowhere.geiger", code=1)
        self.error("lifetimes", "1.geiger", "--temporary", "0")
        self.error("lifetimes", "1.geiger", "--temporary", "soon")
        self.error("lifetimes", "nowhere.geiger", code=1)

    # ------------------------------------------------------------ lifetimes

    @staticmethod
    def median(group):
        return group["over_bytes"]["quantiles"][1]

    def test_lifetimes_are_in_their_order(self):
        for seed in SEEDS:
            # Without the vectors that the functions keep their objects in.
            report = self.json("lifetimes", f"{seed}.geiger", "--top", "0", "--plumbing")
            groups = {group["name"]: group for group in report["groups"]}
            scratch, cached = self.median(groups["use_scratch"]), self.median(groups["cache_entry"])
            self.assertLess(scratch["hi_ns"], cached["lo_ns"])
            for name in ("lose", "load_table"):
                self.assertNotIn("value_ns", self.median(groups[name]))
                self.assertEqual(groups[name]["freed_samples"], 0)
                self.assertEqual(groups[name]["never_freed"]["value"], 1)
            self.assertGreater(groups["use_scratch"]["over_bytes"]["temporary"]["value"], 0.9)
            self.assertLess(groups["cache_entry"]["over_bytes"]["temporary"]["value"], 0.1)

    def test_who_frees_is_told(self):
        report = self.json("lifetimes", "1.geiger", "--top", "0")
        groups = {group["name"]: group for group in report["groups"]}
        self.assertEqual(groups["hand_over"]["freed_by_other_thread"]["value"], 1)
        self.assertEqual(groups["cache_entry"]["freed_by_other_thread"]["value"], 0)
        self.assertGreater(groups["cache_entry"]["freed_by_other_thread"]["hi"], 0)
        places = {place["name"] for place in report["freed_at"]}
        # use_scratch() ends in a jump to free(), so its caller is seen.
        self.assertTrue({"cache_entry", "main"} <= places, places)
        self.assertIn("Where objects are freed", self.geiger("lifetimes", "1.geiger"))

    def test_the_curve_falls_within_its_band(self):
        report = self.json("lifetimes", "1.geiger", "--by", "none")
        for over in ("over_bytes", "over_objects"):
            curve = report["whole"][over]
            self.assertLessEqual(len(curve["steps"]), 200)
            self.assertGreater(curve["step_count"], 200)
            before = {"ns": -1, "alive": 1}
            for step in curve["steps"]:
                self.assertLessEqual(step["lo"], step["alive"])
                self.assertLessEqual(step["alive"], step["hi"])
                self.assertLess(step["alive"], before["alive"] + 1e-12)
                self.assertGreater(step["ns"], before["ns"])
                before = step

    def test_observed_only_leaves_out_what_is_alive(self):
        report = self.json("lifetimes", "1.geiger", "--observed-only", "--top", "0",
                           "--plumbing")
        names = {group["name"] for group in report["groups"]}
        self.assertNotIn("lose", names)
        self.assertIn("over-represented", self.geiger("lifetimes", "1.geiger", "--observed-only"))

    def test_windows_select_by_allocation(self):
        everything = self.json("lifetimes", "1.geiger", "--by", "none")["whole"]["allocated"]
        first = self.json("lifetimes", "1.geiger", "--by", "none", "--to", "100ms")
        rest = self.json("lifetimes", "1.geiger", "--by", "none", "--from", "100ms")
        parts = [part["whole"]["allocated"]["samples"] for part in (first, rest)]
        self.assertEqual(sum(parts), everything["samples"])
        self.assertTrue(all(parts), parts)
        self.error("lifetimes", "1.geiger", "--from", "2s", "--to", "1s")
        self.error("lifetimes", "1.geiger", "--from", "soon")

    def test_every_grouping(self):
        for by in ("function", "stack", "thread", "size", "none"):
            self.geiger("lifetimes", "1.geiger", "--by", by, "--top", "3")
        self.geiger("lifetimes", "1.geiger", "--svg", "curve.svg")
        with open(os.path.join(self.here, "curve.svg")) as picture:
            self.assertTrue(picture.read().startswith("<svg"))
        self.error("lifetimes", "1.geiger", "--svg", "curve.svg", code=1)


if __name__ == "__main__":
    unittest.main()
