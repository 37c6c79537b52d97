#!/usr/bin/env python3
"""The template of report pages: two builds give the same bytes, under a policy that lets the page
load and send nothing. Needs npm, clang for WebAssembly and the network.

usage: web_template.py ROOT GEIGER CORPUS
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from page_reader import data_in

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
GEIGER = os.path.abspath(sys.argv.pop(1))
CORPUS = pathlib.Path(sys.argv.pop(1)).resolve()
FILES = ("report.html", "live.html", "REPORT-LICENSES.txt")


@unittest.skipUnless(shutil.which("npm"), "npm is not installed")
class Template(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = pathlib.Path(tempfile.mkdtemp(prefix="geiger-web-"))
        for name in ("one", "two"):
            subprocess.run([ROOT / "tools/build_web.sh", cls.here / name,
                            cls.here / name / "prefix/share/geiger"], check=True,
                           capture_output=True, timeout=900)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def text(self, file, build="one"):
        return (self.here / build / "prefix/share/geiger" / file).read_text(encoding="utf-8")

    def test_two_builds_are_the_same(self):
        for file in FILES:
            self.assertEqual(self.text(file), self.text(file, "two"), file)

    def test_nothing_may_be_loaded(self):
        for file, connect in (("report.html", "'none'"), ("live.html", "'self'")):
            policy, = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"',
                                 self.text(file))
            rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
            self.assertEqual(rules["default-src"], "'none'")
            self.assertEqual(rules["connect-src"], connect)
            # Nothing is run but the page's script; that may compile the WebAssembly that it carries.
            self.assertRegex(rules["script-src"], r"^'sha256-[A-Za-z0-9+/=]+' 'wasm-unsafe-eval'$")
            self.assertEqual(policy.count("unsafe"), 1)
            self.assertNotRegex(self.text(file), r'(src|href)="https?:')

    def test_licences_are_told(self):
        for name in (r"preact \d", r"uplot \d", "{fmt}", "musl and wasi-libc"):
            self.assertRegex(self.text("REPORT-LICENSES.txt"), f"(?m)^{name}")

    def test_takes_the_data_of_a_run(self):
        binary = self.here / "one/prefix/bin"
        binary.mkdir()
        shutil.copy(GEIGER, binary / "geiger")
        done = subprocess.run([binary / "geiger", "report", CORPUS / "hostile_names", "-o", "-"],
                              check=True, capture_output=True, timeout=60)
        page = done.stdout.decode()
        self.assertTrue(data_in(page)["profiles"])
        self.assertEqual(page.replace(re.search(r'id="data">([^<]*)<', page)[1], ""),
                         self.text("report.html"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
