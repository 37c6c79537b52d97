#!/usr/bin/env python3
"""The API in whole programs: linked, preloaded, without a capture and compiled absent;
before main and after it, in handlers and in threads that end; its files in pprof."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

LIBRARY = harness.BUILD / "lib" / "libgeiger.so"
MAY_NEED = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
            "ld-linux-x86-64.so.2"}
OK, NOT_AVAILABLE = 0, 1


def api_host(name):
    path = harness.BUILD / "api_hosts" / name
    if not path.exists():
        raise unittest.SkipTest(f"{name} was not built")
    return str(path)


def readelf(path, *options):
    return subprocess.run(["readelf", "--wide", *options, str(path)], check=True,
                          capture_output=True, text=True).stdout


def statuses(text):
    """The calls and what they returned, in order."""
    return [(name, int(status)) for name, status in re.findall(r"^(\w+) (\d+)$", text, re.M)]


class Looks(harness.ProcessTest):
    """A program that takes profiles of itself: libgeiger.so's memory is not in them."""

    def check(self, interval, preloads=()):
        outcome = harness.run_bare([api_host("looks")], preloads,
                                   {"GEIGER_SEED": "1", "GEIGER_INTERVAL": str(interval)})
        self.assertEqual((outcome.status, outcome.stderr), (0, b""))
        text = outcome.stdout.decode()
        calls, allocated = map(int, re.search(r"calls (\d+) allocated (\d+)", text).groups())
        self.assertGreater(calls, 10_000)
        self.assertEqual(allocated, 40 * calls, "what the callbacks allocate is the program's")
        peaks = [tuple(map(int, found)) for found in
                 re.findall(r"peak (\d+) in (\d+) .. (\d+)", text)]
        self.assertEqual(len(peaks), 3)
        for peak, low, high in peaks:
            # Above 1 five standard errors, false alarm 6e-7, and the seed is fixed.
            self.assertLess(abs(peak - 20_000_000), 10_000 if interval == 1 else 1_400_000)

    def test_at_interval_1(self):
        self.check(1)

    def test_above(self):
        self.check(4096)

    def test_over_geigers_own_malloc(self):
        for interval in (1, 4096):
            self.check(interval, [harness.preload_entry(), harness.allocator_library()])


class Client(harness.ProcessTest):
    """One source, four ways to build and start it."""

    def check_full(self, outcome, **expected):
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        text = outcome.stdout.decode()
        self.assertEqual({status for name, status in statuses(text)}, {OK}, text)
        facts = {name: int(value) for name, value in
                 re.findall(r"(interposed|memory|paused|samples|labelled|heap|calls) (\d+)", text)}
        # "heap 0" is also the status of the call; the count is the later one.
        self.assertEqual(facts["interposed"], 1)
        for name, value in expected.items():
            self.assertEqual(facts[name], value, text)
        self.assertIn("exactly 2000000 process 1 missing 0\n", text)
        low, high = map(int, re.search(r"truth 2000000 in (\d+) \.\. (\d+)", text).groups())
        self.assertTrue(low <= 2000000 <= high, text)  # wrong in one of two million seeds
        self.assertGreater(facts["heap"], 200)
        self.assertGreater(facts["labelled"] - facts["heap"], 200)

    def test_linked(self):
        outcome = harness.run_bare([api_host("client_linked")], env={"GEIGER_SEED": "1"})
        self.check_full(outcome, memory=1, paused=1)

    def test_linked_with_another_allocator(self):
        outcome = harness.run_bare([api_host("client_jemalloc")], env={"GEIGER_SEED": "1"})
        self.check_full(outcome, memory=1, paused=1)

    def test_linked_and_recorded(self):
        recorded = harness.record([api_host("client_linked")], interval=65536)
        self.check_full(recorded.outcome, memory=0, paused=0)
        self.assertEqual(len(recorded.traces), 1)

    def test_preloaded(self):
        recorded = harness.record([api_host("client_alone")], interval=65536)
        self.check_full(recorded.outcome, memory=0, paused=0)
        self.assert_sound(recorded)

    def test_without_a_capture(self):
        for name in ("client_alone", "client_absent"):
            outcome = harness.run_bare([api_host(name)])
            self.assertEqual((outcome.status, outcome.stderr), (0, b""))
            seen = collections.defaultdict(set)
            for call, status in statuses(outcome.stdout.decode()):
                seen[call].add(status)
            for call in ("status", "heap", "mark", "listener", "start", "enter", "live", "thread",
                         "process"):
                self.assertEqual(seen[call], {NOT_AVAILABLE}, f"{name}: {call}")
            self.assertNotIn(OK, set().union(*seen.values()), name)
            self.assertIn(b"exactly 0 process 1 missing 0\n", outcome.stdout)
            self.assertIn(b"samples 0 labelled 0 heap 0 calls 0", outcome.stdout)

    def test_absent_links_nothing(self):
        self.assertNotIn("geiger", readelf(api_host("client_absent"), "-d").split("RUNPATH")[0])


class Programs(harness.ProcessTest):
    def test_before_main_and_after_it(self):
        outcome = harness.run_bare([api_host("early")])
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        self.assertEqual(outcome.stdout.decode().splitlines(), [
            "started 0 entered 0 left 0", "stopped 0",
            # At 1 byte nothing is unsettled; every thread's last report is counted too.
            f"labelled 1 heap {50 * (100 * 10 + 100)}", "after 0 0"])

    def test_in_handlers_at_1_khz(self):
        outcome = harness.run_bare([api_host("signals")], timeout=100)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        self.assertIn(b"handled 1", outcome.stdout)

    def test_opened_later(self):
        recorded = harness.record([api_host("late"), LIBRARY], interval=4096)
        self.assertEqual(recorded.outcome.stdout, b"status 0 mark 0 closed 0\n")
        outcome = harness.run_bare([api_host("late"), LIBRARY])
        self.assertEqual(outcome.stdout, b"status 1 mark 1 closed 0\n")


    def test_opened_while_the_recording_goes_on_from_trace_to_trace(self):
        """At 1 byte every block is a sample.  Traces of 1 MiB come one after another, also when
        the plugin reads what is recorded: what it has read stays."""
        with harness.Recorder(1, env={"GEIGER_SEGMENT": str(1 << 20)}) as recorder:
            process = recorder.start([api_host("goes_on"), LIBRARY])
            outcome = harness.finish(process, None, 100)
            traces = len(os.listdir(recorder.directory))
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        self.assertEqual(outcome.stdout.decode().splitlines(), [
            "start 0", "live 0", "stop 0", "blocks 1000 again 1000 same 1"])
        # 300,000 samples and frees, of 88 bytes together.
        self.assertGreater(traces, 20)
        self.assertLess(traces, 40)

    def test_opened_where_samples_are_only_counted(self):
        with harness.Recorder(1, mode=("aggregate",)) as recorder:
            process = recorder.start([api_host("goes_on"), LIBRARY])
            outcome = harness.finish(process, None, 100)
        self.assertEqual(outcome.stdout.decode().splitlines(), [
            "start 2", "live 2", "stop 6", "blocks 0 again 0 same 1"])


class Binary(unittest.TestCase):
    def test_needs_only_what_is_there(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(LIBRARY, "-d")))
        self.assertLessEqual(needed, MAY_NEED)

    def test_exports_the_interface_alone(self):
        names = [line.split()[7] for line in readelf(LIBRARY, "--dyn-syms").splitlines()
                 if len(line.split()) >= 8 and line.split()[4] in ("GLOBAL", "WEAK")
                 and line.split()[6] not in ("UND", "ABS")]
        declared = set(re.findall(r"\bgeiger_[a-z_]+(?=\()",
                                  (harness.ROOT / "include/geiger/geiger.h").read_text()))
        self.assertEqual({name.split("@")[0] for name in names}, declared | {"geiger_api_version"})

    def test_allocates_by_its_own_operators_alone(self):
        """All that it has: those for larger alignments would be the program's."""
        self.assertEqual(re.findall(r"UND (_Z(?:n[wa]|d[la])\w+|calloc|realloc)\b",
                                    readelf(LIBRARY, "--dyn-syms")), [])

    def test_thread_local_storage_is_small_and_direct(self):
        sizes = [int(line.split()[5], 16) for line in readelf(LIBRARY, "-l").splitlines()
                 if line.split()[:1] == ["TLS"]]
        self.assertLessEqual(sum(sizes), 128)
        for kind in ("DTPMOD", "DTPOFF", "TLSDESC"):
            self.assertNotIn(kind, readelf(LIBRARY, "-r"))

    def test_capture_comes_before_every_allocator(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(api_host("client_jemalloc"), "-d"))
        self.assertEqual(needed[0], "libgeiger-preload.so")
        self.assertLess(needed.index("libgeiger-preload.so"), needed.index("libjemalloc.so.2"))
        self.assertIn("libgeiger.so.0", needed)


class Pprof(unittest.TestCase):
    def test_tool_reads_the_same_totals(self):
        harness.require("go")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "profile.pb"
            outcome = harness.run_bare([api_host("client_linked"), path], env={"GEIGER_SEED": "2"})
            self.assertEqual(outcome.status, 0)
            raw = subprocess.run(["go", "tool", "pprof", "-raw", str(path)], check=True,
                                 capture_output=True, text=True,
                                 env={**os.environ, "HOME": directory}).stdout
            self.assertIn("alloc_objects/count alloc_space/bytes[dflt] inuse_objects/count "
                          "inuse_space/bytes alloc_objects_variance/count^2", raw)
            rows = [list(map(int, line.split(":")[0].split())) for line in raw.splitlines()
                    if re.match(r"^\s+\d+(\s+\d+){9,}:", line)]
            weighted = int(re.search(rb"weighted (\d+)", outcome.stdout).group(1))
            self.assertEqual(sum(row[1] for row in rows), weighted)
            self.assertEqual({row[2] for row in rows}, {0})
            self.assertIn("tenant:[acme]", raw)
            self.assertIn("label:[request / tenant=acme]", raw)
            self.check_addresses(raw)

    def test_lifetimes_keep_their_pairs(self):
        """Each row of a block that was freed has a row beside it with the freeing stack."""
        harness.require("go")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "lives.pb"
            outcome = harness.run_bare([api_host("lives"), path], env={"GEIGER_SEED": "3"})
            self.assertEqual(outcome.status, 0, outcome)
            alive, freed = map(int, re.search(rb"alive (\d+) freed (\d+)", outcome.stdout).groups())
            self.assertTrue(alive > 0 and freed > 0)
            tool = ["go", "tool", "pprof"]
            environment = {**os.environ, "HOME": directory}
            raw = subprocess.run([*tool, "-raw", str(path)], check=True, capture_output=True,
                                 text=True, env=environment).stdout
            self.assertIn("freed_objects/count freed_space/bytes", raw)
            sums, pairs = {"freed": [0, 0], "alive": [0, 0]}, {}
            rows = re.findall(r"^\s+((?:\d+\s+){11}\d+): .*\n((?:^ {10,}\S+:\[.*\n)+)", raw, re.M)
            for numbers, labels in rows:
                values = list(map(int, numbers.split()))
                end = re.search(r"end:\[(\w+)\]", labels)[1]
                sums[end][0] += values[1]
                sums[end][1] += values[11]
                pairs.setdefault(re.search(r"pair:\[(\d+)", labels)[1], []).append(values)
                self.assertRegex(labels, r"lifetime:\[\d+")
            self.assertEqual(sums["freed"][0], sums["freed"][1])
            self.assertEqual(sums["alive"][1], 0)
            for end, weighted in (("freed", freed), ("alive", alive)):  # Whole numbers there.
                self.assertAlmostEqual(sums[end][0], weighted, delta=1)
            for of_pair in pairs.values():
                self.assertEqual(sum(values[1] for values in of_pair) if len(of_pair) == 2 else 0,
                                 sum(values[11] for values in of_pair))
            top = subprocess.run([*tool, "-top", "-cum", "-sample_index=freed_space", str(path)],
                                 check=True, capture_output=True, text=True, env=environment).stdout
            self.assertRegex(top, r" drop\b")
            self.assertNotRegex(top, r" make\b")

    def test_geiger_reads_back_what_it_wrote(self):
        """With the intervals that drew each row: an import has the estimate and its limits."""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "lives.pb"
            outcome = harness.run_bare([api_host("lives"), path], env={"GEIGER_SEED": "3"})
            weighted = sum(map(int, re.findall(rb"(\d+)", outcome.stdout)))
            table = json.loads(subprocess.run(
                [str(harness.BUILD / "bin" / "geiger"), "table", "--json", str(path)], check=True,
                capture_output=True).stdout)
            total = table["total"]["bytes"]
            self.assertAlmostEqual(total["value"], weighted, delta=1)
            self.assertTrue(total["lo"] < 4_000_000 < total["hi"], total)
            # 4,000 blocks at 8 KiB: some 460 samples.
            self.assertTrue(300 < table["total"]["samples"] < 700, table["total"])

    def check_addresses(self, raw):
        """The innermost frame of the program lies in the function that allocates."""
        maps = {int(n): (int(start, 16), int(offset, 16), rest) for n, start, offset, rest in
                re.findall(r"^(\d+): 0x(\w+)/0x\w+/0x(\w+) (.*)$", raw, re.M)}
        start, offset, rest = maps[1]
        path = str(pathlib.Path(api_host("client_linked")).resolve())
        self.assertTrue(rest.startswith(path), rest)
        # Linkers differ in how far the addresses of a segment are from its place in the file.
        bias = next(int(fields[2], 16) - int(fields[1], 16) for fields in
                    (line.split() for line in readelf(path, "-l").splitlines())
                    if fields[:1] == ["LOAD"] and "E" in fields[6:8])
        addresses = [int(a, 16) for a in re.findall(r"^\s+\d+: 0x(\w+) M=1", raw, re.M)]
        names = subprocess.run(["addr2line", "-f", "-i", "-e", path,
                                *(hex(a - start + offset + bias) for a in addresses)],
                               check=True, capture_output=True, text=True).stdout
        self.assertIn("work", names)


class OpenMetrics(unittest.TestCase):
    def test_parser_of_prometheus_reads_them(self):
        with tempfile.TemporaryDirectory() as directory:
            text = pathlib.Path(directory) / "metrics"
            outcome = harness.run_bare([api_host("client_linked"), os.path.join(directory, "pb"), text],
                                       env={"GEIGER_SEED": "3"})
            self.assertEqual(outcome.status, 0)
            self.assertIn(b"metrics 0\n", outcome.stdout)
            values = harness.openmetrics(text.read_text())
        self.assertEqual(values["geiger_recording"], {(): 0})
        self.assertEqual(values["geiger_sampling_interval_bytes"], {(): 524288})
        self.assertEqual(values["geiger_confidence_level_ratio"], {(): 0.9})
        self.assertEqual(values["geiger_allocated_missing_bytes"], {(): 0})
        self.assertGreater(values["geiger_allocated_bytes_total"][()], 2000000)
        # Its last token has stopped: nothing is recorded, so nothing is said of what lives.
        self.assertNotIn("geiger_live_heap_bytes", values)


class Examples(unittest.TestCase):
    def test_run_under_the_recorder_too(self):
        for name in ("service", "pool", "tokens", "listener"):
            recorded = harness.record([harness.BUILD / "bin" / f"example_{name}"], interval=65536)
            self.assertEqual(recorded.outcome.status, 0, (name, recorded.outcome))


if __name__ == "__main__":
    unittest.main()
