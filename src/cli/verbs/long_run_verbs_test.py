"""The reading verbs over recordings in segments, thinned and aggregated ones, byte by byte
as a runtime would write them."""
import json
import math
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.abspath(sys.argv.pop(1)))
STUDY = os.environ.get("GEIGER_STUDY")  # Which only the studies build.
import trace_reader  # noqa: E402

INTERVAL = 1024
SEED = 7
KILLED, EXITED, CONTINUED = 1, 3, 4
START = 1_000_000_000
SECOND = 1_000_000_000


class Segment:
    """An image of pid 100 in memory, with one thread and one place that allocates."""

    def __init__(self, number=0, state=EXITED, mode=0):
        self.number, self.state = number, state
        self.mode = mode | (trace_reader.MODE_CONTINUED if number else 0)
        self.words = bytearray()
        self.at = START + 10 * SECOND * number
        self.epoch = self.record(trace_reader.EPOCH, struct.pack(
            "<QQd", self.at, INTERVAL, -math.log1p(-1 / INTERVAL)))
        self.stack = self.record(trace_reader.STACK, struct.pack("<QQ", 1, 0x1234))

    def record(self, kind, body, flags=0, thread=0):
        ref = (trace_reader.RECORDS_OFFSET + len(self.words)) // 8
        words = len(body) // 8 + 1
        self.words += struct.pack(
            "<Q", kind | flags << 8 | words << 16 | 0xfff << 28 | thread << 40) + body
        return ref

    def thread(self, certain_bytes, certain_count, armed=0):
        self.record(trace_reader.THREAD, struct.pack(
            "<12Q", self.at, 100, 0, certain_bytes, 0, 0, certain_bytes, certain_count, 0, armed,
            0, certain_count), thread=1)

    def body(self, size, time, address):
        return struct.pack("<QIIQQQQII", time, self.stack, self.epoch, address, size, size, 0, 0,
                           0)

    def sample(self, size, after, address):
        """Certain: at least as large as T."""
        return self.record(trace_reader.SAMPLE, self.body(size, self.at + after, address), 1, 1)

    def carried(self, size, time, address, previous):
        body = struct.pack("<Q", 0) + self.body(size, time, address) + struct.pack("<Q", previous)
        return self.record(trace_reader.CARRIED, body, 1, 1)

    def checkpoint(self, carried):
        self.record(trace_reader.CHECKPOINT, struct.pack("<3Q", self.at, carried, 0))

    def free(self, sample, after):
        self.record(trace_reader.FREE, struct.pack("<QII", self.at + after, sample, 0), thread=1)

    def thinning(self, level):
        self.record(trace_reader.THINNING, struct.pack("<QQ", self.at, level))

    def tally(self, size, allocated, freed, has_stack=True):
        self.record(trace_reader.TALLY, struct.pack(
            "<QIIQQIIQQQQ", self.at, self.stack if has_stack else 0, self.epoch, size, size + 8,
            0, 0, allocated, freed, self.at + SECOND, 0), 1)

    def mapping(self, size):
        self.record(trace_reader.MAPPING, struct.pack(
            "<QIIQQQQII", self.at + 5, self.stack, 1, 0x7f0000000000, size, 0, 0, 3, 0x22))

    def bytes(self):
        tail = trace_reader.RECORDS_OFFSET + len(self.words)
        header = bytearray(trace_reader.RECORDS_OFFSET)
        trace_reader.HEADER.pack_into(
            header, 0, trace_reader.MAGIC, 1, 62, tail, tail, self.state, 0, 0, self.mode, 100, 1,
            4096, 0, self.at, self.at, self.at + 9 * SECOND, SEED, INTERVAL, *[0] * 16, 0, 0,
            b"0.1.0", b"/bin/server", b"/lib/libc.so.6")
        trace_reader.SEGMENT.pack_into(header, trace_reader.SEGMENT_OFFSET, START, self.number, 0,
                                       b"server", 0, 0, 0)
        return bytes(header) + bytes(self.words)


def three_segments():
    """8 KiB that are freed in the second segment, 4 KiB that live, 2 KiB of the last one."""
    first, second, third = Segment(0, CONTINUED), Segment(1, CONTINUED), Segment(2)
    first.thread(12288, 2, armed=77)
    first.mapping(65536)
    short = first.sample(8192, 10, 0x1000)
    long = first.sample(4096, 20, 0x2000)
    short = second.carried(8192, first.at + 10, 0x1000, short)
    long = second.carried(4096, first.at + 20, 0x2000, long)
    second.checkpoint(2)
    second.free(short, 30)
    third.thread(2048, 1)
    third.carried(4096, first.at + 20, 0x2000, long)
    third.checkpoint(1)
    third.sample(2048, 40, 0x3000)
    return first, second, third


def thinned():
    """64 objects of 2 KiB that live on, half of which were followed to the end."""
    segment = Segment()
    segment.thread(64 * 2048, 64)
    for i in range(64):
        segment.sample(2048, 10 + i, 0x1000 + 0x1000 * i)
    segment.thinning(1)
    return segment


def aggregated():
    """70 objects of 2 KiB, 30 of them freed, and 5 whose stacks were not told apart."""
    segment = Segment(mode=trace_reader.MODE_AGGREGATED)
    segment.thread(75 * 2048, 75)
    segment.tally(2048, 70, 30)
    segment.tally(2048, 5, 0, has_stack=False)
    return segment


class LongRunVerbs(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.mkdtemp(prefix="geiger-long-runs-")
        os.mkdir(os.path.join(self.here, "long"))
        for segment in three_segments():
            self.write(f"long/server.100.{segment.number}.geiger", segment)
        self.write("thinned.geiger", thinned())
        self.write("aggregated.geiger", aggregated())

    def tearDown(self):
        shutil.rmtree(self.here)

    def write(self, name, segment):
        with open(os.path.join(self.here, name), "wb") as file:
            file.write(segment.bytes())

    def run_geiger(self, *words, program=GEIGER):
        return subprocess.run([program, *words], cwd=self.here, capture_output=True, timeout=300,
                              env={**os.environ, "LC_ALL": "C.UTF-8"})

    def geiger(self, *words, code=0):
        done = self.run_geiger(*words)
        self.assertEqual(done.returncode, code, done)
        self.assertNotRegex(done.stdout.decode("utf-8", "replace"), r"\b(nan|inf)\b")
        return done.stdout

    def json(self, *words):
        return json.loads(self.geiger(*words, "--json"))

    def error(self, *words, code=2, program=GEIGER):
        done = self.run_geiger(*words, program=program)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, b"")
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines and lines[0].startswith("geiger: "), lines)
        return lines[0]

    def bytes_of(self, *words):
        return self.json("table", *words)["total"]["bytes"]

    # ------------------------------------------------------------ segments

    def test_segments_are_one_process(self):
        report = self.json("summary", "long")
        process, = report["processes"]
        self.assertEqual([segment["number"] for segment in process["segments"]], [0, 1, 2])
        self.assertEqual(report["samples"], 3)
        self.assertEqual(report["exact"]["bytes"], 14336)
        self.assertEqual(report["allocated"]["bytes"]["value"], 14336)
        self.assertEqual(report["live_at_end"]["bytes"]["value"], 6144)
        self.assertEqual(report["live_at_peak"]["bytes"]["value"], 12288)
        text = self.geiger("summary", "long").decode()
        self.assertIn("3 segments, from the start to 29.0 s", text)
        self.assertNotIn("deleted", text)
        # Not the same, but said by both readers.
        traces = [trace_reader.read(os.path.join(self.here, "long", name))
                  for name in os.listdir(os.path.join(self.here, "long"))]
        image, = trace_reader.images(traces)
        self.assertEqual(image.total("bytes"), 14336)
        self.assertEqual(sum(sample.requested for sample in image.live()), 6144)

    def test_a_suffix_knows_what_lived_and_says_what_is_missing(self):
        os.remove(os.path.join(self.here, "long/server.100.0.geiger"))
        report = self.json("summary", "long")
        self.assertEqual(report["exact"]["bytes"], 2048)
        self.assertEqual(report["allocated"]["bytes"]["value"], 2048)
        self.assertEqual(report["live_at_end"]["bytes"]["value"], 6144)
        self.assertEqual(report["live_at_peak"]["bytes"]["value"], 12288)
        for verb in ("summary", "stats"):
            self.assertIn("2 segments, from 10.0 s after the start to 29.0 s; 1 earlier segment "
                          "was deleted", " ".join(self.geiger(verb, "long").decode().split()))
        line = self.error("table", "long", "--kind", "mapped", code=1)
        self.assertIn("segments of the recording are missing", line)
        self.assertIn("2 samples were allocated before the recording began",
                      self.geiger("lifetimes", "long").decode())
        self.geiger("leaks", "long")
        self.geiger("doctor", "long")

    def test_a_gap_is_said(self):
        os.remove(os.path.join(self.here, "long/server.100.1.geiger"))
        report = self.json("summary", "long")
        self.assertEqual(report["allocated"]["bytes"]["value"], 14336)
        self.assertEqual(report["live_at_end"]["bytes"]["value"], 6144)
        self.assertTrue(any("segment 1 missing" in line for line in report["warnings"]))
        why = "1 process lacks segments of its recording"
        for verb in ("table", "tree", "stats", "lifetimes"):
            said = " ".join(self.geiger(verb, "long").decode().split())
            self.assertIn(f"Incomplete ({why}): figures and upper limits cover only what", said)
            self.assertEqual(self.json(verb, "long")["selection"]["lacks"], why)
        self.assertNotIn("selection", self.json("table", "thinned.geiger"))

    # ------------------------------------------------------------ thinning

    def followed(self):
        trace = trace_reader.read(os.path.join(self.here, "thinned.geiger"))
        return len(trace.fates())

    def test_thinned_fates_stand_for_all(self):
        kept = self.followed()
        self.assertTrue(16 < kept < 48, kept)
        allocated = self.bytes_of("thinned.geiger")
        self.assertEqual(allocated["value"], 64 * 2048)
        live = self.bytes_of("thinned.geiger", "--kind", "live")
        self.assertAlmostEqual(live["value"], 2 * kept * 2048)
        self.assertLess(live["lo"], 64 * 2048)
        self.assertGreater(live["hi"], 64 * 2048)
        process, = self.json("summary", "thinned.geiger")["processes"]
        self.assertEqual(process["thinning"], {"level": 1, "keep": 0.5})
        self.assertIn("frees were recorded for 1 of 2 samples",
                      self.geiger("stats", "thinned.geiger").decode())

    @unittest.skipUnless(STUDY, "without geiger-study")
    def test_other_designs_refuse_what_they_cannot_handle(self):
        words = ("estimators", "thinned.geiger")
        self.assertIn("not all samples were tracked",
                      self.error(*words, "--kind", "live", program=STUDY))
        self.assertEqual(self.run_geiger(*words, program=STUDY).returncode, 0)
        self.assertIn("aggregated", self.error("estimators", "aggregated.geiger", program=STUDY))

    def test_sql_weighs_as_the_reports_do(self):
        self.geiger("export", "sqlite", "thinned.geiger", "-o", "run.db")
        rows = sqlite3.connect(os.path.join(self.here, "run.db")).execute(
            "SELECT kind, value, variance FROM total_estimates WHERE quantity = 'bytes'")
        for kind, value, variance in rows.fetchall():
            report = self.bytes_of("thinned.geiger", "--kind", kind)
            self.assertAlmostEqual(value / report["value"], 1, places=9, msg=kind)
            self.assertAlmostEqual(variance, report["variance"], delta=1e-6 * (variance + 1))

    # ------------------------------------------------------------ aggregated

    def test_tallies_answer_what_sums_can(self):
        self.assertEqual(self.bytes_of("aggregated.geiger")["value"], 75 * 2048)
        self.assertEqual(self.bytes_of("aggregated.geiger", "--kind", "live")["value"], 45 * 2048)
        self.assertEqual(
            self.bytes_of("aggregated.geiger", "--kind", "live-overhead")["value"], 45 * 8)
        report = self.json("summary", "aggregated.geiger")
        self.assertEqual(report["samples"], 75)
        self.assertTrue(report["is_aggregated"])
        self.assertNotIn("live_at_peak", report)
        self.assertTrue(report["self_check"]["passed"])
        self.assertIn("not recorded", self.geiger("summary", "aggregated.geiger").decode())
        names = [row["name"] for row in self.json("table", "aggregated.geiger")["rows"]]
        self.assertIn("[stacks not distinguished]", names)
        self.assertIn("[stacks not distinguished]", self.geiger("tree", "aggregated.geiger").decode())
        self.assertEqual(self.json("stats", "aggregated.geiger")["lifetimes"], [])

    def test_what_tallies_do_not_tell_is_refused(self):
        for words in (("table", "--kind", "peak"), ("table", "--kind", "resident"),
                      ("tree", "--from", "1s"), ("table", "--at", "1s"), ("summary", "--to", "1s"),
                      ("table", "--by", "lifetime"), ("lifetimes",), ("leaks",), ("rss",),
                      ("marks",), ("export", "folded", "--kind", "peak")):
            line = self.error(*words, "aggregated.geiger")
            self.assertIn("aggregated", line, words)

    def test_exports_and_comparisons_of_tallies(self):
        self.assertIn(b"[stacks not distinguished] 10240",
                      self.geiger("export", "folded", "aggregated.geiger", "-o", "-"))
        self.geiger("export", "pprof", "aggregated.geiger", "-o", "a.pb.gz")
        self.geiger("export", "sqlite", "aggregated.geiger", "-o", "run.db")
        rows = sqlite3.connect(os.path.join(self.here, "run.db")).execute(
            "SELECT kind, value FROM total_estimates WHERE quantity = 'bytes'")
        self.assertEqual(dict(rows.fetchall()), {"allocated": 75 * 2048, "live": 45 * 2048})
        self.geiger("diff", "aggregated.geiger", "aggregated.geiger", "--kind", "live")
        self.geiger("doctor", "aggregated.geiger")
        self.geiger("check", "aggregated.geiger", "aggregated.geiger", "--max-growth", "5%")


if __name__ == "__main__":
    unittest.main()
