#!/usr/bin/env python3
"""`geiger report` on programs that nobody here wrote: what its page adds up to is what the
other verbs print.

usage: report.py GEIGER HOST_CHANGES CORPUS

HOST_CHANGES is tests/hosts/changes, built with debug information; CORPUS is fuzz/corpus/trace.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from page_reader import Page, data_in

GEIGER = os.path.abspath(sys.argv.pop(1))
CHANGES = os.path.abspath(sys.argv.pop(1))
CORPUS = pathlib.Path(sys.argv.pop(1)).resolve()
TEMPLATE = ('<!doctype html><meta charset="utf-8"><title>geiger</title>'
            '<script type="application/x-geiger" id="data"></script>')
WORK = """
import json, re, threading, zlib
kept = []
def build(count):
    for i in range(count):
        text = json.dumps({str(j): list(range(j % 40)) for j in range(150)})
        kept.append(json.loads(text) if i % 4 == 0 else zlib.compress(text.encode()))
threads = [threading.Thread(target=build, args=(60,)) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def run(*words, cwd, program=GEIGER, **options):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **options.pop("env", {})}
    return subprocess.run([program, *words], cwd=cwd, env=env, capture_output=True, timeout=300,
                          check=False, **options)


def record(path, *program, options=(), env=None):
    done = run("run", "-q", "-f", "--seed", "11", *options, "-o", path, "--", *program,
               cwd=os.path.dirname(path), env=env or {})
    assert done.returncode == 0, done


def record_redis(path):
    """redis-server under redis-benchmark."""
    socket = os.path.join(os.path.dirname(path), "redis.sock")
    with open(os.devnull, "wb") as null:
        server = subprocess.Popen(
            [GEIGER, "run", "-q", "--interval", "16KiB", "--seed", "3", "--fragmentation",
             "-o", path, "--", "redis-server", "--port", "0", "--unixsocket", socket, "--save", ""],
            stdout=null, cwd=os.path.dirname(path))
    harness.wait_for_redis(socket, server)
    subprocess.run(["redis-benchmark", "-s", socket, "-n", "20000", "-q", "-d", "400", "-r", "9999",
                    "-t", "set,lpush,hset,zadd"], check=True, capture_output=True, timeout=200)
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=True, timeout=60)
    assert server.wait(60) == 0


class Report(unittest.TestCase):
    """`self.geiger` is an installed copy that has a template, whether or not it was built."""

    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-report-")
        cls.geiger = cls.install(TEMPLATE)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    @classmethod
    def install(cls, template):
        root = tempfile.mkdtemp(prefix="installed-", dir=cls.here)
        for folder in ("bin", "share/geiger"):
            os.makedirs(os.path.join(root, folder))
        shutil.copy(GEIGER, os.path.join(root, "bin/geiger"))
        if template is not None:
            pathlib.Path(root, "share/geiger/report.html").write_text(template, encoding="utf-8")
        return os.path.join(root, "bin/geiger")

    def path(self, name):
        return os.path.join(self.here, name)

    def report(self, *words, code=0, **options):
        done = run("report", *words, cwd=self.here, program=self.geiger, **options)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def page(self, *words, code=0):
        out = tempfile.mktemp(suffix=".html", dir=self.here)
        self.report(*words, "-o", out, code=code)
        return Page(data_in(pathlib.Path(out).read_text(encoding="utf-8")))

    def json(self, *words):
        done = run(*words, "--json", cwd=self.here)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def error(self, *words, code=1, program=None):
        done = run("report", *words, cwd=self.here, program=program or self.geiger)
        self.assertEqual(done.returncode, code, done)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines, done)
        for line in lines:
            self.assertRegex(line, "^(geiger: |Try )")
        return lines[0]

    def assert_arrives(self, page, kind, expected, window=None):
        sums = page.total(kind, window)
        self.assertAlmostEqual(sums.certain + sums.weighted, expected["value"],
                               delta=1e-9 * (1 + expected["value"]))
        self.assertAlmostEqual(sums.variance, expected["variance"],
                               delta=1e-9 * (1 + expected["variance"]))
        self.assertEqual(sums.samples, expected["samples"])
        self.assertAlmostEqual(sums.certain, expected["exact"], delta=1)

    def assert_agrees(self, page, run_path, *options):
        """Every kind that the page has is the one that `table` prints."""
        for kind, profile in page.profiles.items():
            if profile["cells"] < 0:
                self.assertTrue(profile["unavailable"])
                continue
            total = self.json("table", run_path, "--kind", kind, *options)["total"]
            for number in ("bytes", "objects"):
                self.assertEqual(profile[number], total[number], kind)
            self.assert_arrives(page, kind, total["bytes"])
        if not options:
            self.assert_opens_as_summary(page, run_path)

    def assert_opens_as_summary(self, page, run_path):
        summary = self.json("summary", run_path)
        finding = summary.get("mapped_finding", summary["finding"])
        self.assertEqual(page.data["opening"], finding["kind"])
        found = page.profiles[finding["kind"]]["finding"]
        self.assertEqual(found["verdict"], finding["verdict"])
        names = page.data["names"]
        self.assertEqual([(names[site["function"]], site["share"]) for site in found["sites"]],
                         [(site["name"], site["share"]) for site in finding["sites"]])


class RealPrograms(Report):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.python = os.path.join(cls.here, "python.geiger")
        record(cls.python, "/usr/bin/python3", "-c", WORK, options=("--interval", "32KiB"))

    def test_redis(self):
        for program in ("redis-server", "redis-benchmark", "redis-cli"):
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")
        redis = self.path("redis.geiger")
        record_redis(redis)
        page = self.page(redis)
        self.assert_agrees(page, redis)
        self.assertGreater(page.profiles["resident"]["bytes"]["samples"], 100)
        self.assertGreater(len(page.data["timeline"]["rss"]["time"]), 2)
        account = page.data["resident"]
        parts = sum(line["bytes"] for line in account[1:])
        self.assertAlmostEqual(parts, account[0]["bytes"], delta=1)
        functions = page.bytes_by("live", page.leaf)
        own = {"zmalloc", "zmalloc_usable", "zrealloc_usable"}
        self.assertTrue(own & set(functions), functions)
        facts = {fact["name"]: fact for fact in page.data["facts"]}
        self.assertTrue(facts["interval"]["value"].startswith("16 KiB between sampled bytes"))
        self.assertEqual(facts["dropped"]["value"], "nothing")
        self.assertIn("detection limit", facts)

    def test_python_by_function_thread_and_type(self):
        page = self.page(self.python)
        self.assert_agrees(page, self.python)
        keys = {"function": page.leaf, "thread": lambda cell, _: page.name(cell["thread"]),
                "type": lambda cell, _: page.name(cell["type"])}
        for by, key in keys.items():
            leaves = ["--plumbing"] if by == "function" else []
            rows = self.json("table", self.python, "--by", by, *leaves, "--top", "0")["rows"]
            expected = collections.Counter()
            for row in rows:
                expected[row["name"]] += row["self"]["bytes"]["value"]
            found = page.bytes_by("allocated", key)
            for name, value in found.items():
                self.assertAlmostEqual(value, expected[name], delta=1e-6 * (1 + value), msg=name)

    def test_sizes(self):
        page = self.page(self.python)
        by_class = page.bytes_by("allocated", lambda _, stratum: stratum["sizeClass"])
        rows = self.json("table", self.python, "--by", "size", "--sort", "natural",
                         "--top", "0")["rows"]
        seen = [row["self"]["bytes"]["value"] for row in rows]
        for value, expected in zip((by_class[c] for c in sorted(by_class)), seen, strict=True):
            self.assertAlmostEqual(value, expected, delta=1e-6 * expected)

    def test_every_instant_of_the_timeline(self):
        data = self.page(self.python).data
        edges, live = data["timeline"]["edges"], data["timeline"]["live"]
        self.assertEqual(len(edges), len(live["value"]) + 1)
        for bucket in (20, 100, 200):
            at = self.json("table", self.python, "--kind", "live",
                           "--at", f"{edges[bucket + 1] - 1}ns")
            self.assertAlmostEqual(live["value"][bucket], at["total"]["bytes"]["value"], delta=1)
            self.assertAlmostEqual(live["hi"][bucket], at["total"]["bytes"]["hi"], delta=1)

    def test_windows_and_filters(self):
        options = ("--from", "20%", "--to", "70%")
        page = self.page(self.python, *options)
        allocated = self.json("table", self.python, *options)["total"]["bytes"]
        self.assert_arrives(page, "allocated", allocated)
        self.assertIn("from", [fact["value"] for fact in page.data["facts"]
                               if fact["name"] == "only"][0])
        filtered = ("--size", "1KiB..4KiB")
        page = self.page(self.python, *filtered)
        for kind in ("allocated", "live", "peak"):
            total = self.json("table", self.python, "--kind", kind, *filtered)["total"]["bytes"]
            self.assert_arrives(page, kind, total)

    def test_the_same_run_gives_the_same_bytes(self):
        first = self.report(self.python, "-o", "-").stdout
        self.assertEqual(first, self.report(self.python, "-o", "-").stdout)

    def test_several_runs_are_one_page(self):
        other = self.path("other.geiger")
        record(other, "/usr/bin/python3", "-c", WORK, options=("--interval", "64KiB"))
        page = self.page(self.python, other)
        for kind in ("allocated", "live", "peak"):
            total = self.json("table", self.python, other, "--kind", kind)["total"]["bytes"]
            self.assert_arrives(page, kind, total)

    def test_a_comparison_says_what_diff_says(self):
        other = self.path("after.geiger")
        record(other, "/usr/bin/python3", "-c", WORK.replace("(60,)", "(90,)"),
               options=("--interval", "32KiB"))
        diff = self.page(other, "--diff", self.python).data["diff"]
        tables = {table["by"]: table["rows"] for table in diff["tables"]}
        self.assertEqual(set(tables), {"function", "function, inclusive", "stack", "module"})
        placed, shorts = set(), {"function": {}, "module": {}}
        for by in ("function", "module"):
            expected = self.json("diff", self.python, other, "--kind", "allocated", "--by", by, "--all",
                                 "--top", "0")
            self.assertEqual(diff["total"]["delta"]["value"], expected["total"]["change"]["value"])
            self.assertEqual(diff["total"]["verdict"], expected["total"]["verdict"])
            rows = {(row["name"], row["detail"]): row for row in expected["rows"]}
            for row in tables[by]:
                same = rows[(row["name"], row["detail"])]
                self.assertEqual((row["verdict"], row["q"], row["delta"]["value"]),
                                 (same["verdict"], same["change"]["q"], same["change"]["value"]))
                shorts[by][row["name"], row["detail"]] = (row.get("shortName", row["name"]),
                                                          same.get("short_name", row["name"]))
                if "line" in same:
                    self.assertIn(f":{same['line']}", row["place"])
                    placed.add(row["name"])
        self.assertGreater(len(placed), 2)
        # As on a terminal: those that would look alike are told apart.
        for names in shorts.values():
            short = collections.Counter(names_of[1] for names_of in names.values())
            for shown, expected in names.values():
                if short[expected] == 1:
                    self.assertEqual(shown, expected)
        self.assertEqual(diff["total"]["verdict"], "grew")

    def test_subtrees_of_a_comparison_add_up(self):
        data = self.page(self.python, "--diff", self.python).data
        nodes, up = data["diff"]["nodes"], data["nodes"]["up"]
        top = [i for i, node in enumerate(nodes["node"]) if up[node] == node]
        before = sum(nodes["before"][i] for i in top)
        self.assertAlmostEqual(before, data["diff"]["total"]["before"]["value"], delta=1)
        self.assertEqual(set(nodes["delta"]), {0})
        verdicts = {data["names"][verdict] for verdict in nodes["verdict"]}
        self.assertLessEqual(verdicts, {"noise", "too few samples"})


class Shapes(Report):
    """Recordings that lack something."""

    def test_nothing_sampled(self):
        empty = self.path("empty.geiger")
        record(empty, "/usr/bin/perl", "-e", "1", options=("--interval", "1GiB"))
        page = self.page(empty)
        self.assertEqual(page.profiles["allocated"]["bytes"]["value"], 0)
        self.assertGreater(page.profiles["allocated"]["bytes"]["hi"], 2 ** 30)
        self.assertTrue(any("No samples." in line for line in page.data["warnings"]))

    def test_aggregated(self):
        path = self.path("aggregated.geiger")
        record(path, "/usr/bin/python3", "-c", WORK, options=("--interval", "32KiB", "--aggregate"))
        page = self.page(path)
        for kind in ("allocated", "live"):
            total = self.json("table", path, "--kind", kind)["total"]["bytes"]
            self.assert_arrives(page, kind, total)
        self.assertIn("aggregated", page.profiles["peak"]["unavailable"])
        self.assertEqual(page.data["timeline"]["live"]["value"], [])

    def test_every_allocation(self):
        path = self.path("exact.geiger")
        record(path, "/usr/bin/perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1..3000",
               options=("--interval", "1"))
        page = self.page(path)
        self.assert_agrees(page, path)
        exact = page.profiles["allocated"]["bytes"]
        self.assertEqual((exact["lo"], exact["hi"]), (exact["value"], exact["value"]))

    def test_children(self):
        directory = self.path("children")
        done = run("run", "-q", "--interval", "4KiB", "--", "/bin/sh", "-c",
                   "/usr/bin/perl -e 'my @a = (1) x 90000'; /usr/bin/perl -e 'my @a = (1) x 70000'",
                   cwd=os.path.dirname(directory))
        self.assertEqual(done.returncode, 0, done)
        found, = pathlib.Path(self.here).glob("geiger-*.[0-9]*")
        page = self.page(str(found))
        for kind in ("allocated", "live", "peak"):
            self.assert_arrives(page, kind,
                                self.json("table", str(found), "--kind", kind)["total"]["bytes"])
        shutil.rmtree(found)

    def test_damaged(self):
        path = self.path("damaged.geiger")
        shutil.copy(CORPUS / "cut", path)
        page = self.page(path, code=1)
        self.assertTrue(any("cut short" in line for line in page.data["warnings"]))

    def test_source_lines(self):
        path = self.path("changes.geiger")
        record(path, CHANGES, "before", options=("--interval", "1KiB"))
        self.assertEqual(self.page(path).data["sources"], [])
        data = self.page(path, "--source").data
        files = {data["names"][source["file"]]: source for source in data["sources"]}
        name = next(name for name in files if name.endswith("changes.cc"))
        text = pathlib.Path(name).read_text(encoding="utf-8").splitlines()
        for source in data["sources"]:
            if data["names"][source["file"]] == name:
                first = source["from"] - 1
                self.assertEqual(source["lines"], text[first:first + len(source["lines"])])
        shown = {(source["file"], source["from"] + i)
                 for source in data["sources"] for i in range(len(source["lines"]))}
        frames = data["frames"]
        for file, line in zip(frames["file"], frames["line"], strict=True):
            if file >= 0 and data["names"][file] == name:
                self.assertIn((file, line), shown)


class CommandLine(Report):
    def setUp(self):
        self.run_path = self.path("a.geiger")
        if not os.path.exists(self.run_path):
            record(self.run_path, "/usr/bin/perl", "-e", "my @a = map { 'x' x $_ } 1..2000",
                   options=("--interval", "4KiB"))

    def test_names_the_file_after_the_program(self):
        done = self.report(self.run_path)
        self.assertRegex(done.stderr.decode(),
                         r"^geiger: wrote geiger-perl\.html, [0-9.]+ KiB; open")
        self.assertEqual(done.stdout, b"")
        first = pathlib.Path(self.path("geiger-perl.html")).read_bytes()
        self.assertIn("exists (-f replaces it)", self.error(self.run_path))
        self.report(self.run_path, "-f")
        self.assertEqual(pathlib.Path(self.path("geiger-perl.html")).read_bytes(), first)

    def test_json_is_the_same_document(self):
        document = json.loads(self.report(self.run_path, "--json").stdout)
        self.assertEqual(document, self.page(self.run_path).data)
        self.assertEqual(document["schema"], 1)

    def test_frames_that_the_command_line_hides(self):
        self.assertNotIn("preset", self.page(self.run_path).data)
        data = self.page(self.run_path, "--plumbing", "--hide", "^a", "--hide", "^b$").data
        self.assertEqual(data["preset"], {"all_frames": True, "hide": "^a|^b$"})
        plumbing = 2

        def is_plumbing(data, function):
            flags = [data["frames"]["flags"][i] for i, name in enumerate(data["frames"]["name"])
                     if data["names"][name] == function]
            return [flag & plumbing != 0 for flag in flags]
        data = self.page(self.run_path).data
        own = next(data["names"][name] for name, flags in
                   zip(data["frames"]["name"], data["frames"]["flags"]) if flags == 0)
        rules = self.path("our.rules")
        pathlib.Path(rules).write_text(f"plumbing ^{re.escape(own)}$\n", encoding="utf-8")
        self.assertIn(False, is_plumbing(data, own))
        self.assertNotIn(False, is_plumbing(self.page(self.run_path, "--rules", rules).data, own))

    def test_what_cannot_be_written(self):
        self.assertIn("missing/x.html", self.error(self.run_path, "-o", "missing/x.html"))
        self.assertIn("is a directory", self.error(self.run_path, "-o", self.here))
        self.assertIn("No space left", self.error(self.run_path, "-o", "/dev/full"))
        self.assertIn("cannot be opened", self.error("missing.geiger"))
        self.assertIn("--open", self.error(self.run_path, "--open", "-o", "-", code=2))

    def test_a_closed_pipe_ends_it_quietly(self):
        command = f"'{self.geiger}' report '{self.run_path}' -o - | head -c 10"
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60,
                              check=False)
        self.assertEqual((done.stdout, done.stderr), (TEMPLATE.encode()[:10], b""))

    def test_templates(self):
        missing = self.error(self.run_path, program=self.install(None))
        self.assertRegex(missing, r"share/geiger/report\.html is missing: .* --target web")
        wrong = self.error(self.run_path, "-o", "w.html", program=self.install("<html></html>"))
        self.assertIn("is not a template of this version", wrong)
        self.assertFalse(os.path.exists(self.path("w.html")))
        run("report", self.run_path, "--json", cwd=self.here, program=self.install(None))

    def test_opens_a_browser(self):
        browser = self.path("browser")
        os.makedirs(browser, exist_ok=True)
        script = pathlib.Path(browser, "xdg-open")
        script.write_text(f"#!/bin/sh\necho \"$1\" > {browser}/opened\n", encoding="utf-8")
        script.chmod(0o755)
        environment = {"PATH": f"{browser}:{os.environ['PATH']}"}
        self.report(self.run_path, "-f", "-o", "-x.html", "--open", env=environment)
        opened = pathlib.Path(browser, "opened").read_text(encoding="utf-8")
        self.assertEqual(opened, os.path.join(os.path.realpath(self.here), "-x.html") + "\n")
        script.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
        done = self.report(self.run_path, "-f", "-o", "x.html", "--open", code=1, env=environment)
        self.assertIn("xdg-open could not open it; in a browser: file:///", done.stderr.decode())

    def test_hostile_runs(self):
        hostile = self.path("\x1b[31m\n=x.geiger")
        shutil.copy(CORPUS / "hostile_names", hostile)
        done = self.report(hostile, "--diff", hostile, "--source", "-o", self.path("h.html"))
        self.assertNotIn(b"\x1b", done.stderr)
        html = pathlib.Path(self.path("h.html")).read_bytes()
        self.assertEqual(html.count(b"<script"), 1)
        names = data_in(html.decode())["names"]
        self.assertIn("</script><script>alert(1)</script>", names)


if __name__ == "__main__":
    unittest.main(verbosity=1)
