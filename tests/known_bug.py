#!/usr/bin/env python3
"""Guard mode finds a bug that libxml2 2.9.14 had, and nothing once that is mended.

Validation against a RELAX NG <list> keeps the error "Extra data in list" for later, with a pointer
into a copy of the value that is freed before the error is printed. xmllint then prints an empty
text and ends as it should. The fix, which Debian has as a patch, is one macro: the error gets a
copy.

The source comes from Debian through apt (the network is needed), and takes a minute to build.
"""
import json
import math
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness
from debian_sources import Sources, call

GEIGER = harness.BUILD / "bin" / "geiger"
SEGV, INVALID = 139, 3
OPTIONS = ("--disable-shared", "--without-python", "--without-lzma", "--without-zlib",
           "CFLAGS=-g -O2")
FAULTY, MENDED = "VALID_ERR2(XML_RELAXNG_ERR_LISTEXTRA", "VALID_ERR2P(XML_RELAXNG_ERR_LISTEXTRA"
SCHEMA = """<element name="box" xmlns="http://relaxng.org/ns/structure/1.0">
  <choice>
    <list><value>small</value></list>
    <list><value>large</value></list>
  </choice>
</element>
"""


def build(folder):
    """xmllint of the sources as they are now."""
    call(["make", "-j2", "xmllint"], cwd=folder)
    return folder / "xmllint"


class KnownBug(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="geiger-known-bug-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        try:
            cls.folder = Sources(cls.directory).unpack("libxml2", "libxml2-*")
        except AssertionError as missing:
            raise unittest.SkipTest(f"no sources of libxml2: {missing}") from missing
        call(["./configure", "-q", *OPTIONS], cwd=cls.folder)
        (cls.directory / "size.rng").write_text(SCHEMA)
        (cls.directory / "box.xml").write_text("<box>small wooden</box>\n")
        cls.faulty = shutil.copy(build(cls.folder), cls.directory / "faulty")
        cls.mended = cls.build_mended()

    @classmethod
    def build_mended(cls):
        source = cls.folder / "relaxng.c"
        text = source.read_text(encoding="latin-1")
        if text.count(FAULTY) != 1:
            raise AssertionError(f"relaxng.c: the text to change occurs {text.count(FAULTY)} times")
        source.write_text(text.replace(FAULTY, MENDED), encoding="latin-1")
        return build(cls.folder)

    def validate(self, program, *prefix):
        words = [*prefix, program, "--noout", "--relaxng", "size.rng", "box.xml"]
        return subprocess.run([str(word) for word in words], cwd=self.directory, check=False,
                              capture_output=True, timeout=60)

    def guarded(self, program, seed, rate="1"):
        """Exit status of a guarded run, and what `geiger faults` says of it."""
        trace = self.directory / "run.geiger"
        done = self.validate(program, GEIGER, "run", "-q", "-f", "-o", trace, f"--guard={rate}",
                             "--interval", "1", "--seed", seed, "--")
        found = json.loads(call([GEIGER, "faults", "--json", trace]).stdout)
        # Of a program that a signal ended, geiger ends by the same.
        return 128 - done.returncode if done.returncode < 0 else done.returncode, found

    def test_alone_it_goes_unnoticed(self):
        done = self.validate(self.faulty)
        self.assertEqual(done.returncode, INVALID)
        self.assertIn(b"Extra data in list:", done.stderr)

    def test_the_bug_is_named_with_its_lines(self):
        lines = (self.folder / "relaxng.c").read_text(encoding="latin-1").splitlines()
        for seed in (1, 2, 3):
            status, found = self.guarded(self.faulty, seed)
            self.assertEqual((status, found["fault_count"]), (SEGV, 1))
            fault, = found["faults"]
            self.assertIn("use after free: xmlRelaxNGGetErrorString (relaxng.c:", fault["sentence"])
            self.assertEqual((fault["kind"], fault["access"], fault["bytes"]),
                             ("use_after_free", "read", len("small wooden") + 1))
            for stack, function, text in (
                    (fault["stack"], "xmlRelaxNGGetErrorString", "snprintf"),
                    (fault["freed"]["stack"], "xmlRelaxNGValidateValue", "xmlFree(val)"),
                    (fault["allocated"]["stack"], "xmlRelaxNGValidateValue", "xmlStrdup")):
                own = next(frame for frame in stack if frame.get("file", "").endswith("relaxng.c"))
                self.assertEqual(own["function"], function)
                self.assertIn(text, "".join(lines[own["line"] - 1:][:2]))

    def test_the_mended_program_has_no_fault(self):
        status, found = self.guarded(self.mended, 1)
        self.assertEqual((status, found["fault_count"]), (INVALID, 0))
        self.assertGreater(found["guarding"]["guarded"], 100)

    def test_it_is_found_as_often_as_the_object_is_guarded(self):
        """Binomial: |z| < 4, which chance alone exceeds with probability 6e-5; seeds are fixed."""
        runs, rate = 200, 4
        found = sum(self.guarded(self.faulty, seed, f"1/{rate}")[1]["fault_count"]
                    for seed in range(runs))
        z = (found - runs / rate) / math.sqrt(runs / rate * (1 - 1 / rate))
        self.assertLess(abs(z), 4, f"{found} of {runs} at 1/{rate}")


if __name__ == "__main__":
    unittest.main()
