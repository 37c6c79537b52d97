#!/usr/bin/env python3
"""Every export opened by a tool that nobody here wrote: what it shows is what geiger says.

usage: viewers.py GEIGER FOLDER CORPUS

FOLDER is where the viewers that come from npm are installed, once; CORPUS is
fuzz/corpus/trace. Tests whose viewer is not there are skipped.
"""
import csv
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import profile_stores

GEIGER = os.path.abspath(sys.argv.pop(1))
FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
HOSTILE = pathlib.Path(sys.argv.pop(1)).resolve() / "hostile_names"
VIEWERS = pathlib.Path(__file__).resolve().parent / "viewers"
DHAT_VIEW = "/usr/libexec/valgrind/dh_view.html"
PROGRAM = ["perl", "-e",
           'my %h; $h{$_} = "x" x ($_ % 300) for 1..20000; delete $h{$_} for 1..9000; print 1']


def install_viewers():
    """By npm, in the versions of the lock file."""
    wanted = (VIEWERS / "package-lock.json").read_bytes()
    done = FOLDER / "installed"
    if done.exists() and done.read_bytes() == wanted:
        return True
    if not shutil.which("npm"):
        return False
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(VIEWERS / name, FOLDER)
    installed = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
                               cwd=FOLDER, check=False, timeout=300, capture_output=True)
    if installed.returncode != 0:
        print(installed.stderr.decode(), file=sys.stderr)
        return False
    done.write_bytes(wanted)
    return True


HAS_VIEWERS = install_viewers()


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-viewers-")
        cls.run_tool(GEIGER, "run", "-q", "--interval", "1KiB", "--seed", "7", "-o", "a.geiger",
                     "--", *PROGRAM)
        shutil.copy(HOSTILE, os.path.join(cls.here, "hostile.geiger"))
        cls.summary = json.loads(cls.run_tool(GEIGER, "summary", "a.geiger", "--json"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    @classmethod
    def run_tool(cls, *words, cwd=None, **environment):
        done = subprocess.run([str(word) for word in words], cwd=cwd or cls.here, timeout=180,
                              env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done}")
        return done.stdout.decode()

    def export(self, form, name, *words, run="a.geiger"):
        self.run_tool(GEIGER, "export", form, run, "-f", "-o", name, *words)
        return os.path.join(self.here, name)

    def value(self, key):
        return round(self.summary[key]["bytes"]["value"])

    def in_browser(self, viewer, path):
        if not HAS_VIEWERS or not os.path.exists("/usr/bin/chromium"):
            self.skipTest("no Chromium, or no viewers from npm")
        shutil.copy(VIEWERS / "open_in_browser.mjs", FOLDER)
        shown = json.loads(self.run_tool("node", "open_in_browser.mjs", viewer, path, cwd=FOLDER))
        self.assertEqual(shown["errors"], [])
        self.assertEqual(shown["requests"], [])
        return shown

    def test_heaptrack_print(self):
        if not shutil.which("heaptrack_print"):
            self.skipTest("no heaptrack_print")
        for name in ("a.ht", "a.ht.gz", "a.ht.zst"):
            path = self.export("heaptrack", name)
            text = self.run_tool("heaptrack_print", path)
            self.assertIn(f"calls to allocation functions: {self.summary['samples']} ", text)
            self.assertIn("estimated by geiger", text)
        for cost, key in (("leaked", "live_at_end"), ("allocations", None)):
            self.run_tool("heaptrack_print", path, "-F", "stacks", "--flamegraph-cost-type", cost)
            lines = pathlib.Path(self.here, "stacks").read_text(encoding="utf-8").splitlines()
            total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
            truth = self.value(key) if key else self.summary["samples"]
            # Each block is rounded so that the sum of all that was allocated is right.
            self.assertAlmostEqual(total, truth, delta=0.001 * truth)
            self.assertTrue(any("main;" in line for line in lines))

    def test_perl_readers_of_heap_text(self):
        """They unsample by a law of their own; what they come to is our estimate."""
        for run, words in (("a.geiger", []), ("a.geiger", ["--kind", "peak"])):
            path = self.export("heap_v2", "a.heap", *words, run=run)
            live = self.summary["live_at_peak" if words else "live_at_end"]
            for tool in ("google-pprof", "jeprof"):
                if not shutil.which(tool):
                    continue
                for option, key in (("inuse", live),
                                    ("alloc", live if words else self.summary["allocated"])):
                    for what, unit in (("space", "bytes"), ("objects", "objects")):
                        text = self.run_tool(tool, f"--{option}_{what}", "--show_bytes", "--text",
                                             path)
                        total = int(re.search(r"Total: (\d+) ", text).group(1))
                        truth = key[unit]["value"]
                        # Readers truncate; e^(-z/T) differs from (1 - 1/T)^z by a part in 2T.
                        self.assertAlmostEqual(total, truth, delta=2 + truth / 2048,
                                               msg=(tool, words, option, what))
                        self.assertIn("Perl_", text)

    def test_decoders_of_profile_stores(self):
        """What `geiger push` sends, by Parca's own client and by a decoder of pprof."""
        if not HAS_VIEWERS:
            self.skipTest("no decoders from npm")
        server = profile_stores.Server()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        for scheme in ("parca", "pyroscope"):
            self.run_tool(GEIGER, "push", "--service", "shop", "--version", "1.1", "--host", "web-1",
                          "a.geiger", f"{scheme}+{server.url}")
        call, (_, parts, _) = server.taken
        for name, body in (("call", call), ("form", parts["profile"])):
            pathlib.Path(self.here, name).write_bytes(body)
        shutil.copy(VIEWERS / "read_profiles.mjs", FOLDER)
        read = json.loads(self.run_tool("node", "read_profiles.mjs", os.path.join(self.here, "call"),
                                        os.path.join(self.here, "form"), cwd=FOLDER))
        self.assertEqual(read["labels"], {"__name__": "geiger", "job": "shop", "version": "1.1",
                                          "instance": "web-1"})
        for store in ("parca", "pyroscope"):
            sums = dict(zip(read[store]["types"], read[store]["sums"]))
            self.assertEqual(sums["alloc_space/bytes"], self.value("allocated"))
            self.assertEqual(sums["inuse_space/bytes"], self.value("live_at_end"))
            self.assertTrue(any(name.startswith("Perl_") for name in read[store]["functions"]))
        self.assertLess(read["pyroscope"]["samples"], read["parca"]["samples"])

    def test_recipes_by_the_types_of_kubernetes_and_grafana(self):
        """Fields and values are those of their APIs: a compiler checks them."""
        compiler = FOLDER / "node_modules" / ".bin" / "tsc"
        if not HAS_VIEWERS or not compiler.exists():
            self.skipTest("no types from npm")
        try:
            import yaml
        except ImportError:
            self.skipTest("no YAML parser")
        recipes = pathlib.Path(__file__).resolve().parent.parent / "recipes"
        sources = []
        for name, module in (("daemonset", "apps/v1"), ("sidecar", "apps/v1"), ("pod", "core/v1")):
            whole = yaml.safe_load((recipes / f"{name}.yaml").read_text())
            sources.append(FOLDER / f"{name}.ts")
            sources[-1].write_text(f'import type {{ {whole["kind"]} }} from "kubernetes-types/{module}";\n'
                                   f'export const recipe: {whole["kind"]} = {json.dumps(whole)};\n')

        def checked():
            return subprocess.run([compiler, "--noEmit", "--strict", "--skipLibCheck", "--module",
                                   "commonjs", "--moduleResolution", "node10", *sources],
                                  cwd=FOLDER, capture_output=True, text=True, timeout=180)

        for name in ("grafana-live", "grafana-dashboard"):
            sources.append(FOLDER / f"{name}.ts")
            sources[-1].write_text('import type { Dashboard } from "@grafana/schema";\n'
                                   f"export const recipe: Dashboard = {(recipes / f'{name}.json').read_text()};\n")

        self.assertEqual(checked().stdout, "")
        sources[0].write_text(sources[0].read_text().replace('"volumeMounts"', '"volumeMount"'))
        sources[3].write_text(sources[3].read_text().replace('"gridPos"', '"gridPo"'))
        self.assertIn("'\"volumeMount\"' does not exist in type 'Container'", checked().stdout)
        self.assertIn("'\"gridPo\"' does not exist in type 'Panel", checked().stdout)

    def test_sarif_by_its_schema(self):
        schema = FOLDER / "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
        if not HAS_VIEWERS or not schema.exists():
            self.skipTest("no schema from npm")
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no validator of schemas")
        validator = jsonschema.Draft7Validator(json.loads(schema.read_text()))
        for run in ("a.geiger", "hostile.geiger"):
            log = json.loads(self.run_tool(GEIGER, "table", "--format", "sarif", run))
            self.assertEqual([error.message for error in validator.iter_errors(log)], [])
        log["runs"][0]["tool"]["driver"].pop("name")
        self.assertTrue(list(validator.iter_errors(log)))

    def test_dhat_view(self):
        if not os.path.exists(DHAT_VIEW):
            self.skipTest("no dh_view.html")
        body = self.in_browser("dhat", self.export("dhat", "a.dhat.json"))["body"]
        for what, key in (("Total", "allocated"), ("At t-gmax", "live_at_peak"),
                          ("At t-end", "live_at_end")):
            self.assertRegex(body, f"{what}: +{self.value(key):,} bytes")
        self.assertRegex(body, r"avg lifetime [\d,.]+ .s")
        live = json.loads(self.run_tool(GEIGER, "summary", "a.geiger", "--json"))["live_at_end"]
        body = self.in_browser("dhat", self.export("dhat", "live.json", "--kind", "live"))["body"]
        self.assertRegex(body, f"Total: +{round(live['bytes']['value']):,} bytes")

    def test_speedscope(self):
        path = self.export("speedscope", "a.speedscope.json")
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        keys = ("live_at_peak", "live_at_end", "allocated")
        for profile, key in zip(document["profiles"], keys):
            self.assertEqual(profile["endValue"], self.value(key))
            self.assertEqual(sum(profile["weights"]), self.value(key))
        shown = self.in_browser("speedscope", path)
        titles = " ".join(page["title"] + page["body"] for page in shown["pages"])
        for words in ("live at the peak: ", "live at the end: ", "allocated: ", " ± ", "perl_run"):
            self.assertIn(words, titles[:20000])
        # It lists functions; the largest of all that was allocated is ours.
        table = json.loads(self.run_tool(GEIGER, "table", "a.geiger", "--plumbing", "--top", "0", "--json"))
        largest = max(table["rows"], key=lambda row: row["self"]["bytes"]["value"])
        megabytes = largest["self"]["bytes"]["value"] / 1024 ** 2
        allocated = [page["body"] for page in shown["pages"] if "(3/4)" in page["body"]][0]
        self.assertRegex(allocated, rf"{megabytes:.2f} MB [^\n]*\n[^\n]*\n\s*{largest['name']}")

    def test_firefox_profiler(self):
        if not HAS_VIEWERS:
            self.skipTest("no viewers from npm")
        path = self.export("firefox", "a.firefox.json.gz")
        with gzip.open(path) as file:
            changes = json.load(file)["threads"][0]["nativeAllocations"]["weight"]
        self.assertEqual(sum(change for change in changes if change > 0), self.value("allocated"))
        command = FOLDER / "node_modules" / ".bin" / "profiler-cli"
        home = {"HOME": self.here}
        self.addCleanup(self.run_tool, command, "stop", "--all", **home)
        # Its daemon gives itself half a second to start, which a busy machine may need longer for.
        subprocess.run([command, "load", path], cwd=self.here, env={**os.environ, **home},
                       capture_output=True, timeout=60, check=False)
        for _ in range(20):
            ready = subprocess.run([command, "status"], cwd=self.here, capture_output=True,
                                   env={**os.environ, **home}, timeout=60, check=False)
            if ready.returncode == 0 and b"View range" in ready.stdout:
                break
        for strategy, key in (("native-allocations", "allocated"),
                              ("native-retained-allocations", "live_at_end")):
            text = self.run_tool(command, "thread", "samples", "--strategy", strategy, **home)
            total = int(re.search(r"Categories \((\d+) running", text).group(1))
            self.assertAlmostEqual(total, self.value(key), delta=0.001 * self.value(key))
            self.assertIn("main", text)
        counters = self.run_tool(command, "counter", "list", **home)
        self.assertIn("Memory", counters)

    def test_csv_in_sqlite(self):
        path = self.export("csv", "a.csv")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        total = sum(float(row["bytes"]) for row in rows)
        self.assertAlmostEqual(total, self.summary["allocated"]["bytes"]["value"], delta=1)
        for row in rows:
            self.assertLessEqual(float(row["bytes_lo"]), float(row["bytes"]))
            self.assertGreaterEqual(float(row["bytes_hi"]), float(row["bytes"]))
        if not shutil.which("sqlite3"):
            return
        query = ".mode csv\n.import a.csv t\nSELECT count(*), sum(bytes_variance) FROM t;\n"
        done = subprocess.run(["sqlite3", ":memory:"], input=query, cwd=self.here, text=True,
                              capture_output=True, check=True)
        count, variance = done.stdout.strip().split(",")
        self.assertEqual(int(count), len(rows))
        expected = self.summary["allocated"]["bytes"]["variance"]
        self.assertAlmostEqual(float(variance) / expected, 1, delta=1e-9)

    def test_json_lines(self):
        lines = [json.loads(line) for line in
                 self.run_tool(GEIGER, "export", "jsonl", "a.geiger").splitlines()]
        head, stacks = lines[0], lines[1:]
        self.assertEqual(head["schema_version"], 1)
        self.assertEqual(head["stacks"], len(stacks))
        self.assertEqual(head["bytes"]["value"], self.summary["allocated"]["bytes"]["value"])
        self.assertEqual(sum(line["samples"] for line in stacks), self.summary["samples"])
        self.assertTrue(all(line["stack"][-1]["function"] for line in stacks))

    def test_what_filters_leave_open_is_said(self):
        """No object of a Perl program has a type that is known: a question about types leaves all open."""
        told = "objects whose type is not known"
        for form in ("pprof", "speedscope", "firefox", "dhat", "heaptrack", "heap_v2", "folded", "csv",
                     "jsonl", "sqlite", "sql"):
            done = subprocess.run([GEIGER, "export", form, "a.geiger", "-f", "-o", "open", "--type", "T"],
                                  cwd=self.here, capture_output=True, text=True, check=True)
            self.assertRegex(done.stderr, rf"open, [a-z ]+: [\d.]+ [KM]iB of {told}", form)
            text = pathlib.Path(self.here, "open").read_bytes()
            text = gzip.decompress(text) if form == "pprof" else text
            if form in ("pprof", "speedscope", "dhat", "heaptrack", "heap_v2", "jsonl"):
                self.assertIn(told.encode(), text, form)
            if form == "csv":
                rows = list(csv.DictReader(io.StringIO(text.decode())))
                self.assertEqual(sum(float(row["bytes"]) for row in rows), 0)
                self.assertAlmostEqual(sum(float(row["bytes_open"]) for row in rows),
                                       self.summary["allocated"]["bytes"]["value"], delta=1)
                for row in rows:
                    self.assertGreater(float(row["bytes_hi"]), float(row["bytes_open"]))

    def test_levels_widen_intervals(self):
        def width(*words):
            rows = csv.DictReader(io.StringIO(
                self.run_tool(GEIGER, "export", "csv", "a.geiger", *words)))
            return sum(float(row["bytes_hi"]) - float(row["bytes_lo"]) for row in rows)
        self.assertLess(width("--ci", "80%"), width("--ci", "99%"))

    def test_unknown_formats_and_wrong_kinds(self):
        for words, expected in ((["spedscope"], "did you mean 'speedscope'?"),
                                (["nonsense"], "choose from pprof, otlp, speedscope"),
                                (["firefox", "a.geiger", "--kind", "live"], "does not apply"),
                                (["heaptrack", "a.geiger", "--kind", "peak"], "does not apply"),
                                (["csv", "a.geiger", "--kind", "lives"], "lives")):
            done = subprocess.run([GEIGER, "export", *words], cwd=self.here, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(expected, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_closed_pipe_and_empty_profile(self):
        for form in ("csv", "jsonl", "speedscope", "dhat", "firefox", "heaptrack", "folded"):
            with subprocess.Popen([GEIGER, "export", form, "a.geiger"], cwd=self.here,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
                writer.stdout.close()
                error = writer.stderr.read().decode()
                self.assertIn(writer.wait(60), (-13, 0, 1), form)
                self.assertLessEqual(len(error.splitlines()), 1, error)
            output = self.run_tool(GEIGER, "export", form, "a.geiger", "--thread", "nobody")
            if form in ("speedscope", "dhat", "firefox"):
                json.loads(output)

    def test_hostile_names_stay_names(self):
        names = self.hostile_names()
        self.assertIn("</script><script>alert(1)</script>", names)
        self.assertIn("=cmd|'/C calc'!A0", names)
        for viewer, form in (("speedscope", "speedscope"), ("dhat", "dhat")):
            path = self.export(form, f"hostile.{form}.json", run="hostile.geiger")
            self.in_browser(viewer, path)  # No script runs, nothing is fetched.

    def hostile_names(self):
        """As lines of JSON have them; CSV and, with full names, speedscope have the same."""
        lines = self.run_tool(GEIGER, "export", "jsonl", "hostile.geiger").splitlines()
        names = {frame["function"] for line in lines[1:] for frame in json.loads(line)["stack"]}
        cells = [row["stack"] for row in csv.DictReader(io.StringIO(
            self.run_tool(GEIGER, "export", "csv", "hostile.geiger"), newline=""))]
        for cell in cells:
            self.assertNotIn(cell[0], "=+-@\t\r")
        self.assertEqual({self.unescaped(cell).decode(errors="replace") for cell in cells},
                         {name for name in names if not name.startswith("[")} or names)
        document = json.loads(self.run_tool(GEIGER, "export", "speedscope", "--names", "full",
                                            "hostile.geiger"))
        self.assertEqual({frame["name"] for frame in document["shared"]["frames"]}, names)
        return names

    @staticmethod
    def unescaped(cell):
        """What docs/guide/formats.md says to undo."""
        if cell.startswith("'"):
            cell = cell[1:]
        known = {"n": b"\n", "r": b"\r", "t": b"\t"}
        out = b""
        parts = re.findall(r"\\x[0-9a-f]{2}|\\.|[^\\]", cell, re.DOTALL)
        for part in parts:
            if part.startswith("\\x"):
                out += bytes([int(part[2:], 16)])
            elif part.startswith("\\"):
                out += known.get(part[1], part[1].encode())
            else:
                out += part.encode()
        return out


if __name__ == "__main__":
    unittest.main()
