#!/usr/bin/env python3
"""What holds live memory, against programs that know it: each block of tests/hosts/holders.cc is
allocated in a function that says how it is held, or that it is lost, or hidden.

usage: holders.py GEIGER

Every allocation is sampled, so each block is judged and the numbers are exact.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import harness

GEIGER = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.sep in sys.argv[1] else str(
    harness.BUILD / "bin" / "geiger")
LOST = ("lost", "lost_list", "lost_cycle", "lost_payload")
HIDDEN = ("hidden_by_xor", "hidden_by_complement", "hidden_in_32_bits")
UNREACHABLE = ("unreferenced", "unreachable")


def own_name(function):
    return function.split("::")[-1].split("(")[0]


def allocator(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


class Program:
    """The host under geiger, asked while it runs."""

    def __init__(self, *words, preload=None, options=(), program=None):
        self.here = tempfile.TemporaryDirectory(prefix="geiger-holders-")
        self.file = os.path.join(self.here.name, "run.geiger")
        environment = dict(os.environ)
        if preload:
            environment["LD_PRELOAD"] = preload
        self.process = subprocess.Popen(
            [GEIGER, "run", "-q", "--interval", "1", *options, "-o", self.file, "--",
             program or harness.host("holders"), *words],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, *words):
        return self.ask_of(self.file + ".parts", *words)

    def ask_of(self, run, *words):
        asked = subprocess.run([GEIGER, "holders", run, "--top", "0", "--wrappers", "named", *words],
                               capture_output=True, text=True, check=False)
        assert asked.returncode == 0, asked.stderr
        return asked.stdout

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        self.here.cleanup()


def sums(report):
    """By function: bytes by how they are held, and all roots."""
    found = {}
    for site in report["sites"]:
        holds, roots = found.setdefault(own_name(site["name"]), ({}, set()))
        for part in site["parts"]:
            holds[part["hold"]] = holds.get(part["hold"], 0) + part["live"]["bytes"]["value"]
            roots.add(part.get("root"))
    return found


class KnownBlocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = Program()
        cls.report = json.loads(cls.program.ask("--json"))
        cls.found = sums(cls.report)

    @classmethod
    def tearDownClass(cls):
        cls.program.end()

    def test_the_document_is_as_its_schema_says(self):
        schema = json.loads((harness.ROOT / "docs/schema/geiger-report.schema.json").read_text())
        jsonschema.validate(self.report, schema)

    def test_every_kind_is_told(self):
        self.assertFalse(self.report["is_inferred"])
        kinds = [name for name in self.found if name.startswith(("by_", "lost", "hidden"))]
        self.assertGreaterEqual(len(kinds), 48)
        for name in kinds:
            holds, _ = self.found[name]
            wanted = UNREACHABLE if name in LOST + HIDDEN else ("reached",)
            self.assertEqual(set(holds) - set(wanted), set(), name)

    def test_nothing_points_to_what_is_alone(self):
        self.assertEqual(set(self.found["lost"][0]), {"unreferenced"})
        self.assertEqual(set(self.found["lost_cycle"][0]), {"unreachable"})
        self.assertEqual(set(self.found["lost_payload"][0]), {"unreachable"})

    def test_roots_have_names(self):
        for name, root in (("by_global", "g_pointer[*]"), ("by_map", "g_map"), ("by_member", "g_member.pointer[*]"),
                           ("by_static_local", "static_local()::pointers[*]"),
                           ("by_thread_local", "thread_local t_pointer[*] of thread holders"),
                           ("by_thread_local_of_thread", "thread_local t_pointer[*] of thread holders"),
                           ("by_stack_of_blocked", "stack of thread holders"),
                           ("by_block_of_block", "g_block_of_block")):
            self.assertTrue(any(found and found.endswith(root) for found in self.found[name][1]),
                            (name, self.found[name][1]))

    def test_nothing_is_brought_into_the_process(self):
        trace, = os.listdir(self.program.file + ".parts")
        pid = trace.split(".")[-3]

        def faults():
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return fields[7:11], fields[21]  # Page faults, its children's too, and resident pages.

        before = faults()
        self.program.ask_of(self.program.file)
        self.assertEqual(faults(), before)

    def test_what_time_does_not_allow_is_undecided(self):
        found = sums(json.loads(self.program.ask("--json", "--limit", "1us")))
        for name in ("lost", "by_block_of_block"):
            self.assertEqual(set(found[name][0]) & set(UNREACHABLE), set(), name)
        self.assertIn("time_over", found["lost"][0])

    def test_the_process_may_be_named(self):
        trace, = os.listdir(self.program.file + ".parts")
        said = self.program.ask_of(trace.split(".")[-3])
        self.assertIn(" unreachable: ", said)

    def test_the_text_names_what_is_lost(self):
        said = " ".join(self.program.ask().split())
        self.assertRegex(said, r"lost \(holders\.cc:\d+\) 2\.34 KiB 100 % unreachable: nothing points to it")


class Stored(unittest.TestCase):
    """An attached recording that looked for holders when it was ended."""

    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.TemporaryDirectory(prefix="geiger-holders-")
        cls.file = os.path.join(cls.here.name, "run.geiger")
        harness.record_holders(GEIGER, cls.file, 1)

    @classmethod
    def tearDownClass(cls):
        cls.here.cleanup()

    def ask(self, *words):
        asked = subprocess.run([GEIGER, *words, self.file], capture_output=True, text=True, check=False)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return asked.stdout

    def test_the_report_needs_no_process(self):
        found = sums(json.loads(self.ask("holders", "--json", "--top", "0", "--wrappers", "named")))
        self.assertEqual(set(found["lost"][0]), {"unreferenced"})
        self.assertEqual(set(found["by_map"][0]), {"reached"})

    def test_holders_are_rows_of_a_table(self):
        rows = {row["name"]: row for row in json.loads(
            self.ask("table", "--json", "--by", "holder", "--kind", "live", "--top", "0"))["rows"]}
        self.assertGreater(rows["[unreachable]"]["self"]["bytes"]["value"], 50 * 48 * 4)
        self.assertTrue(any(name.endswith("g_map") for name in rows), sorted(rows))

    def test_what_is_unreachable_is_a_suspect_whatever_it_grows_by(self):
        report = json.loads(self.ask("leaks", "--json", "--wrappers", "named"))
        self.assertEqual(report["finding"], "suspects")
        self.assertIn("lost", {own_name(site["name"]) for site in report["unreachable"]})
        self.assertRegex(" ".join(self.ask("leaks", "--wrappers", "named").split()),
                         r"2\.34 KiB of lost \(holders\.cc:\d+\) is unreachable: nothing points to it\.")


class MovingBlocks(unittest.TestCase):
    def check(self, how):
        """Four threads move their blocks all the time. None is called unreachable, all that are lost are."""
        program = Program(how)
        try:
            found = sums(json.loads(program.ask("--json")))
        finally:
            program.end()
        moved = found["moved"][0]
        self.assertGreater(moved["reached"], 500 * 48)
        self.assertEqual(set(moved) & set(UNREACHABLE), set())
        lost = sum(size for hold, size in found["lost"][0].items() if hold in UNREACHABLE)
        self.assertGreaterEqual(lost, 600 * 48)
        reached = found["lost"][0].get("reached", 0)
        self.assertLessEqual(reached, 0.01 * lost)

    def test_at_full_load(self):
        self.check("churn")

    def test_at_a_lower_load(self):
        self.check("churn_slowly")


class OtherAllocators(unittest.TestCase):
    def check_library(self, library, most_held):
        path = allocator(library)
        if path is None:
            self.skipTest(f"{library} is not installed")
        self.check(Program(preload=path), True, most_held)

    def check(self, program, is_inferred, most_held, may_be=("reached",)):
        """Held ones are as `may_be` says. Of lost blocks at most the share `most_held` may seem held, by words that
        are left over."""
        try:
            report = json.loads(program.ask("--json"))
        finally:
            program.end()
        self.assertEqual(report["is_inferred"], is_inferred)
        found = sums(report)
        # A pointer to the end of a block is one to the next block.
        held = [name for name in found if name.startswith("by_") and name != "by_end"]
        for name in held:
            self.assertEqual(set(found[name][0]) - set(may_be), set(), name)
        lost = {hold: sum(found[name][0].get(hold, 0) for name in LOST)
                for hold in ("reached", *UNREACHABLE)}
        self.assertLessEqual(lost["reached"], most_held * sum(lost.values()))

    def test_geiger(self):
        self.check(Program(options=("--malloc", "geiger")), False, 0.05)

    def test_musl(self):
        if shutil.which("musl-gcc") is None:
            self.skipTest("musl-tools is not installed")
        with tempfile.TemporaryDirectory() as here:
            program = os.path.join(here, "holders_plain")
            source = harness.ROOT / "tests/hosts/holders_plain.c"
            subprocess.run(["musl-gcc", "-g", "-O1", source, "-o", program], check=True)
            # Some blocks are in the unused ends of modules' data.
            self.check(Program(program=program), True, 0.05, ("reached", "no_block"))

    def test_jemalloc(self):
        self.check_library("libjemalloc.so.2", 0.05)

    def test_mimalloc(self):
        self.check_library("libmimalloc.so.2", 0.05)

    def test_tcmalloc(self):
        self.check_library("libtcmalloc_minimal.so.4", 0.12)


class Refusals(unittest.TestCase):
    def test_tables_say_what_is_missing(self):
        with tempfile.TemporaryDirectory() as here:
            run = os.path.join(here, "run.geiger")
            subprocess.run([GEIGER, "run", "-q", "-o", run, "--", "sh", "-c", ":"], check=True)
            asked = subprocess.run([GEIGER, "table", "--by", "holder", run], capture_output=True, text=True,
                                   check=False)
            self.assertEqual(asked.returncode, 1)
            self.assertIn("'geiger run --holders'", asked.stderr)

    def test_what_has_ended(self):
        with tempfile.TemporaryDirectory() as here:
            run = os.path.join(here, "run.geiger")
            subprocess.run([GEIGER, "run", "-q", "--interval", "1", "-o", run, "--", "sh", "-c", ":"], check=True)
            asked = subprocess.run([GEIGER, "holders", run], capture_output=True, text=True, check=False)
            self.assertEqual(asked.returncode, 1, asked.stderr)
            self.assertEqual(len(asked.stderr.splitlines()), 1, asked.stderr)


if __name__ == "__main__":
    unittest.main()
