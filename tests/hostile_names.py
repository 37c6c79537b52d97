#!/usr/bin/env python3
"""Every verb on a trace in which every name is an attack, and on damaged traces.

usage: hostile_names.py GEIGER CORPUS

CORPUS is fuzz/corpus/trace; fuzz/seeds.cc says what is in it. Names are somebody else's
bytes: of functions, threads, modules, marks, labels, types, heaps and the program.
"""
import collections
import csv
import gzip
import http.client
import io
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import postgres

GEIGER = os.path.abspath(sys.argv.pop(1))
CORPUS = pathlib.Path(sys.argv.pop(1)).resolve()
HOSTILE = CORPUS / "hostile_names"
DROP = "'); DROP TABLE functions; --"
SCRIPT = "</script><script>alert(1)</script>"
ACTING_NAMES = {"\x1b]0;owned\x07\x1b[31mred\x1b[2J", "\u202egnp.exe"}

GROUPS = ["function", "stack", "module", "thread", "tid", "process", "size", "type", "label",
          "lifetime", "heap", "alignment"]
SORTS = ["self", "total", "samples", "name"]
REPORTS = (
    [["summary"], ["stats"], ["marks"], ["doctor"], ["plan"],
     ["tree", "--min-percent", "0"], ["tree", "--inverted"], ["leaks", "--all"]]
    + [["table", "--by", by, "--top", "0"] for by in GROUPS]
    + [["table", "--sort", sort] for sort in SORTS]
    + [["table", "--kind", kind] for kind in ("live", "peak", "mapped", "overhead")]
    + [["table", "--thread", "*"], ["table", "--label", "*"], ["table", "--type", "*"]]
    + [["lifetimes", "--by", by] for by in ("function", "stack", "thread", "size", "none")])
# Acting characters: what printable() shows as an escape (analysis/present/text.cc).
CONTROLS = "\x00-\x09\x0b-\x1f\x7f-\x9f"
ACTING = CONTROLS + "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"


class Verbs(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.mkdtemp(prefix="geiger-hostile-")
        self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)
        shutil.copy(HOSTILE, self.path("a.geiger"))

    def path(self, name):
        return os.path.join(self.here, name)

    def run_geiger(self, *words, **environment):
        env = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **environment}
        return subprocess.run([GEIGER, *words], cwd=self.here, env=env, capture_output=True,
                              timeout=60, check=False)

    def assert_harmless(self, output, words, acting=ACTING):
        text = output.decode()  # strict: must be UTF-8
        found = re.search(f"[{acting}]", text)
        self.assertIsNone(found, f"{words}: {text[max(0, found.start() - 40):][:80]!r}"
                          if found else "")
        return text


class HostileNames(Verbs):
    def test_text_moves_no_cursor(self):
        for words in REPORTS + [["rss"]]:  # It has no snapshot, and says so.
            done = self.run_geiger(*words[:1], "a.geiger", *words[1:])
            self.assertIn(done.returncode, (0, 1), (words, done))
            self.assert_harmless(done.stdout, words)
            self.assert_harmless(done.stderr, words)

    def test_no_name_can_forge_a_line(self):
        text = self.run_geiger("table", "a.geiger", "--top", "0").stdout.decode()
        lines = [line for line in text.splitlines() if "forged" in line]
        self.assertTrue(lines)
        for line in lines:
            self.assertIn("\\x0amain;forged", line)

    def test_json_is_json(self):
        for words in REPORTS:
            done = self.run_geiger(*words[:1], "a.geiger", *words[1:], "--json")
            json.loads(done.stdout)  # strict UTF-8, no NaN
            self.assertNotRegex(done.stdout, rb"\b(NaN|Infinity)\b")
            self.assert_harmless(done.stdout, words)

    def test_json_keeps_names(self):
        document = json.loads(
            self.run_geiger("table", "a.geiger", "--top", "0", "--json").stdout)
        names = {row["name"] for row in document["rows"]}
        self.assertIn(DROP, names)
        self.assertIn(SCRIPT, names)
        self.assertIn("a;b c\nmain;forged 999999", names)

    def test_the_document_of_a_page(self):
        for words in ([], ["--diff", "a.geiger"], ["--source"]):
            done = self.run_geiger("report", "a.geiger", "--json", *words)
            self.assertIn(SCRIPT, json.loads(done.stdout)["names"])
            self.assert_harmless(done.stdout, words)
            self.assert_harmless(done.stderr, words)

    def test_a_look_at_it(self):
        for by in ("function", "stack", "thread", "module", "size", "type", "label"):
            words = ["live", "a.geiger", "--json", "--updates", "1", "--by", by, "--top", "0"]
            done = self.run_geiger(*words)
            self.assertEqual(done.returncode, 0, (words, done))
            line, = self.assert_harmless(done.stdout, words).splitlines()
            document = json.loads(line)
            if by == "function":
                names = {row["name"] for row in document["table"]["rows"]}
                for attack in (DROP, "a;b c\nmain;forged 999999"):  # Of modules: NAME+0x51.
                    self.assertTrue([name for name in names if name.startswith(attack)], names)
            self.assert_harmless(done.stderr, words)

    def served(self, trace, *paths):
        """What `geiger serve` answers of a trace."""
        token = "a-token-for-tests"
        server = subprocess.Popen([GEIGER, "serve", "--token", token, trace], cwd=self.here,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            shown, address = server.stdout.readline(), server.stdout.readline()
            self.assert_harmless(shown.encode(), "serve")
            port = int(re.search(r"127\.0\.0\.1:(\d+)/", address)[1])
            answers = []
            for path in paths:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request("GET", f"/{token}{path}")
                answer = connection.getresponse()
                self.assertEqual(answer.status, 200, path)
                answers.append(answer.read())
                connection.close()
            return answers
        finally:
            server.kill()
            server.communicate()

    def test_what_is_served(self):
        paths = ["/data.json", "/live.json", "/", "/debug/pprof/heap?debug=1",
                 "/debug/pprof/allocs"]
        data, look, page, table, profile = self.served("a.geiger", *paths)
        for path, text in zip(paths, (data, look, page, table)):
            self.assert_harmless(text, path)
        self.assertIn(SCRIPT, json.loads(data)["names"])
        json.loads(look)
        # The plain page escapes names; the template has none in it.
        self.assertNotIn(SCRIPT.encode(), page)
        self.assertIn(DROP.encode(), gzip.decompress(profile))

    def test_metrics(self):
        """A program is named by the end of its path."""
        trace = HOSTILE.read_bytes().replace(b"m</script>", b"m< script>")
        pathlib.Path(self.path("b.geiger")).write_bytes(trace)
        metrics, = self.served("b.geiger", "/metrics")
        text = self.assert_harmless(metrics, "metrics")
        self.assertIn(r'''{pid="100",program="\\x1b[31m< script>'\";=1\n"}''', text)

    def test_every_export(self):
        """Of all formats that there are: harmless text, JSON where it is JSON."""
        help_text = self.run_geiger("export", "--help").stdout.decode()
        formats = re.findall(r"(?m)^  ([a-z][a-z0-9_]+) {2,}\S", help_text)
        self.assertLessEqual({"pprof", "folded", "speedscope", "csv", "jsonl", "dhat"},
                             set(formats))
        for name in formats:
            form = ["--json"] if name == "otlp" else []
            done = self.run_geiger("export", name, "a.geiger", "-o", f"out.{name}", *form)
            self.assertEqual(done.returncode, 0, (name, done))
            self.assert_harmless(done.stderr, name)
            output = pathlib.Path(self.path(f"out.{name}")).read_bytes()
            self.assertTrue(output, name)
            if name in ("pprof", "sqlite"):
                continue
            self.assert_harmless(output.replace(b"\r\n", b"\n"), name, CONTROLS)
            if name in ("speedscope", "firefox", "dhat", "otlp"):
                json.loads(output)
            for line in output.splitlines() if name == "jsonl" else []:
                json.loads(line)
            if name == "csv":
                rows = list(csv.reader(io.StringIO(output.decode(), newline="")))
                self.assertEqual({len(row) for row in rows}, {len(rows[0])})

    def test_notes_at_lines(self):
        for form in ("gcc", "sarif"):
            done = self.run_geiger("table", "--format", form, "--by", "stack", "a.geiger")
            self.assertEqual(done.returncode, 0, done)
            self.assert_harmless(done.stdout, form)
            if form == "sarif":
                self.assertTrue(json.loads(done.stdout)["runs"][0]["results"])
            else:
                self.assertRegex(done.stdout.decode(), r"(?m)^.*:\d+: note: ")

    def test_diff_and_check(self):
        shutil.copy(HOSTILE, self.path("b\x1b[31m.geiger"))
        for words in (["diff"], ["diff", "--by", "stack"], ["check", "--max-growth", "5%"],
                      ["check", "--max-site-growth", "5%"]):
            done = self.run_geiger(*words[:1], "a.geiger", "b\x1b[31m.geiger", *words[1:])
            self.assert_harmless(done.stdout, words)
            self.assert_harmless(done.stderr, words)
            done = self.run_geiger(*words[:1], "a.geiger", "b\x1b[31m.geiger", *words[1:],
                                   "--json")
            if done.stdout:
                json.loads(done.stdout)

    def test_junit_and_svg_are_xml(self):
        self.run_geiger("check", "a.geiger", "a.geiger", "--max-site-growth", "5%",
                        "--junit", "out.xml")
        self.run_geiger("lifetimes", "a.geiger", "--svg", "out.svg")
        found = [name for name in ("out.xml", "out.svg") if os.path.exists(self.path(name))]
        for name in found:
            xml.etree.ElementTree.parse(self.path(name))
        self.assertTrue(found)

    def functions(self, script):
        database = sqlite3.connect(":memory:")
        database.executescript(script)
        return {name for (name,) in database.execute("SELECT name FROM functions")}

    def test_sql_holds_names_and_runs_none(self):
        script = self.run_geiger("export", "sql", "a.geiger").stdout.decode()
        self.assert_harmless(script.encode(), "sql")
        names = self.functions(script)
        self.assertEqual(ACTING_NAMES - names, set())
        self.assertIn(DROP, names)
        self.assertIn("=cmd|'/C calc'!A0", names)
        self.assertIn("$(touch x) `touch y` | touch z", names)

    def test_postgresql_reads_the_same_names(self):
        script = self.run_geiger("export", "sql", "a.geiger").stdout.decode()
        query = "SELECT encode(convert_to(name, 'UTF8'), 'hex') FROM functions;\n"
        try:
            with postgres.Server() as server:
                rows = server.psql(script + query)
        except FileNotFoundError as missing:
            self.skipTest(str(missing))
        names = {bytes.fromhex(row[0]).decode() for row in rows}
        self.assertEqual(names, self.functions(script))
        self.assertEqual(ACTING_NAMES - names, set())

    def test_sqlite_holds_the_same_names(self):
        script = self.run_geiger("export", "sql", "a.geiger").stdout.decode()
        self.run_geiger("export", "sqlite", "a.geiger", "-o", "a.db")
        database = sqlite3.connect(self.path("a.db"))
        names = {name for (name,) in database.execute("SELECT name FROM functions")}
        self.assertEqual(names, self.functions(script))

    def test_folded_stacks_are_one_line_each(self):
        output = self.run_geiger("export", "folded", "a.geiger").stdout
        for line in self.assert_harmless(output, "folded", CONTROLS).splitlines():
            frames, _, value = line.rpartition(" ")
            self.assertRegex(value, r"^[0-9]+$")
            self.assertNotEqual(value, "999999")
            self.assertNotIn("main", frames.split(";"))

    def test_pprof_is_a_gzip_of_a_message(self):
        output = self.run_geiger("export", "pprof", "a.geiger").stdout
        self.assertIn(DROP.encode(), gzip.decompress(output))

    def test_nothing_ran_and_nothing_was_left(self):
        for words in REPORTS:
            self.run_geiger(*words[:1], "a.geiger", *words[1:])
        self.run_geiger("symbolize", "a.geiger")
        self.assertEqual(sorted(os.listdir(self.here)), ["a.geiger"])


def dated(trace):
    """The images of a trace as if recorded in 2023: stores take none from 1970."""
    magic, start_realtime = trace[:8], 72  # The field's place in trace::FileHeader.
    trace = bytearray(trace)
    at = 0
    for second in itertools.count(1_700_000_000):
        trace[at + start_realtime:at + start_realtime + 8] = struct.pack("<Q", second * 10**9)
        at = trace.find(magic, at + 1)
        if at < 0:
            return trace


# Those that read traces; @ is the trace.
VERBS = (
    [[verb, "@"] for verb in ("summary", "table", "tree", "stats", "doctor", "marks", "lifetimes",
                              "leaks", "rss", "plan", "symbolize")]
    + [["report", "@", "--json"], ["live", "@", "--json", "--updates", "1"], ["diff", "@", "@"]]
    + [["export", form, "@", "-o", "out"]
       for form in ("pprof", "speedscope", "firefox", "dhat", "heaptrack", "folded", "csv", "jsonl",
                    "sqlite", "sql")]
    + [["push", "--service", "s", "--version", "1", "--host", "h", "@", "fleet.db"],
       ["agent", "--once", "--host", "h", "--to", "fleet.db", "--spool", "spool", "--watch", "."]])


class DamagedTraces(Verbs):
    """What the whole program makes of damage; fuzz/mutants.cc does it by the thousand."""

    def mutants(self, count):
        chance = random.Random(5)
        sound = dated((CORPUS / "sealed_two_images").read_bytes())
        for _ in range(count):
            mutant = bytearray(sound)
            if chance.random() < 0.3:
                del mutant[chance.randrange(len(mutant)):]
            for _ in range(chance.randrange(1, 20)):
                if mutant:
                    at = chance.randrange(len(mutant))
                    mutant[at] = chance.choice([0, 0xff, chance.randrange(256)])
            yield mutant

    def test_one_line_and_a_documented_exit_code(self):
        codes = collections.defaultdict(set)
        for number, mutant in enumerate(self.mutants(8 * len(VERBS))):
            pathlib.Path(self.path("a.geiger")).write_bytes(mutant)
            words = VERBS[number % len(VERBS)]
            done = self.run_geiger(*(word.replace("@", "a.geiger") for word in words))
            self.assertIn(done.returncode, (0, 1), (number, done))
            codes[words[0]].add(done.returncode)
            self.assert_harmless(done.stdout, words)
            lines = self.assert_harmless(done.stderr, words).splitlines()
            self.assertLessEqual(len(lines), 6)
            for line in lines:
                self.assertRegex(line, "^geiger: (?!internal error)")
            if done.returncode == 1 and words[0] != "doctor":
                self.assertTrue(lines, (number, done))
        self.assertEqual(codes["summary"] | codes["table"], {0, 1})

    def test_what_cannot_be_pushed(self):
        """Of a run with a damaged trace the others are sent."""
        sound = dated((CORPUS / "sealed_two_images").read_bytes())
        push = ["push", "--service", "s", "--version", "1", "--host", "h"]
        pathlib.Path(self.path("a.geiger")).write_bytes(sound)
        self.assertEqual(self.run_geiger(*push, "a.geiger", "whole.db").returncode, 0)
        pathlib.Path(self.path("b.geiger")).write_bytes((CORPUS / "open").read_bytes())
        said = r"process \d+ \(its time is not in seconds since 1970\)"
        done = self.run_geiger(*push, "a.geiger", "b.geiger", "part.db")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr.decode(), f"geiger: not sent: {said}\n")
        self.assertIn("2 windows of s 1 on h sent", done.stderr.decode())
        done = self.run_geiger(*push, "b.geiger", "none.db")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr.decode(), f"geiger: nothing was sent: {said}\n")
        self.assertFalse(os.path.exists(self.path("none.db")))
        for trace in ("bytes_beyond_64_bits", "hostile_names"):
            pathlib.Path(self.path("b.geiger")).write_bytes((CORPUS / trace).read_bytes())
            done = self.run_geiger(*push, "b.geiger", "none.db")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("geiger: nothing was sent: process ", done.stderr.decode())

    def test_what_is_wrong_and_where(self):
        pathlib.Path(self.path("a.geiger")).write_bytes((CORPUS / "cut").read_bytes())
        done = self.run_geiger("summary", "a.geiger")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode().splitlines()[0],
                         r"^geiger: a\.geiger: offset \d+: the file is cut short.*; \d+ records "
                         r"before it are used$")

    def test_traces_that_were_never_begun(self):
        """What kills, full disks and limits leave of a trace; those beside it are read."""
        sound = (CORPUS / "sealed_two_images").read_bytes()
        os.mkdir(self.path("run"))
        pathlib.Path(self.path("run/sound.geiger")).write_bytes(sound)
        alone = json.loads(self.run_geiger("summary", "run", "--json").stdout)
        for name, left in (("empty", b""), ("short", sound[:100]), ("headless", bytes(8192)),
                           ("zeros", bytes(100)), ("cut", sound[:600])):
            pathlib.Path(self.path(f"run/{name}.geiger")).write_bytes(left)
            done = self.run_geiger("summary", f"run/{name}.geiger")
            self.assertEqual((done.returncode, done.stdout), (1, b""), name)
            line, = done.stderr.decode().splitlines()
            self.assertRegex(line, rf"^geiger: run/{name}\.geiger: .*(empty: |too short|never )")
        done = self.run_geiger("summary", "run")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"samples", done.stdout)
        lines = done.stderr.decode().splitlines()
        damaged = [line for line in lines if re.match(r"geiger: run/(short|cut)\.geiger: ", line)]
        lost = [line for line in lines if line.endswith("; its allocations are not known")]
        self.assertEqual((len(damaged), len(lost)), (2, 1), lines)
        self.assertIn("geiger: and 2 more messages like these", lines)
        document = json.loads(self.run_geiger("summary", "run", "--json").stdout)
        self.assertEqual(len(document["warnings"]) - len(alone["warnings"]), 5)
        for key in ("samples", "allocated", "live_at_end", "processes"):
            self.assertEqual(document[key], alone[key], key)

    def test_only_regular_files(self):
        os.mkfifo(self.path("fifo.geiger"))
        os.symlink("/dev/zero", self.path("zero.geiger"))
        for name in ("fifo.geiger", "zero.geiger", "/dev/tty", "missing.geiger"):
            done = self.run_geiger("summary", name)
            self.assertEqual(done.returncode, 1, name)
            self.assertEqual(len(done.stderr.decode().splitlines()), 1, done)


if __name__ == "__main__":
    unittest.main()
