#!/usr/bin/env python3
"""What programs map past their allocator: recorded exactly, and replayed to the byte.

The oracles are the kernel (/proc/self/maps), CPython's own count of its arenas and V8's
own count of its heap; for the concurrent cases, that everything mapped was unmapped.
"""
import json
import re
import subprocess
import unittest

import harness

PAGE = 4096
# The host maps this before main and gives it back in one scenario only.
EARLY = 3 * PAGE
INTERVAL = 64 * harness.KIB


def geiger(*arguments):
    run = subprocess.run([harness.BUILD / "bin" / "geiger", *map(str, arguments)],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise AssertionError(f"geiger {arguments}: {run.stderr}")
    return run.stdout


def table(paths, kind, by="function"):
    return json.loads(geiger("table", "--json", "--top", "0", "--by", by, "--kind", kind, *paths))


def total(report):
    """Of an exact profile: the value is the interval."""
    figure = report["total"]["bytes"]
    assert figure["lo"] == figure["value"] == figure["hi"], figure
    return figure["value"]


class Replay(harness.ProcessTest):
    """The host program's own scenarios."""

    def mapped(self, scenario, kind="mapped", **options):
        with harness.Recorder(INTERVAL, **options) as recorder:
            recorded = recorder.run([harness.host("mappings"), scenario])
            self.assertEqual(recorded.outcome.status, 0)
            self.assertNotIn(b"not so", recorded.outcome.stdout)
            roots = [t.path for t in recorded.traces if not t.header.mode & 4]
            return recorded, total(table(roots, kind))

    def test_agrees_with_the_kernel(self):
        recorded, mapped = self.mapped("account")
        pages = int(re.search(rb"accessible: (\d+) pages", recorded.outcome.stdout)[1])
        self.assertGreater(pages, 50)
        self.assertEqual(mapped, pages * PAGE + EARLY)

    def test_only_what_succeeded_is_recorded(self):
        recorded, _ = self.mapped("failures")
        self.assertEqual([m.kind for m in recorded.traces[0].mappings], ["map", "map", "unmap"])

    def test_breaks_have_both_ends(self):
        recorded, _ = self.mapped("breaks")
        moves = [m.address - m.old_address for m in recorded.traces[0].mappings if m.kind == "break"]
        self.assertEqual(moves, 20 * [3 * PAGE, 2 * PAGE, -5 * PAGE])

    def test_what_was_given_back_is_gone(self):
        for scenario, left in (("before_main", 0), ("partial_unmaps", EARLY),
                               ("fixed_maps", EARLY), ("remaps", EARLY), ("breaks", EARLY),
                               ("kinds_of_maps", EARLY), ("in_vfork_children", EARLY + PAGE),
                               ("in_signal_handlers", EARLY)):
            with self.subTest(scenario=scenario):
                _, mapped = self.mapped(scenario)
                self.assertEqual(mapped, left)

    def test_threads_that_pass_addresses_on(self):
        """Records are not in the order in which addresses were given back and out again, but
        their times are: nobody's pages are taken for somebody else's."""
        recorded, mapped = self.mapped("in_threads")
        rounds = 4 * 2000
        self.assertEqual(mapped, EARLY + 2 * rounds * PAGE)
        kinds = [m.kind for m in recorded.traces[0].mappings]
        self.assertEqual(kinds.count("remap"), rounds)

    def test_reservations_stand_apart(self):
        with harness.Recorder(INTERVAL) as recorder:
            recorded = recorder.run([harness.host("mappings"), "kinds_of_maps"])
            self.assertLess(total(table(recorded.paths, "mapped-peak")), harness.MIB)
            self.assertEqual(total(table(recorded.paths, "reserved")), 0)

    def test_nothing_is_recorded_while_paused(self):
        recorded, mapped = self.mapped("account", mode=["paused"])
        self.assertEqual(recorded.traces[0].mappings, [])
        self.assertEqual(mapped, 0)

    def test_nothing_is_recorded_where_not_wanted(self):
        recorded, mapped = self.mapped("account", mode=["nomappings"])
        self.assertEqual(recorded.traces[0].mappings, [])
        self.assertEqual(mapped, 0)
        self.assertTrue(recorded.traces[0].samples)

    def test_children_by_fork_are_said_to_lack_their_inheritance(self):
        with harness.Recorder(INTERVAL) as recorder:
            recorded = recorder.run([harness.host("mappings"), "in_fork_children"])
            self.assertEqual(len(recorded.traces), 6)
            report = json.loads(geiger("summary", "--json", *recorded.paths))
            self.assertTrue(report["mapped"]["misses_inherited"])
            # Of two pages that a child maps and one that it adds, one is given back.
            self.assertEqual(report["mapped"]["bytes"], EARLY + 5 * 3 * PAGE)
            self.assertIn("mappings inherited by forks are not counted",
                          geiger("summary", *recorded.paths))


class Allocators(harness.ProcessTest):
    def test_their_own_maps_are_left_out(self):
        for name, library in harness.ALLOCATORS.items():
            if library is not None and not library.exists():
                continue
            with self.subTest(allocator=name):
                recorded = harness.record([harness.host("mappings"), "account"], INTERVAL,
                                          behind=[library] if library else [])
                trace, = recorded.traces
                self.assertGreater(len(trace.mappings), 1000)
                for mapping in trace.mappings:
                    leaf = trace.stacks[mapping.stack].frames[0]
                    module = max((m for m in trace.modules if m.start <= leaf - 1 < m.end),
                                 key=lambda m: m.ref)
                    self.assertIn("hosts/mappings", module.path)


class RealPrograms(harness.ProcessTest):
    def run_program(self, recorder, command):
        recorded = recorder.run(command)
        self.assertEqual(recorded.outcome.status, 0, recorded.outcome.stderr)
        return recorded.paths, recorded.outcome

    def test_pythons_arenas(self):
        """CPython takes objects up to 512 bytes from arenas that it maps itself: the program's where
        the objects are not sampled."""
        program = ("import sys\nkept = [object() for _ in range(300000)]\n"
                   "sys._debugmallocstats()\nsys.stdout.flush()\nimport os\nos._exit(0)")
        with harness.Recorder(INTERVAL, mode=["pystacks"]) as recorder:
            paths, outcome = self.run_program(recorder, ["/usr/bin/python3", "-c", program])
            match = re.search(rb"(\d+) arenas \* (\d+) bytes/arena", outcome.stderr)
            arena = int(match[2])
            arenas = int(match[1]) * arena
            self.assertGreater(arenas, 4 * harness.MIB)
            rows = table(paths, "mapped", "stack")["rows"]
            # Which function asks depends on what the build inlined; chunks of its stack are less.
            asked = sum(row["self"]["bytes"]["value"] for row in rows
                        if row["self"]["bytes"]["value"] % arena == 0)
            self.assertEqual(asked, arenas)

    def test_nodes_heap(self):
        """V8 reserves addresses and commits by mprotect what it needs."""
        harness.require("node")
        program = ("let kept = []; for (let i = 0; i < 200000; i++) kept.push({a: i, b: [i]});"
                   "console.log(process.memoryUsage().heapTotal); process.reallyExit(0)")
        with harness.Recorder(INTERVAL) as recorder:
            paths, outcome = self.run_program(recorder, ["node", "-e", program])
            heap = int(outcome.stdout)
            mapped = total(table(paths, "mapped"))
            self.assertGreater(heap, 20 * harness.MIB)
            # Beside the heap: code, read-only space, the inspector's and libuv's own.
            self.assertGreaterEqual(mapped, 0.95 * heap)
            self.assertLessEqual(mapped, heap + 16 * harness.MIB)


if __name__ == "__main__":
    unittest.main()
