#!/usr/bin/env python3
"""What holds live memory, against programs that know it: each block of tests/hosts/holders.cc is
allocated in a function that says how it is held, or that it is lost, or hidden.

usage: holders.py GEIGER

Every allocation is sampled, so each block is judged and the numbers are exact.
"""
import json
import os
import platform
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

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

    def __init__(self, *words, preload=None, options=(), program=None, host="holders", interval="1"):
        self.here = tempfile.TemporaryDirectory(prefix="geiger-holders-")
        self.file = os.path.join(self.here.name, "run.geiger")
        environment = dict(os.environ)
        if preload:
            environment["LD_PRELOAD"] = preload
        self.process = subprocess.Popen(
            [GEIGER, "run", "-q", "--interval", interval, *options, "-o", self.file, "--",
             program or harness.host(host), *words],
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
        import jsonschema  # Not where tests/arm64_guest.py runs.

        schema = json.loads((harness.ROOT / "docs/schema/geiger-report.schema.json").read_text())
        jsonschema.validate(self.report, schema)

    def test_every_kind_is_told(self):
        self.assertFalse(self.report["is_inferred"])
        kinds = [name for name in self.found if name.startswith(("by_", "lost", "hidden"))]
        self.assertGreaterEqual(len(kinds), 51)
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

    def test_the_answer_of_a_controller_is_stored(self):
        trace, = os.listdir(self.program.file + ".parts")
        subprocess.run([GEIGER, "ctl", trace.split(".")[-3], "holders"], check=True, capture_output=True)
        table = subprocess.run([GEIGER, "table", "--json", "--by", "holder", "--kind", "live", "--top", "0",
                                self.program.file + ".parts"], capture_output=True, text=True, check=True)
        rows = {row["name"]: row["self"]["bytes"]["value"] for row in json.loads(table.stdout)["rows"]}
        self.assertGreater(rows["[unreachable]"], 50 * 48 * 4)
        self.assertTrue(any(name.endswith("g_map") for name in rows), sorted(rows))

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


@unittest.skipUnless((3, 10) <= sys.version_info <= (3, 14), "its objects are not known")
class CPython(unittest.TestCase):
    """Cycles of a program that has switched the collector off."""

    def test_cycles_are_listed_and_what_is_held_is_held(self):
        with tempfile.TemporaryDirectory(prefix="geiger-holders-") as here:
            file = os.path.join(here, "run.geiger")
            program = subprocess.Popen([GEIGER, "run", "-q", "--interval", "64", "-o", file, "--", sys.executable,
                                        str(harness.ROOT / "tests/hosts/cycles.py")],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertEqual(program.stdout.readline(), b"ready\n")
            asked = subprocess.run([GEIGER, "holders", file, "--json", "--top", "0", "--by", "type"],
                                   capture_output=True, text=True, check=False)
            program.communicate()
        self.assertEqual(asked.returncode, 0, asked.stderr)
        report = json.loads(asked.stdout)
        found = {site["name"]: {} for site in report["sites"]}
        for site in report["sites"]:
            for part in site["parts"]:
                found[site["name"]][part["hold"]] = (found[site["name"]].get(part["hold"], 0)
                                                     + part["live"]["bytes"]["value"])
        # A few are on the interpreter's stack and in its free lists yet.
        for name in ("__main__.Node", "__main__.Slotted", "bytearray"):
            self.assertGreater(found[name]["listed"], 0.97 * sum(found[name].values()), (name, found[name]))
        self.assertEqual(set(found["__main__.Kept"]), {"reached"})
        roots = {root["name"]: root for root in report["roots"]}

        def check_root(name, root):
            # A few words are left over.
            parts = [part for site in report["sites"] if site["name"] == name for part in site["parts"]]
            named = sum(part["live"]["bytes"]["value"] for part in parts if part.get("root") == root)
            self.assertGreater(named, 0.98 * sum(part["live"]["bytes"]["value"] for part in parts), (name, parts))

        check_root("__main__.Kept", "__main__.KEPT")
        # Without it nearly all that it holds could be freed: what is left over in free lists does not count.
        kept = roots["__main__.KEPT"]
        self.assertGreater(kept["alone"]["bytes"]["value"], 0.95 * kept["held"]["bytes"]["value"])
        if sys.version_info >= (3, 11):
            check_root("__main__.Local", "run (cycles.py), stack of Python")
        self.assertEqual(sum(holds.get(hold, 0) for holds in found.values() for hold in UNREACHABLE), 0)
        self.assertLessEqual({"__main__.Node", "__main__.Slotted"}, {listed["name"] for listed in report["listed"]})


class AtExit(unittest.TestCase):
    """Programs that end by themselves, and wait until they were scanned."""

    def setUp(self):
        here = tempfile.TemporaryDirectory(prefix="geiger-holders-")
        self.addCleanup(here.cleanup)
        self.file = os.path.join(here.name, "run.geiger")
        self.command = [GEIGER, "run", "--holders=exit", "--interval", "1", "-o", self.file, "--",
                        harness.host("leaving")]

    def leave(self, how):
        """Compares with the bare program. Returns what geiger said of the run."""
        bare = subprocess.run([harness.host("leaving"), how], capture_output=True, check=False)
        run = subprocess.run([*self.command, how], capture_output=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (bare.returncode, bare.stdout), run.stderr)
        return run.stderr.decode()

    def found(self):
        asked = subprocess.run([GEIGER, "holders", self.file, "--json", "--top", "0", "--wrappers", "named"],
                               capture_output=True, text=True, check=False)
        return sums(json.loads(asked.stdout)) if asked.returncode == 0 else None

    def check_found(self):
        found = self.found()
        self.assertEqual(found["kept"], ({"reached": 50 * 48}, {"g_kept.blocks"}))
        self.check_lost(found["lost"][0], 56)
        return found

    def check_lost(self, holds, size):
        """A few may be in stale words on the stack."""
        self.assertEqual(sum(holds.values()), 50 * size)
        self.assertGreaterEqual(holds["unreferenced"], 45 * size)

    def test_static_variables_still_hold_what_they_held(self):
        for how in ("return", "exit"):
            said = self.leave(how)
            self.check_found()
            self.assertRegex(said, r"geiger: 2\.\d+ KiB of lost \(leaving\.cc:\d+\) is unreachable: nothing points to it")
            os.remove(self.file)

    def test_each_process_for_itself(self):
        self.leave("fork")
        found = self.check_found()
        self.check_lost(found["of_child"][0], 64)

    def test_exit_by_another_thread_comes_after_the_destructors(self):
        self.leave("thread")
        found = self.found()
        self.assertNotIn("kept", found)
        self.check_lost(found["lost"][0], 56)

    def test_other_ends_do_not_wait(self):
        for how in ("_exit", "quick_exit", "abort"):
            self.leave(how)
            self.assertIsNone(self.found(), how)
            os.remove(self.file)

    def test_without_geiger_the_program_ends_as_ever(self):
        run = subprocess.Popen([*self.command, "waited"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        self.assertEqual(run.stdout.readline(), b"ready\n")
        run.kill()
        run.wait()
        run.stdin.close()
        with run.stdout:
            self.assertEqual(run.stdout.read(), b"at exit\ndestroyed\n")


class Registers(unittest.TestCase):
    def test_they_hold_blocks_and_what_a_stop_would_end_goes_on(self):
        program = Program(host="in_register")
        try:
            without = json.loads(program.ask("--json"))
            report = json.loads(program.ask("--json", "--registers"))
            self.assertEqual(select.select([program.process.stdout], [], [], 0)[0], [], "it was interrupted")
        finally:
            program.end()
        self.assertEqual(set(sums(without)["by_register"][0]) & {"reached"}, set())
        self.assertEqual(sums(report)["by_register"], ({"reached": 50 * 48}, {"registers of thread in_register"}))
        self.assertEqual((without["registers_read"], report["registers_read"]), (False, True))
        self.assertEqual(report["threads_without_registers"], 1)


def in_frame(function, thread):
    return rf"{function} \(frames\.cc\), stack of thread {thread}"


def check_frames(test, report, wanted):
    """Of tests/hosts/frames.cc: blocks by what allocates them, and the pattern of what alone holds them."""
    found = sums(report)
    for name, root in wanted.items():
        holds, roots = found[name]
        test.assertEqual(set(holds), {"reached"}, name)
        test.assertEqual(len(roots), 1, (name, roots))
        test.assertRegex(roots.pop(), f"^{root}$", name)


class Frames(unittest.TestCase):
    def test_a_function_is_named_only_where_that_is_proved(self):
        program = Program(host="frames")
        try:
            report = json.loads(program.ask("--json"))
        finally:
            program.end()
        wanted = {
            "by_frame": in_frame("hold_in_frame", "waiting"),
            "by_frame_of_caller": in_frame("hold_in_caller", "waiting"),
            "by_saved_register": in_frame("hold_in_register", "register"),  # Another function has saved it.
            "by_frame_without_rules": "stack of thread no-rules"}
        if platform.machine() == "x86_64":
            wanted["by_frame_with_pointer"] = "stack of thread pointer"  # Where it points to is not known.
            wanted["by_running_frame"] = "stack of thread running"
        else:  # The stack pointer is enough; whose memory it is that a thread runs on is not known.
            wanted["by_frame_with_pointer"] = in_frame("hold_with_pointer", "pointer")
            wanted["by_running_frame"] = "anonymous memory"
        check_frames(self, report, wanted)


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


class Growing(unittest.TestCase):
    """A list that grows at its head begins with nodes that are newer than what a scan has found."""

    def check(self, how, roots, preload=None, malloc=()):
        program = Program(how, preload=preload, options=malloc, host="list_growing", interval="4KiB")
        try:
            report = json.loads(program.ask("--json"))
        finally:
            program.end()
        holds, found = sums(report)["push"]
        self.assertEqual(set(holds), {"reached"})
        self.assertLessEqual({own_name(root) for root in found}, roots)

    def test_with_its_head_in_a_variable(self):
        self.check("static", {"g_head"})

    def test_with_its_head_in_an_object(self):
        self.check("object", {"g_object"})

    @unittest.skipUnless(os.sysconf("SC_PAGESIZE") == 4096, "geiger's malloc is not for other pages")
    def test_in_the_heap_of_geiger(self):
        self.check("static", {"g_head"}, malloc=("--malloc", "geiger"))

    def test_of_other_allocators(self):
        for library in ("libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"):
            path = allocator(library)
            if path is not None:
                with self.subTest(library):
                    self.check("static", {"g_head", "memory mapped during the scan"}, path)


class Outside(unittest.TestCase):
    def test_what_the_kernel_and_read_only_memory_point_to_is_held(self):
        program = Program(host="outside")
        try:
            found = sums(json.loads(program.ask("--json")))
        finally:
            program.end()
        for kind, root in (("by_epoll", "data of epoll descriptors"), ("by_timer", "values of timers"),
                           ("by_sealed", "anonymous memory")):
            self.assertEqual(found[kind], ({"reached": 50 * 48}, {root}))
        self.assertEqual(set(found["lost_below_stack"][0]), {"unreferenced"})
        # The last one may be left in a register or on the stack.
        self.assertGreaterEqual(found["lost"][0]["unreferenced"], 49 * 48)


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
            for words in ([run], []):  # The newest run is named too.
                self.refuse("run.geiger: its processes have ended", *words, cwd=here)

    def test_what_is_neither_a_run_nor_a_recorded_process(self):
        for word, why in (("abc", "abc: there is no such run, and it is not a process id"),
                          ("99999999", "there is no process 99999999"),
                          (str(os.getpid()), "does not have geiger loaded (use geiger attach")):
            self.refuse(why, word)

    def refuse(self, why, *words, **options):
        asked = subprocess.run([GEIGER, "holders", *words], capture_output=True, text=True, check=False, **options)
        self.assertEqual((asked.returncode, asked.stdout), (1, ""), asked.stderr)
        self.assertEqual(len(asked.stderr.splitlines()), 1, asked.stderr)
        self.assertIn(why, asked.stderr)


if __name__ == "__main__":
    unittest.main()
