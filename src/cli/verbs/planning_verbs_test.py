"""doctor and plan: over a real run, over traces made wrong on purpose, and alone."""
import json
import os
import struct
import unittest
import xml.etree.ElementTree

from recorded_program import RecordedProgram, geiger

RECORDS, TAIL_FIELD = 8192, 24
SAMPLE, CERTAIN, RESERVED = 1, 0x01, 0x80
OFFSET_FIELD = 48
PID_FIELD = 48  # Of the header.


def tried_samples(trace):
    """Offsets in the file of the samples that chance chose."""
    tail = struct.unpack_from("<Q", trace, TAIL_FIELD)[0]
    at = RECORDS
    while at < tail:
        header = struct.unpack_from("<Q", trace, at)[0]
        words = header >> 16 & 0xfff
        if header & 0xff == SAMPLE and not header >> 8 & (CERTAIN | RESERVED):
            yield at
        at += 8 * max(words, 1)


class PlanningVerbs(RecordedProgram):
    def json(self, *words, code=0):
        document = json.loads(self.geiger(*words, "--json", code=code))
        self.assertEqual(document["schema_version"], 1)
        return document

    def error(self, *words, code):
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, code, done)
        line = done.stderr.decode().splitlines()[0]
        self.assertTrue(line.startswith("geiger: "), line)
        return line

    def altered(self, name, change):
        """A copy of the trace, each n-th tried sample changed by change(trace, at, n)."""
        with open(os.path.join(self.here, "a.geiger"), "rb") as file:
            trace = bytearray(file.read())
        for n, at in enumerate(tried_samples(trace)):
            change(trace, at, n)
        with open(os.path.join(self.here, name), "wb") as file:
            file.write(trace)
        return name

    def defects(self, *runs):
        report = self.json("doctor", *runs, code=1)
        self.assertFalse(report["healthy"])
        return {one["check"] for one in report["findings"] if one["severity"] == "defect"}

    # ------------------------------------------------------------- doctor ---

    def test_doctor_finds_nothing_in_a_right_recording(self):
        report = self.json("doctor", "a.geiger")
        self.assertTrue(report["healthy"])
        self.assertEqual(len(report["findings"]), 14)
        self.assertGreater(report["offsets"]["samples"], 1000)
        self.assertGreater(report["offsets"]["p_value"], 1e-6)
        self.assertIn("healthy", self.geiger("doctor", "a.geiger"))

    def test_summary_carries_the_self_check(self):
        self.assertTrue(self.json("summary", "a.geiger")["self_check"]["passed"])
        self.assertIn("self-check        passed", self.geiger("summary", "a.geiger"))

    def test_doctor_finds_offsets_shifted_by_one(self):
        def shift(trace, at, n):
            offset = struct.unpack_from("<Q", trace, at + OFFSET_FIELD)[0]
            struct.pack_into("<Q", trace, at + OFFSET_FIELD, offset + 1)
        wrong = self.altered("shifted.trace", shift)
        self.assertEqual(self.defects(wrong), {"offsets"})
        summary = geiger("summary", wrong, cwd=self.here)
        self.assertIn(b"self-check        FAILED", summary.stdout)
        self.assertIn(b"warning: Offsets of sampled bytes", summary.stdout)

    def test_doctor_finds_offsets_that_are_not_drawn(self):
        wrong = self.altered("zeroed.trace", lambda trace, at, n: struct.pack_into(
            "<Q", trace, at + OFFSET_FIELD, 0))
        self.assertEqual(self.defects(wrong), {"offsets"})

    def test_doctor_finds_hits_without_samples(self):
        def drop(trace, at, n):
            if n % 3 == 0:
                trace[at + 1] |= RESERVED
        self.assertEqual(self.defects(self.altered("dropped.trace", drop)), {"samples", "total"})

    def test_doctor_finds_the_same_draws_twice(self):
        with open(os.path.join(self.here, "a.geiger"), "rb") as file:
            again = bytearray(file.read())
        again[PID_FIELD] ^= 1  # Else it is a copy, which is left out.
        with open(os.path.join(self.here, "again.trace"), "wb") as file:
            file.write(again)
        self.assertEqual(self.defects("a.geiger", "again.trace"), {"draws"})
        report = self.json("doctor", "a.geiger", "again.trace", code=1)
        self.assertEqual(report["shared_draws"][0]["threads"], 2)

    def test_doctor_says_where_the_damage_is(self):
        with open(os.path.join(self.here, "a.geiger"), "rb") as file:
            whole = file.read()
        with open(os.path.join(self.here, "half.trace"), "wb") as file:
            file.write(whole[:len(whole) // 3 // 8 * 8])
        self.assertIn("damage", self.defects("half.trace"))
        self.assertIn("nowhere", self.error("doctor", "nowhere", code=1))

    # --------------------------------------------------------------- plan ---

    def test_plan_for_a_change(self):
        plan = self.json("plan", "--site", "1GiB", "--change", "10%")
        self.assertAlmostEqual(plan["goals"][0]["samples_needed"], 1648, delta=2)
        self.assertEqual(plan["interval"], 512 * 1024)
        self.assertGreater(plan["site"]["samples"], 1648)
        text = self.geiger("plan", "--site", "1GiB", "--change", "10%")
        self.assertIn("next: geiger run --interval 512KiB -- PROGRAM", text)
        smaller = self.json("plan", "--site", "1GiB", "--change", "-10%")
        self.assertLess(smaller["goals"][0]["samples_needed"], 1648)

    def test_plan_as_the_faq_shows(self):
        for goal in (("--precision", "20%"), ("--change", "10%")):
            plan = self.json("plan", "--site", "5MiB", *goal)
            self.assertLess(plan["interval"], 512 * 1024)

    def test_plan_for_a_precision(self):
        plan = self.json("plan", "--site", "1GiB", "--precision", "22%")
        self.assertAlmostEqual(plan["goals"][0]["samples_needed"], 96, delta=2)

    def test_plan_of_an_interval(self):
        plan = self.json("plan", "--interval", "64KiB")
        chances = {round(one["bytes"] / 65536, 2): one["chance"] for one in plan["sites"]}
        self.assertAlmostEqual(chances[3.0], 0.9502, delta=5e-5)
        self.assertAlmostEqual(chances[1.75], 0.8262, delta=5e-5)
        self.assertIn("relative error of N bytes", self.geiger("plan", "--interval", "64KiB"))

    def test_plan_of_several_intervals(self):
        words = ["plan", "--interval", "512KiB,16KiB", "--interval", "64KiB"]
        plan = self.json(*words)
        self.assertEqual([one["interval"] for one in plan["intervals"]],
                         [16 * 1024, 64 * 1024, 512 * 1024])
        self.assertEqual(plan["interval"], 16 * 1024)
        for one in plan["intervals"]:
            # One sampled byte stands for T; from T bytes on nothing is left to chance.
            self.assertAlmostEqual(one["objects"][0]["relative_error"], one["interval"] - 1,
                                   delta=1e-3)
            for thing in one["objects"]:
                self.assertEqual(thing["relative_error"] == 0, thing["bytes"] >= one["interval"])
        text = self.geiger(*words)
        self.assertRegex(text, "at 16 KiB +at 64 KiB +at 512 KiB")
        self.assertIn("--interval 16KiB --", text)
        site = self.json(*words, "--site", "1MiB")
        self.assertEqual([one["site"]["samples"] for one in site["intervals"]],
                         sorted((one["site"]["samples"] for one in site["intervals"]),
                                reverse=True))
        run = self.json(*words, "a.geiger")
        self.assertIn("relative_error", run["intervals"][2]["expected"])

    def test_plan_with_a_run(self):
        samples = self.json("summary", "a.geiger")["allocated"]["bytes"]["samples"]
        plan = self.json("plan", "a.geiger", "--change", "50%")
        self.assertEqual(plan["run"]["interval"], 1024)
        self.assertTrue(plan["run"]["functions"])
        same = self.json("plan", "a.geiger")
        self.assertAlmostEqual(same["run"]["expected"]["samples"], samples,
                               delta=6 * samples ** 0.5)

    def test_plan_refuses_what_cannot_be(self):
        for words in (["--site", "0", "--change", "10%"], ["--change", "0"], ["--change", "-100%"],
                      ["--change", "nan"], ["--precision", "-5%"], ["--interval", "0"],
                      ["--power", "1"], ["--alpha", "0"], ["--power", "1%"], ["--ci", "100%"],
                      ["--site", "10MiB"], ["--site", "ten", "--change", "10%"],
                      ["--interval", "1,2,3,4,5,6,7"],
                      ["--interval", "64KiB,0"]):
            with self.subTest(words=words):
                self.error("plan", *words, code=2)
        self.assertIn("nowhere", self.error("plan", "nowhere", code=1))

    # ---------------------------------------------------------------- all ---

    def test_pictures_are_whole_documents(self):
        self.geiger("plan", "--svg", "out.svg", "-f")
        root = xml.etree.ElementTree.parse(os.path.join(self.here, "out.svg")).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        self.assertIn("exists", self.error("plan", "--svg", "out.svg", code=1))
        self.assertIn("No such file", self.error("plan", "--svg", "no/such/x.svg", code=1))

    def test_plain_terminals_get_ascii(self):
        for words in (["plan"], ["doctor", "a.geiger"]):
            self.assertTrue(self.geiger(*words, LC_ALL="C").isascii(), words)
            self.assertNotIn("\x1b", self.geiger(*words))
            self.assertIn("\x1b[", self.geiger(*words, CLICOLOR_FORCE="1"))
            self.assertNotIn("\x1b", self.geiger(*words, CLICOLOR_FORCE="1", NO_COLOR="1"))

    def test_help_has_examples(self):
        for verb in ("doctor", "plan"):
            self.assertIn("Examples:\n  geiger " + verb, self.geiger(verb, "--help"))
        self.assertIn("did you mean 'doctor'?", self.error("docter", code=2))


if __name__ == "__main__":
    unittest.main()
