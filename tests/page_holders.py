#!/usr/bin/env python3
"""The tab of holders says what `geiger holders` says, in the same figures.

usage: page_holders.py GEIGER WEB

WEB is where web_page.sh has installed what the page's tests need.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness

GEIGER = os.path.abspath(sys.argv.pop(1))
WEB = pathlib.Path(sys.argv.pop(1)).resolve()


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, **options)
    assert done.returncode == 0, done
    return done.stdout


@unittest.skipUnless((WEB / "dist").exists(), f"{WEB} has no page: tests/web_page.sh")
class PageHolders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="geiger-holders-")
        file = os.path.join(cls.temporary.name, "run.geiger")
        harness.record_holders(GEIGER, file, 512)  # Few objects are sampled: no figure is exact.
        # No line is broken.
        cls.text = run(GEIGER, "holders", "--top", "50", file, env={**os.environ, "COLUMNS": "1000"})
        document = pathlib.Path(cls.temporary.name, "page.json")
        document.write_text(run(GEIGER, "report", "--json", file), encoding="utf-8")
        cls.shown = json.loads(run(WEB / "node_modules/.bin/vite-node", "tests/holders.ts", "--", document, cwd=WEB))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_it_begins_with_the_sentence(self):
        sentence, _, scanned = self.text.splitlines()[:3]
        self.assertEqual(self.shown["said"], f"{sentence} {scanned}")

    def test_roots_have_the_same_figures(self):
        lines = [" ".join(line.split()) for line in self.text.splitlines()]
        roots = [row for row in self.shown["rows"] if row["box"] == "Held" and not row["isBelow"]]
        self.assertGreater(len(roots), 3)
        for row in roots:
            self.assertIn(" ".join([*row["figures"], row["name"]]), lines)

    def test_sites_have_the_same_parts(self):
        said, site = [], ""
        for line in self.text.splitlines():
            if line.startswith("   "):
                said.append((site, line.strip()))
            site = line if not line.startswith(" ") else site
        shown, root = [], ""
        for row in self.shown["rows"]:
            if row["detail"] == "":
                root = row["name"]
                continue
            share, live, how = re.fullmatch("(.*) of its (.*?), (?=[a-z])(.*)", row["detail"]).groups()
            share += "," if share.endswith(("sample", "samples")) else ""
            how = f"held by {root} {how}".replace(" directly", "") if row["isBelow"] else how
            shown.append((f"{row['name']}  {live}", f"{share} {how}"))
        self.assertGreater(len([how for _, how in shown if "unreachable: " in how]), 1)
        self.assertEqual(sorted(shown), sorted(part for part in said if part[0] in dict(shown)))
        self.assertGreater(len(shown), 8)


if __name__ == "__main__":
    unittest.main()
