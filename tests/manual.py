#!/usr/bin/env python3
"""The manual: every verb has a page, pages say what --help says, mandoc finds no fault.

usage: manual.py GEIGER PAGES
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
PAGES = pathlib.Path(sys.argv.pop(1))


def output_of(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=True, timeout=60, **options).stdout


def help_of(*verb):
    return output_of(GEIGER, *verb, "--help")


def verbs_in(text, heading):
    part = text.split(f"{heading}:\n", 1)[1].split("\n\n")[0]
    return re.findall(r"(?m)^  ([a-z-]+) ", part)


def options_in(text):
    return set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", text))


class Manual(unittest.TestCase):
    def setUp(self):
        self.verbs = verbs_in(help_of(), "Subcommands")
        self.assertGreater(len(self.verbs), 15)

    def page(self, name):
        """As it is shown, without the bold and underlined of a terminal."""
        return output_of("mandoc", "-Tutf8", "-O", "width=500", PAGES / name) if shutil.which(
            "mandoc") else self.skipTest("mandoc is missing")

    def shown(self, name):
        return re.sub(".\b", "", self.page(name))

    def test_mandoc_finds_no_fault(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is missing")
        pages = sorted(PAGES.glob("*.[157]"))
        self.assertEqual(len(pages), len(self.verbs) + 4)
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *pages], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.stdout, done.returncode), ("", 0))

    def test_every_verb_has_a_page_that_names_every_option(self):
        for verb in self.verbs:
            shown = self.shown(f"geiger-{verb}.1")
            texts = [help_of(verb)]
            if "FORMAT" in texts[0]:
                texts += [help_of(verb, one) for one in verbs_in(texts[0], "Subcommands")]
            for option in set().union(*map(options_in, texts)):
                self.assertRegex(shown, rf"(?m)^ +(-\w, |--[a-z]+, )?{option}(,| |$)", verb)

    def test_every_page_tells_its_exit_codes(self):
        for verb in self.verbs:
            status = self.shown(f"geiger-{verb}.1").split("EXIT STATUS\n")[1].split("SEE ALSO")[0]
            self.assertRegex(status, r"\b2\b", verb)

    def test_help_tells_exit_codes(self):
        for verb in self.verbs:
            self.assertIn("Exit code", help_of(verb))

    def test_help_verb_is_the_option(self):
        for verb in self.verbs:
            self.assertEqual(output_of(GEIGER, "help", verb), help_of(verb))
        self.assertEqual(output_of(GEIGER, "help", "export", "pprof"), help_of("export", "pprof"))

    def test_pages_are_compressed_for_packages(self):
        for page in PAGES.glob("*.[157]"):
            self.assertTrue(page.with_name(page.name + ".gz").exists(), page)


if __name__ == "__main__":
    unittest.main()
