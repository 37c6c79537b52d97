#!/usr/bin/env python3
"""The finding of a page is that of `geiger summary`, and what a page searches itself, of a window or
a filter, follows the same rules: of whole profiles both are the same.

usage: page_finding.py GEIGER CXX LEAKY WEB

LEAKY is docs/images/leaky.cc; WEB is where web_page.sh has installed what the page's tests need.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

GEIGER, CXX, LEAKY = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
WEB = pathlib.Path(sys.argv.pop(1)).resolve()
PYTHON = "import json; kept = [json.loads(json.dumps(list(range(5000)))) for _ in range(300)]"
# The top level has nearly everything: a part itself, the rest in a function that it calls.
SCRIPT = """import json
kept, tables = [], []
for i in range(200):
    tables.append(json.loads(json.dumps(list(range(5000)))))

def remember(i):
    kept.append([i] * 4000)

for i in range(800):
    remember(i)
"""
EMPTY = '''#include <stdlib.h>
void *volatile kept[20];
int main(void) { for (int i = 0; i < 20; ++i) kept[i] = malloc(0); }
'''
SOURCE = "#include <map>\n#include <regex>\nstd::map<int, std::regex> all;\n"


def run(*words, cwd, stdin=None):
    done = subprocess.run(words, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done
    return done.stdout


@unittest.skipUnless((WEB / "node_modules").exists(), f"{WEB} has no packages: tests/web_page.sh")
class PageFinding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="geiger-finding-")
        here = cls.temporary.name
        run(CXX, "-g", "-O1", "-std=c++20", LEAKY, "-o", "leaky", cwd=here)
        run(CXX, "-x", "c", "-", "-Wl,--as-needed", "-o", "empty", cwd=here, stdin=EMPTY)
        pathlib.Path(here, "service.py").write_text(SCRIPT, encoding="utf-8")
        # One with lines and a leak, one of several processes without names, an interpreter, a script
        # with two parts, one whose blocks are all empty.
        programs = {
            "leaky": ("./leaky", "2"),
            "compiler": (CXX, "-x", "c++", "-O1", "-c", "-", "-o", os.devnull),
            "python": ("/usr/bin/python3", "-c", PYTHON),
            "script": ("/usr/bin/python3", "service.py"),
            "empty": ("./empty",),
        }
        cls.summaries, documents = {}, []
        for name, words in programs.items():
            interval = "1" if name == "empty" else "32KiB"
            run(GEIGER, "run", "-q", "--interval", interval, "--seed", "5", "-o", f"{name}.geiger",
                "--", *words, cwd=here, stdin=SOURCE)
            cls.summaries[name] = json.loads(
                run(GEIGER, "summary", "--json", f"{name}.geiger", cwd=here))
            documents.append(os.path.join(here, f"{name}.json"))
            pathlib.Path(documents[-1]).write_text(
                run(GEIGER, "report", "--json", f"{name}.geiger", cwd=here), encoding="utf-8")
        found = run(WEB / "node_modules/.bin/vite-node", "tests/findings.ts", "--", *documents,
                    cwd=WEB)
        cls.found = {(pathlib.Path(one["page"]).stem, one["kind"]): one for one in json.loads(found)}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_is_that_of_summary(self):
        for name, summary in self.summaries.items():
            document = json.loads(pathlib.Path(
                self.temporary.name, f"{name}.json").read_text(encoding="utf-8"))
            first = summary.get("mapped_finding", summary["finding"])
            self.assertEqual(document["opening"], first["kind"], name)
            for finding in {first["kind"]: first, summary["finding"]["kind"]: summary["finding"]}.values():
                page = self.found[name, finding["kind"]]
                self.assertEqual(page["verdict"], finding["verdict"])
                self.assertTrue(page["hasPath"] or not finding["sites"], page)
                for site in finding["sites"]:
                    self.assertIn(site["short_name"], page["documented"])
                    shares = re.findall(r"[\d.]+(?= %)", " ".join(page["documented"]))
                    nearest = min(abs(float(share) - 100 * site["share"]["value"]) for share in shares)
                    self.assertLessEqual(nearest, 0.5, page)

    def test_a_top_level_is_not_all_that_is_named(self):
        finding = self.summaries["script"]["finding"]
        (site,) = finding["sites"]
        self.assertEqual(site["name"], "<module>")
        self.assertEqual(sorted((part["name"], part["is_own"]) for part in site["parts"]),
                         [("<module>", True), ("remember", False)])
        page = self.found["script", finding["kind"]]
        self.assertIn(" at service.py:4", page["sentence"])
        self.assertIn(" in remember ", page["sentence"])

    def test_blocks_that_are_all_empty_are_said_to_be(self):
        self.assertEqual(self.summaries["empty"]["finding"]["sentence"],
                         "Only empty blocks (0 bytes) were allocated.")
        page = self.found["empty", "allocated"]
        self.assertEqual(page["sentence"], "Only empty blocks (0 bytes) were allocated.")
        self.assertEqual(page["searchedSentence"], page["sentence"])

    def test_what_the_page_searches_is_the_same(self):
        named = [one for one in self.found.values() if one["verdict"] == "found"]
        self.assertGreater(len(named), 8)
        # An owner of several sites is named by the document alone.
        alike = [one for one in named if not re.search(r", in \d+ sites", one["sentence"])]
        self.assertGreater(len(alike), 4)
        for one in alike:
            self.assertEqual(one["searched"], one["documented"], one)


if __name__ == "__main__":
    unittest.main()
