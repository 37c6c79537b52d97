#!/usr/bin/env python3
"""Every row of a page has the interval that `geiger table` prints: by function, module, thread,
type and size, of every kind, for recordings of which all is known, a part, only counts, several
processes, stacks that were cut, and residency that was asked for in vain.

The page's arithmetic must agree to 1e-9 of the upper limit, also in windows, and what Chromium shows of
functions must be what the terminal prints.

usage: page_rows.py GEIGER CXX LEAKY WEB

LEAKY is docs/images/leaky.cc; WEB is where web_page.sh has installed what the page's tests need.
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

import page_reader
import unreadable

GEIGER, CXX, LEAKY = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
WEB = pathlib.Path(sys.argv.pop(1)).resolve()
PYTHON = """
import json, threading
def work():
    kept.append([json.loads(json.dumps(list(range(5000)))) for _ in range(80)])
kept = []
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
"""
# A function whose frames stacks have lost, and one that they have.
DEEP = """
#include <stdlib.h>
#define APART __attribute__((noinline))
APART void *descend(int left) { void *p = left ? descend(left - 1) : malloc(30000); __asm__("" : "+r"(p)); return p; }
APART void *grow(int depth) { void *p = descend(depth); __asm__("" : "+r"(p)); return p; }
int main(void) { for (int i = 0; i < 200; ++i) { free(grow(5000)); grow(5); } }
"""
SOURCE = "#include <map>\n#include <regex>\nstd::map<int, std::regex> all;\n"
# Root may look into every process.
OTHER_USER = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
# Digits that both sides' special functions have; shares are of 1.
DIGITS = 1e-9
UNITS = {"": 1, "B": 1, "k": 1e3, "M": 1e6, "G": 1e9,
         "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
TITLE = re.compile(r"95 % interval: ([\d.,]+) ?(\w*) to ([\d.,]+) ?(\w*), ")


def run(*words, cwd, **options):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
                          **options)
    assert done.returncode == 0, done
    return done.stdout


def limits_in(title):
    """The limits that a tooltip names; None where it says that the number is known."""
    if title == "known exactly":
        return None
    low, low_unit, high, high_unit = TITLE.match(title).groups()
    return (float(low.replace(",", "")) * UNITS[low_unit],
            float(high.replace(",", "")) * UNITS[high_unit])


def file_of(program):
    """A table names a program as it was started, a page by its file."""
    found = shutil.which(program) if program else None
    return os.path.basename(os.path.realpath(found)) if found else program


@unittest.skipUnless((WEB / "dist").exists(), f"{WEB} has no page: tests/web_page.sh")
class PageRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="geiger-rows-")
        cls.here = cls.temporary.name
        os.chmod(cls.here, 0o777)
        run(CXX, "-g", "-O1", "-std=c++20", LEAKY, "-o", "leaky", cwd=cls.here)
        run(CXX, "-g", "-O1", "-x", "c++", "-", "-o", "deep", cwd=cls.here, input=DEEP)
        programs = {
            "deep": (["--interval", "16KiB"], ["./deep"]),
            "sampled": (["--interval", "32KiB"], ["/usr/bin/python3", "-c", PYTHON]),
            "exact": (["--interval", "1"], ["./leaky", "1"]),
            "aggregated": (["--interval", "16KiB", "--aggregate"],
                           ["/usr/bin/python3", "-c", PYTHON]),
            "processes": (["--interval", "32KiB"],
                          [CXX, "-x", "c++", "-O1", "-c", "-", "-o", os.devnull]),
        }
        for name, (options, words) in programs.items():
            run(GEIGER, "run", "-q", "--seed", "5", *options, "-o", f"{name}.geiger", "--", *words,
                cwd=cls.here, input=SOURCE)
        run(*OTHER_USER, GEIGER, "run", "-q", "--no-symbolize", "--interval", "1KiB", "-o",
            "hidden.geiger", "/usr/bin/python3", "-c",
            unreadable.program(200_000), cwd=cls.here)
        documents = []
        for name in [*programs, "hidden"]:
            document = pathlib.Path(cls.here, f"{name}.json")
            document.write_text(run(GEIGER, "report", "--json", f"{name}.geiger", cwd=cls.here),
                                encoding="utf-8")
            documents.append(document)
        lines = run(WEB / "node_modules/.bin/vite-node", "tests/rows.ts", "--", *documents,
                    cwd=WEB)
        cls.pages = {}
        for line in lines.splitlines():
            page = json.loads(line)
            cls.pages[pathlib.Path(page["page"]).stem, page["kind"]] = page

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def table(self, name, kind, by, *options):
        """Rows by name and detail, those that share both left out."""
        words = {"function": ["--plumbing"], "size": ["--sort", "natural"]}.get(by, [])
        table = json.loads(run(GEIGER, "table", f"{name}.geiger", "--kind", kind, "--by", by,
                               "--top", "0", "--json", *words, *options, cwd=self.here))
        return self.by_name(table["rows"], by)

    @staticmethod
    def by_name(rows, by):
        """`detail` tells functions of one name apart, and is not what the page says of others."""
        found = collections.defaultdict(list)
        for row in rows:
            found[row["name"], file_of(row["detail"]) if by == "function" else ""].append(row)
        return {key: rows[0] for key, rows in found.items() if len(rows) == 1}

    def assert_same(self, found, expected, where):
        scale = abs(expected["hi"]) + 1e-300
        for field in ("value", "lo", "hi"):
            self.assertLessEqual(abs(found[field] - expected[field]), DIGITS * scale,
                                 (where, field, found, expected))

    def compare(self, name, kind, by):
        return self.compare_rows(self.pages[name, kind]["rows"][by], name, kind, by)

    def compare_rows(self, rows, name, kind, by, *options):
        page = self.by_name(rows, by)
        table = self.table(name, kind, by, *options)
        if by == "size":  # Each side names them its own way: the smallest first.
            page = dict(enumerate(page[key] for key in sorted(page, key=lambda key: int(key[0]))))
            table = dict(enumerate(table.values()))
        # A remark above all frames of such stacks, without bytes of its own.
        for remark in (("[runtime]", ""), ("[truncated]", ""), ("[no module]", "")):
            if remark in page and remark not in table:
                self.assertEqual(page.pop(remark)["samples"], 0)
        both = page.keys() & table.keys()
        self.assertEqual(both, page.keys() | table.keys(), (name, kind, by))
        for key in both:
            shown, expected = page[key], table[key]
            where = (name, kind, by, key)
            measure = expected["self"]
            self.assert_same(shown["self"], measure.get("calibrated", measure["bytes"]), where)
            self.assert_same(shown["objects"], measure["objects"], where)
            self.assertEqual(shown["samples"], measure["samples"], where)
            if "total" in shown:
                measure = expected["total"]
                self.assert_same(shown["total"], measure.get("calibrated", measure["bytes"]), where)
            if "share" in expected:
                self.assert_same(shown["share"], expected["share"], where)
        return len(both)

    def test_the_arithmetic_is_that_of_the_tables(self):
        rows = collections.Counter()
        for (name, kind), page in self.pages.items():
            for by in page["rows"]:
                rows[name] += self.compare(name, kind, by)
        print("rows compared:", dict(rows))
        for name, count in rows.items():
            self.assertGreater(count, 50, name)

    def test_windows(self):
        rows = collections.Counter()
        for (name, kind), page in self.pages.items():
            if "window" not in page:
                continue
            start, end = page["window"]["from"], page["window"]["to"]
            options = (["--from", f"{start}ns", "--to", f"{end}ns"] if kind == "allocated"
                       else ["--at", f"{end - 1}ns"])
            rows[kind] += self.compare_rows(page["window"]["function"], name, kind, "function",
                                            *options)
        print("rows of windows compared:", dict(rows))
        for kind in ("allocated", "live"):
            self.assertGreater(rows[kind], 50)

    def test_filters_on_frames_answer_alike(self):
        left = collections.Counter()
        for (name, kind), page in self.pages.items():
            if kind not in ("allocated", "live", "peak"):
                continue  # The page knows the next event of parts of objects for the whole alone.
            for option in ("focus", "ignore"):
                filters = [f"--{option}", page["expression"]]
                table = json.loads(run(GEIGER, "table", f"{name}.geiger", "--kind", kind, "--json",
                                       *filters, cwd=self.here))
                total = table["total"]["bytes"]
                shown = page[option]["bytes"]
                if kind == "peak":  # The table's limits are those of the peak, not of its instant.
                    self.assertLessEqual(shown["hi"], total["hi"] * (1 + DIGITS))
                    self.assertGreaterEqual(shown["lo"], total["lo"] * (1 - DIGITS))
                    shown.update(lo=total["lo"], hi=total["hi"])
                self.assert_same(shown, total, (name, kind, option))
                left[name] += shown.get("open", 0) > 0 and shown["hi"] > 1.5 * shown["value"]
                self.compare_rows(page[option]["function"], name, kind, "function", *filters)
        print("kinds with open bytes:", dict(left))
        self.assertGreater(left["deep"], 0)

    def test_what_is_shown_is_what_is_known(self):
        shown = 0
        for (name, kind), page in self.pages.items():
            if not page["shown"]:
                continue
            table = self.table(name, kind, "function")
            by_name = collections.defaultdict(list)
            for (function, _), row in table.items():
                by_name[function].append(row["self"])
            text = run(GEIGER, "table", f"{name}.geiger", "--kind", kind, "--plumbing", "--top",
                       "100", cwd=self.here)
            for row in page["shown"]:
                if len(by_name[row["name"]]) != 1:
                    continue
                measure, = by_name[row["name"]]
                expected = measure.get("calibrated", measure["bytes"])
                self.assert_shows(row, expected, (name, kind, row))
                if expected["samples"] + expected["exact"] > 0:
                    self.assertIn(row["text"], text)
                shown += 1
        print("rows shown:", shown)
        self.assertGreater(shown, 100)

    def assert_shows(self, row, expected, where):
        limits = limits_in(row["title"])
        if limits is None:
            self.assertLess(expected["hi"] - expected["lo"], 1e-6 * (1 + expected["hi"]), where)
            return
        # Outwards, by no more than the last of three digits.
        low, high = limits
        self.assertLessEqual(low, expected["lo"] * (1 + DIGITS), where)
        self.assertGreaterEqual(low, expected["lo"] * 0.989 - 1, where)
        self.assertGreaterEqual(high, expected["hi"] * (1 - DIGITS), where)
        self.assertLessEqual(high, expected["hi"] * 1.011 + 1, where)

    def test_kinds(self):
        kinds = collections.defaultdict(set)
        for name, kind in self.pages:
            kinds[name].add(kind)
        for name in ("sampled", "exact", "processes"):
            self.assertLessEqual({"live", "peak", "allocated"}, kinds[name], name)
        self.assertLessEqual({"live", "allocated"}, kinds["aggregated"])
        self.assertIn("resident", kinds["hidden"])

    def test_what_has_no_answer_is_open_in_rows(self):
        table = json.loads(run(GEIGER, "table", "hidden.geiger", "--kind", "resident", "--json",
                               cwd=self.here))
        self.assertGreater(table["by_mincore"]["unanswered"], 10_000)
        page = page_reader.Page(json.loads(
            pathlib.Path(self.here, "hidden.json").read_text(encoding="utf-8")))
        known, left = page.total("resident"), page.total("resident", is_open=True)
        total = table["total"]["bytes"]
        self.assertAlmostEqual(known.certain + known.weighted, total["value"], delta=1)
        self.assertGreater(left.samples, 10_000)
        self.assertLess(total["value"] + left.certain + left.weighted, total["hi"])
        rows = self.pages["hidden", "resident"]["rows"]["function"]
        wide = [row for row in rows if row["self"].get("open", 0) > 0]
        self.assertTrue(wide)
        for row in wide:
            self.assertGreater(row["self"]["hi"], row["self"]["value"] + 1000 * row["self"]["openSamples"])
        shown = self.pages["hidden", "resident"]["shown"]
        self.assertTrue(any("more are unknown: the upper limit" in row["title"]
                            for row in shown), shown)


if __name__ == "__main__":
    unittest.main(verbosity=1)
