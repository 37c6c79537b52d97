#!/usr/bin/env python3
"""What every verb that reads recordings prints, at three widths of the terminal, is as in tests/report_texts.

usage: report_texts.py GEIGER [--update]

The recordings are two versions of a shop, and names that are attacks: fuzz/corpus/trace, written by
fuzz/seeds.cc, so that nothing depends on the machine, its paths or the time. --update writes the texts
anew; review what changed in them.
"""
import concurrent.futures
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent
TEXTS = HERE / "report_texts"
RECORDINGS = HERE.parent / "fuzz" / "corpus" / "trace"
WIDTHS = (60, 100, 160)
GROUPS = ("line", "stack", "module", "thread", "tid", "process", "size", "type", "label", "lifetime", "heap",
          "alignment")
KINDS = ("live", "peak", "resident", "untouched", "live-usable", "mapped")
ONE = (["summary", "table", "table --sort total", "table --names full", "tree", "tree --inverted", "tree --kind live",
        "stats", "stats --kind live", "rss", "rss --at last", "marks", "lifetimes", "lifetimes --by stack",
        "lifetimes --by thread", "lifetimes --by none", "leaks", "leaks --all", "advise --no-times", "faults", "doctor", "plan",
        "plan --interval 16KiB,64KiB --site 1MiB"]
       + [f"table --by {by}" for by in GROUPS] + [f"table --kind {kind}" for kind in KINDS]
       + [f"{verb} --from 20% --to 80% --size 1..4KiB" for verb in ("summary", "table", "stats", "lifetimes")])
TWO = ["diff", "diff --by stack --all", "diff --by line --all", "diff --kind live", "check --max-growth 5%",
       "check --max-growth 5% --by function"]
FLEET = ["list", "doctor", "top", "top --by host", "diff 1 2", "check 1 2 --max-growth 5%", "series", "cost",
         "cost --price 0.5"]
COMMANDS = ([f"{command} shop" for command in ONE] + [f"{command} shop shop_later" for command in TWO]
            + [f"{command} hostile_names" for command in ("summary", "table", "tree", "marks", "lifetimes", "advise")]
            + [f"fleet {command} --store fleet.db" for command in FLEET])


def file_of(command):
    return command.replace(" ", "_").replace("%", "").replace("fleet_", "fleet-") + ".txt"


class ReportTexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-texts-")
        for name in ("shop", "shop_later", "hostile_names"):
            shutil.copy(RECORDINGS / name, cls.here)
        for version, name in enumerate(("shop", "shop_later"), 1):
            cls.run_geiger(f"push --service shop --version {version} --host web-{version} {name} fleet.db")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    @classmethod
    def run_geiger(cls, command, width=80):
        surroundings = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": cls.here, "COLUMNS": str(width)}
        done = subprocess.run([GEIGER, *command.split()], cwd=cls.here, env=surroundings, check=False, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8")
        assert 0 <= done.returncode < 125, (command, done)
        return done.stdout

    def text_of(self, command):
        return "".join(f"$ COLUMNS={width} geiger {command}\n{self.run_geiger(command, width)}\n" for width in WIDTHS)

    def test_reports(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            texts = {file_of(command): text for command, text in zip(COMMANDS, pool.map(self.text_of, COMMANDS))}
        self.assertEqual(len(texts), len(COMMANDS))
        if IS_UPDATE:
            shutil.rmtree(TEXTS, ignore_errors=True)
            TEXTS.mkdir()
            for name, text in texts.items():
                (TEXTS / name).write_text(text, encoding="utf-8")
        self.assertEqual({path.name for path in TEXTS.iterdir()}, set(texts), "tests/report_texts.py GEIGER --update")
        for name, text in texts.items():
            with self.subTest(name):
                kept = (TEXTS / name).read_text(encoding="utf-8")
                changes = difflib.unified_diff(kept.splitlines(), text.splitlines(), "kept", "printed", lineterm="")
                self.assertEqual(kept, text, "\n".join(changes))


IS_UPDATE = "--update" in sys.argv
if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--update"])
