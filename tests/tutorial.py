#!/usr/bin/env python3
"""Follows docs/guide/tutorial.md: types each command and compares what it prints.

usage: tutorial.py GEIGER [PAGE]

Numbers differ from run to run, so each figure, with its unit and interval, is compared as
"there is one"; words and their order as they stand. Runs are recorded with a seed, so that
chance does not choose other words. `git clone` copies this checkout, in which ./geiger finds
GEIGER as what it built.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
GEIGER = pathlib.Path(sys.argv.pop(1)).resolve()
PAGE = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ROOT / "docs/guide/tutorial.md")
SEED = 7

UNIT = r"(?: ?(?:[KMGT]iB|B|%|ns|us|ms|s|k|M)\b| ?%)?"
NUMBER = rf"[-+]?[0-9](?:[0-9.,]*[0-9])?(?:e-?[0-9]+)?{UNIT}"
FIGURE = re.compile(
    rf"(?:< ?|> ?)?{NUMBER}(?: exact)?(?: ± {NUMBER}| \[{NUMBER}, {NUMBER}\]| \+ < {NUMBER})?")


def commands_of(page):
    """(command, the lines that it prints) in the order of the page."""
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


# Whether resident memory was read in time and how many small sites are left undecided depend on
# how busy the machine was: no question of right or wrong.
OF_THE_MACHINE = re.compile(r"the heap is|not read near its resident peak")
UNDECIDED = re.compile(r", # undecided\b")


def comparable(text):
    """Its words, with a sign for each figure: where lines end depends on how wide the figures are."""
    lines = (line.strip() for line in text.splitlines() if not OF_THE_MACHINE.search(line))
    return UNDECIDED.sub("", FIGURE.sub("#", " ".join(lines))).split()


class Tutorial(unittest.TestCase):
    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="geiger-tutorial-"))
        self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)

    def clone(self, *programs):
        """A checkout in which `programs` are built."""
        checkout = self.here / "geiger"
        checkout.mkdir()
        for name in ("src", "heap", "include", "cmake", "docs", "tools"):
            shutil.copytree(ROOT / name, checkout / name)
        for name in ("geiger", "CMakeLists.txt"):
            shutil.copy2(ROOT / name, checkout / name)
        built = checkout / "build" / "release"
        (built / "bin").mkdir(parents=True)
        for program in programs:
            (built / "bin" / program).symlink_to(GEIGER.with_name(program))
            (built / f"{program}.built").touch()

    def typed(self, command):
        command = command.replace("./geiger run ", f"./geiger run --seed {SEED} ")
        done = subprocess.run(["bash", "-c", command], cwd=self.here, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 0, (command, done.stdout))
        return done.stdout

    def test_every_command_prints_what_the_page_says(self):
        steps = list(commands_of(PAGE.read_text()))
        self.assertGreater(len(steps), 10)
        self.assertTrue(steps.pop(0)[0].startswith("git clone "))
        self.clone("geiger")
        for command, output in steps:
            if command.startswith("cd "):
                self.here = self.here / command[3:]
                continue
            self.assertEqual(comparable(self.typed(command)), comparable(output), command)
        self.assertNotIn("request.page + request.session",
                         (self.here / "docs/tutorial/greeter.cc").read_text())

    def test_the_first_command_needs_no_other_verb(self):
        self.clone("geiger-starter")
        self.here = self.here / "geiger"
        self.assertIn("geiger: allocated ", self.typed("./geiger run --interval 1 -- ls docs"))
        (self.here / "tools" / "setup.sh").write_text("#!/bin/sh\nexit 1\n")
        done = subprocess.run(["./geiger", "table"], cwd=self.here, text=True, timeout=60,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("building all verbs", done.stderr)

    def test_figures_are_compared_as_figures(self):
        self.assertEqual(comparable("a  104 MiB ± 16  < 1.85 MiB"), ["a", "#", "#"])
        self.assertEqual(comparable("2 of 4 sites suspect,\n3 undecided. Wait."),
                         comparable("1 of 7 sites suspect. Wait."))
        self.assertEqual(comparable("8.50 MiB [4.95, 13.61] x"), ["#", "x"])
        self.assertEqual(comparable("q = 0.00038; 100 % ± 2 of"), ["q", "=", "#;", "#", "of"])
        self.assertNotEqual(comparable("gone 5 MiB"), comparable("new 5 MiB"))


if __name__ == "__main__":
    unittest.main()
