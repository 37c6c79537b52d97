"""diff and check over programs that changed in known ways.

The host `changes` prints what each of its functions allocates; a leak is added to it
and a table is made to reserve its memory. Everything runs with fixed seeds, so the
samples are the same every time.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

GEIGER = os.path.abspath(sys.argv.pop(1))
ALLOCATED = ("--kind", "allocated")
CHANGES = os.path.abspath(sys.argv.pop(1))
STACKS = os.path.abspath(sys.argv.pop(1))
KEEP = "import sys\nkept = [bytearray(1000) for _ in range(int(sys.argv[1]))]\n" \
       "import os\nsys.stdout.flush()\nos._exit(0)"
# Grows each time a line is read.
GROW = "import sys\nkept = [bytearray(1000) for _ in range(20000)]\n" \
       "for line in sys.stdin:\n" \
       "    kept += [bytearray(1000) for _ in range(int(line))]\n    print('grown', flush=True)\n" \
       "import os\nos._exit(0)"


def geiger(*words, cwd):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    return subprocess.run([GEIGER, *words], cwd=cwd, env=env, capture_output=True, timeout=300)


class CompareVerbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-compare-")
        # The new version lies elsewhere and has another name.
        cls.newer = os.path.join(cls.here, "changes-next")
        shutil.copy(CHANGES, cls.newer)
        cls.truth = {}
        for seed, (name, program, version) in enumerate((
                ("plain", CHANGES, "plain"), ("again", cls.newer, "plain"),
                ("leak", cls.newer, "leak"), ("reserve", cls.newer, "reserve"),
                ("both", cls.newer, "both"))):
            done = cls.record(name, seed + 31, program, version)
            cls.truth[name] = json.loads(done.stdout)

    @classmethod
    def record(cls, name, seed, *program, interval="4KiB", options=()):
        done = geiger("run", "-q", "--interval", interval, "--seed", str(seed), *options, "-f",
                      "-o", f"{name}.geiger", "--", *program, cwd=cls.here)
        assert done.returncode == 0, done
        return done

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def geiger(self, *words, code=0):
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, code, done)
        return done.stdout.decode()

    def json(self, *words, code=0):
        def refuse(constant):
            self.fail(f"{constant} in the output of {words}")
        return json.loads(self.geiger(*words, "--json", code=code), parse_constant=refuse)

    def refused(self, *words, code):
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def change_of(self, name, function):
        return self.truth[name][function] - self.truth["plain"][function]

    def test_what_deep_stacks_lost_is_not_decided(self):
        """All of 10 MB are allocated below a function that few stacks are short enough to have."""
        caller = "*hundred_thousand_deep*"
        self.record("deep", 41, STACKS, "hundred_thousand_deep")
        with open(os.path.join(self.here, "deep.budget"), "w") as file:
            file.write(f"max-bytes 1MiB {caller}\nmax-bytes 1MiB *::recurses*\n")
        gates = self.json("check", "--budget", "deep.budget", "deep.geiger", code=3)["gates"]
        self.assertEqual([gate["answer"] for gate in gates], ["undecided", "fail"])
        self.assertGreater(gates[0]["hi"], 9e6)
        for verb in ("table", "stats"):
            total = self.json(verb, "--function", caller, "deep.geiger")["total"]["bytes"]
            self.assertLess(total["value"], 2e5)
            self.assertGreater(total["hi"], 9e6)
            self.assertGreater(total["open"], 9e6)
        text = self.geiger("table", "--function", caller, "deep.geiger")
        self.assertIn("of stacks that were cut (record with --max-frames 262144)", text)
        ignored = self.json("table", "--ignore", "hundred_thousand_deep", "deep.geiger")["total"]
        self.assertGreater(ignored["bytes"]["open"], 9e6)
        self.record("again_deep", 42, STACKS, "hundred_thousand_deep")
        rows = self.json("diff", "--inclusive", "--all", "deep.geiger", "again_deep.geiger")["rows"]
        callers = [row for row in rows if "hundred_thousand_deep" in row["name"]]
        for row in callers:
            self.assertLess(row["change"]["lo"], -9e6)
            self.assertGreater(row["change"]["hi"], 9e6)
        self.assertTrue(callers)

    def test_more_frames_reach_the_callers_of_recursion(self):
        caller = "*hundred_thousand_deep*"
        self.record("whole", 41, STACKS, "hundred_thousand_deep", interval="64KiB",
                    options=("--max-frames", "262144"))
        total = self.json("table", "--function", caller, "whole.geiger")["total"]["bytes"]
        self.assertTrue(8e6 < total["lo"] < 10e6 < total["hi"], total)
        self.assertNotIn("open", total)
        self.assertIn("recursion is folded", self.geiger("doctor", "whole.geiger"))
        for frames in ("254", "262145", "x"):
            said = self.refused("run", "--max-frames", frames, "--", "true", code=2)
            self.assertEqual(said.split("\n")[0], f"geiger: --max-frames: '{frames}' is not a "
                             "number of frames (255 to 262144)")

    def test_budget_for_what_does_not_exist_warns(self):
        with open(os.path.join(self.here, "typo.budget"), "w") as file:
            file.write("max-bytes 1MiB rememebr*\n")
        words = ("check", "--budget", "typo.budget", "plain.geiger")
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(b"no function 'rememebr*' was seen", done.stderr)
        self.geiger(*words, "--strict", code=4)

    def test_nothing_changed(self):
        # Chance finds something in one of twenty pairs; with these seeds it does not.
        for by in ("function", "stack", "module"):
            diff = self.json("diff", "plain.geiger", "again.geiger", "--by", by)
            self.assertEqual(diff["changes"], 0, diff["rows"])
            self.assertEqual(diff["exact"]["change"], 0)
        self.assertIn("No change exceeds the noise", self.geiger("diff", "plain.geiger", "again.geiger"))

    def test_samples_that_two_recordings_of_a_process_have_cancel_out(self):
        # 20 MB stay and 3 MB come: 300 samples and 45. Before they cancelled out, the error of the
        # 20 MB was that of the change: "no change exceeds the noise".
        command = [GEIGER, "run", "-q", "--interval", "64KiB", "--seed", "7", "-o", "grow.geiger",
                   "--", sys.executable, "-c", GROW]
        with subprocess.Popen(command, cwd=self.here, env={**os.environ, "PYTHONHASHSEED": "0"},
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            for copy, objects in (("first", 0), ("second", 3000)):
                run.stdin.write(b"%d\n" % objects)
                run.stdin.flush()
                self.assertEqual(run.stdout.readline(), b"grown\n")
                shutil.copytree(os.path.join(self.here, "grow.geiger.parts"),
                                os.path.join(self.here, copy))
            run.stdin.close()
            self.assertEqual(run.wait(), 0)
        truth = 3000 * 1001  # And less than 100 KB for the list.
        diff = self.json("diff", "first", "second", "--kind", "live")
        self.assertTrue(diff["after"]["shares_process"])
        change = diff["total"]["change"]
        self.assertEqual(diff["total"]["verdict"], "grew")
        self.assertLess(change["lo"], truth)
        self.assertGreater(change["hi"], truth)
        self.assertLess(change["hi"] - change["lo"], 2.5e6, "4 standard errors of 45 samples: 1.8e6")
        self.assertIn("recordings of one process", self.geiger("diff", "first", "second"))
        # What go tool pprof -diff_base subtracts.
        before, after = (self.json("table", "--kind", "live", "--by", "stack", "--top", "0", copy)
                         for copy in ("first", "second"))
        self.assertAlmostEqual(after["total"]["bytes"]["value"] - before["total"]["bytes"]["value"],
                               change["value"], delta=1)
        # Read together they are one process.
        both = self.json("table", "--kind", "live", "first", "second")
        self.assertEqual(both["total"], after["total"])
        # As runs of a side they would seem to differ by little.
        self.assertIn("same process", self.refused("diff", "plain.geiger", "--", "first", "second",
                                                   code=1))
        # 14 % of growth: decided, as the heap's own error is scaled with the limit.
        limit = ("--kind", "live", "--max-growth")
        self.geiger("check", "first", "second", *limit, "5%", code=3)
        self.geiger("check", "first", "second", *limit, "30%", code=0)
        apart = self.json("diff", "plain.geiger", "again.geiger")
        self.assertFalse(apart["after"]["shares_process"])

    def test_a_leak_is_found_and_nothing_else(self):
        diff = self.json("diff", "--kind", "live", "plain.geiger", "leak.geiger")
        self.assertEqual([row["name"] for row in diff["rows"]], ["remember"])
        row = diff["rows"][0]
        self.assertEqual(row["verdict"], "first seen")
        self.assertLess(row["change"]["lo"], self.truth["leak"]["leaked"])
        self.assertGreater(row["change"]["hi"], self.truth["leak"]["leaked"])
        allocated = self.json("diff", *ALLOCATED, "plain.geiger", "leak.geiger")
        self.assertEqual(allocated["changes"], 0, "it allocates as much as before")

    def test_a_reserve_is_found_and_nothing_else(self):
        diff = self.json("diff", *ALLOCATED, "plain.geiger", "reserve.geiger")
        self.assertEqual([(row["name"], row["verdict"]) for row in diff["rows"]],
                         [("fill_table", "shrank")])
        change = self.change_of("reserve", "fill_table")
        self.assertEqual(diff["exact"]["change"], change, "the totals are counted")
        self.assertLessEqual(diff["rows"][0]["change"]["lo"], change)
        self.assertGreaterEqual(diff["rows"][0]["change"]["hi"], change)

    def test_both_in_every_view(self):
        live = ("--kind", "live")
        for by in ("function", "line", "stack"):
            for kind, name in ((live, "remember"), (ALLOCATED, "fill_table")):
                diff = self.json("diff", "plain.geiger", "both.geiger", "--by", by, *kind)
                self.assertEqual({row["name"] for row in diff["rows"]}, {name})
                places = [(row["name"], row["line"]) for row in diff["rows"]]
                self.assertEqual(len(places), len(set(places)))
                self.assertTrue(by == "line" or len(places) == 1, places)
                self.assertGreater(diff["rows"][0]["line"], 0)
        module = self.json("diff", "plain.geiger", "both.geiger", "--by", "module", *live)
        self.assertEqual([row["name"] for row in module["rows"]], ["changes"],
                         "the renamed program is still the program")
        inclusive = self.json("diff", "plain.geiger", "both.geiger", "--inclusive", *live)
        self.assertIn("main", [row["name"] for row in inclusive["rows"]])

    def test_sides_may_differ_in_their_intervals(self):
        self.record("coarse", 3, CHANGES, "reserve", interval="32KiB")
        diff = self.json("diff", *ALLOCATED, "plain.geiger", "coarse.geiger")
        self.assertEqual([row["name"] for row in diff["rows"]], ["fill_table"])
        self.assertEqual(diff["after"]["most_interval"], 32768)

    def test_several_runs(self):
        for i in (1, 2, 3):
            self.record(f"p{i}", 100 + i, CHANGES, "plain")
            self.record(f"l{i}", 200 + i, CHANGES, "leak")
        before = ["p1.geiger", "p2.geiger", "p3.geiger"]
        after = ["l1.geiger", "l2.geiger", "l3.geiger"]
        diff = self.json("diff", "--kind", "live", *before, "--", *after)
        self.assertFalse(diff["is_sampling_only"])
        self.assertEqual([row["name"] for row in diff["rows"]], ["remember"])
        self.assertEqual(diff["after"]["run_count"], 3)
        same = self.json("diff", *ALLOCATED, *before, "--", *after, "--all")
        self.assertEqual(same["changes"], 0)
        self.geiger("check", *before, "--", *after, "--max-growth", "1%")
        self.geiger("check", *before, "--", *after, "--max-growth", "20%", "--kind", "live", code=3)

    def open_limit(self, run):
        """A limit on live bytes that the samples of a run leave open."""
        check = self.json("check", run, "--kind", "live", "--max-bytes", "1", code=3)
        gate = check["gates"][0]
        return str(round((gate["value"] + gate["hi"]) / 2))

    def test_check_has_three_answers(self):
        self.geiger("check", "plain.geiger", "again.geiger", "--max-growth", "0%")
        self.geiger("check", "plain.geiger", "leak.geiger", "--kind", "live",
                    "--max-growth", "20%", code=3)
        undecided = self.geiger("check", "leak.geiger", "--kind", "live", "--max-bytes",
                                self.open_limit("leak.geiger"), code=4)
        self.assertIn("To decide total: geiger run --interval ", undecided)
        self.geiger("check", "leak.geiger", "--kind", "live", "--max-bytes", "10MiB")
        self.geiger("check", "leak.geiger", "--kind", "live", "--max-bytes", "1MiB", code=3)

    def test_what_would_decide_does(self):
        limit = str(self.truth["leak"]["leaked"] * 104 // 100)
        words = ("--kind", "live", "--max-bytes", limit)
        self.record("coarse-leak", 5, CHANGES, "leak", interval="32KiB")
        text = self.geiger("check", "coarse-leak.geiger", *words, code=4)
        # What is advised decides four times out of five: three rounds leave one in 125.
        for round in range(3):
            interval = text.split("--interval ")[1].split()[0]
            self.record("finer", 6 + round, CHANGES, "leak", interval=interval)
            done = geiger("check", "finer.geiger", *words, cwd=self.here)
            if done.returncode != 4:
                break
            text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, done)

    def test_budgets(self):
        with open(os.path.join(self.here, "budget"), "w") as budget:
            budget.write("# per function\n"
                         f"max-bytes {self.truth['plain']['fill_table'] * 2} fill_table\n"
                         "max-bytes 1GiB *\n"
                         "max-growth 40% serve in changes\n"
                         "max-growth -10% fill_table\n")
        check = self.json("check", "plain.geiger", "reserve.geiger", "--budget", "budget")
        self.assertEqual([gate["answer"] for gate in check["gates"]], ["pass"] * 4)
        self.assertEqual(check["gates"][3]["source"], "budget:5")
        check = self.json("check", "plain.geiger", "again.geiger", "--budget", "budget", code=3)
        self.assertEqual([gate["answer"] for gate in check["gates"]][3], "fail")

    def test_every_site_is_a_gate(self):
        words = ("check", "--by", "function", "--max-growth", "50%", "--kind", "live")
        check = self.json(*words, "plain.geiger", "leak.geiger", code=3)
        failed = [gate["name"] for gate in check["gates"] if gate["answer"] == "fail"]
        self.assertEqual(failed, ["total", "remember"])
        self.geiger("check", "--by", "function", "--max-growth", "50%", "plain.geiger",
                    "again.geiger")

    def test_junit(self):
        self.geiger("check", "plain.geiger", "leak.geiger", "--kind", "live", "--max-growth",
                    "20%", "--max-bytes", "1GiB", "--junit", "out.xml", code=3)
        suites = xml.etree.ElementTree.parse(os.path.join(self.here, "out.xml")).getroot()
        self.assertEqual(suites.tag, "testsuites")
        cases = suites.findall("testsuite/testcase")
        self.assertEqual([len(case.findall("failure")) for case in cases], [1, 0])
        self.assertEqual(suites.get("failures"), "1")
        undecided = self.geiger("check", "leak.geiger", "--kind", "live", "--max-bytes",
                                self.open_limit("leak.geiger"), "--junit", "-", code=4)
        case = xml.etree.ElementTree.fromstring(undecided).find("testsuite/testcase")
        self.assertEqual(case.find("error").get("type"), "undecided")

    def test_a_first_run_has_no_baseline(self):
        allow = ("check", "--allow-missing-baseline", "--max-growth", "5%")
        os.makedirs(os.path.join(self.here, "no-artifacts"), exist_ok=True)
        said = "No baseline: nothing compared. Not checked: --max-growth.\n"
        for before in (("baseline/*.geiger",), ("no-artifacts",), ()):
            self.assertEqual(self.geiger(*allow, *before, "--", "plain.geiger"), said)
        self.assertEqual(self.geiger(*allow, "plain.geiger"), said)
        self.assertEqual(self.geiger(*allow, "gone.geiger", "plain.geiger"), said)
        # Other limits hold, and the run itself must be readable.
        self.geiger(*allow, "gone.geiger", "plain.geiger", "--max-bytes", "1GiB")
        text = self.geiger(*allow, "gone.geiger", "plain.geiger", "--max-bytes", "1KiB", code=3)
        self.assertIn("FAIL: 1 failed", text)
        self.assertIn(said, text)
        self.refused(*allow, "gone.geiger", "gone.geiger", code=1)
        # With a baseline nothing changes; a part of one is not a missing one.
        self.geiger(*allow, "plain.geiger", "leak.geiger", "--kind", "live", code=3)
        open(os.path.join(self.here, "empty.geiger"), "w").close()
        for broken in (("plain.geiger", "gone.geiger"), ("empty.geiger",)):
            self.refused(*allow, *broken, "--", "plain.geiger", code=1)
        # Without the option a missing baseline is an error.
        self.refused(*allow[:1], *allow[2:], "gone.geiger", "plain.geiger", code=1)

    def test_python_keeps_memory(self):
        for name, blocks in (("small", "2000"), ("large", "7000")):
            self.record(name, 1, sys.executable, "-c", KEEP, blocks,
                        options=("--python", "stacks"))
        kept = 5000 * 1001  # A bytearray of 1000 has a byte more.
        diff = self.json("diff", *ALLOCATED, "small.geiger", "large.geiger")
        self.assertGreater(diff["exact"]["change"], kept)
        self.assertLess(diff["exact"]["change"], 1.1 * kept)
        self.assertGreater(diff["rows"][0]["change"]["hi"], 0.9 * kept)
        names = [row["name"] for row in diff["rows"]]
        self.assertLessEqual(len(names), 3, names)
        self.geiger("check", "small.geiger", "large.geiger", "--max-growth", "10%", code=3)

    def test_usage(self):
        for words in (("diff",), ("diff", "plain.geiger"), ("diff", "a", "b", "c"),
                      ("diff", "a", "--", "b", "--", "c"), ("diff", "a", "b", "--sort", "size"),
                      ("diff", "a", "b", "--level", "1.5%%"), ("diff", "a", "b", "--level", "0"),
                      ("check", "a", "b", "--max-growth", "5%", "--by", "line"),
                      ("check", "a", "b"), ("check", "a", "b", "--max-growth", "5"),
                      ("check", "a", "b", "--max-growth", "nan%"),
                      ("check", "a", "--max-growth", "5%"),
                      ("check", "--", "a", "--max-growth", "5%"),
                      ("check", "a", "b", "--max-bytes", "-3"),
                      ("check", "a", "b", "--max-growth", "5%", "--level", "40%"),
                      ("check", "a", "b", "--budget", "no-such-file")):
            message = self.refused(*words, code=2)
            self.assertTrue(message.startswith("geiger: "), message)
            self.assertEqual(len(message.splitlines()), 2, message)

    def test_budget_errors_name_their_line(self):
        with open(os.path.join(self.here, "broken"), "w") as budget:
            budget.write("max-bytes 1MiB *\n\nmax-growth five *\n")
        message = self.refused("check", "plain.geiger", "leak.geiger", "--budget", "broken", code=2)
        self.assertIn("broken:3: 'five' is not a growth limit (try 5%)", message)

    def test_check_takes_the_newest_run_as_other_verbs_do(self):
        with tempfile.TemporaryDirectory() as here:
            done = geiger("check", "--max-bytes", "1GiB", cwd=here)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"no run found here", done.stderr)
            shutil.copy(os.path.join(self.here, "plain.geiger"), here)
            done = geiger("check", "--max-bytes", "1GiB", cwd=here)
            self.assertEqual((done.returncode, done.stdout[:5]), (0, b"PASS:"), done)
        self.refused("check", "--max-growth", "5%", code=2)  # One run is not enough.

    def test_unusable_runs(self):
        self.assertIn("nowhere", self.refused("diff", "plain.geiger", "nowhere", code=1))
        with open(os.path.join(self.here, "plain.geiger"), "rb") as trace:
            whole = trace.read()
        with open(os.path.join(self.here, "half.trace"), "wb") as trace:
            trace.write(whole[:len(whole) // 3 // 8 * 8])
        done = geiger("diff", "plain.geiger", "half.trace", cwd=self.here)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"half.trace", done.stderr)
        done = geiger("check", "plain.geiger", "half.trace", "--max-growth", "50%", cwd=self.here)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"half.trace", done.stderr)
        self.assertIn(b"UNDECIDED", done.stdout)

    def test_programs_without_anything_in_common(self):
        self.record("perl", 1, "perl", "-e", "my @a = map { 'x' x 2000 } 1..3000;")
        for words in (("diff",), ("check", "--max-growth", "50%")):
            message = self.refused(*words, "perl.geiger", "plain.geiger", "--by", "stack", code=1)
            self.assertIn("nothing in common", message)

    def test_many_runs(self):
        runs = []
        data = bytearray(pathlib.Path(self.here, "plain.geiger").read_bytes())
        image_start = 3352  # In the header: docs/internals/trace-format.md.
        for number in range(1, 151):  # Of processes that began at different times.
            struct.pack_into("<Q", data, image_start, number)
            runs.append(f"many-{number}.geiger")
            pathlib.Path(self.here, runs[-1]).write_bytes(data)
        diff = self.json("diff", *runs, "--", *runs)
        self.assertEqual(diff["changes"], 0)
        self.assertEqual(diff["before"]["run_count"], 150)


if __name__ == "__main__":
    unittest.main()
