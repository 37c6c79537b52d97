#!/usr/bin/env python3
"""Programs under other allocators: `geiger run --malloc` and `geiger compare-malloc`."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness

GEIGER = harness.BUILD / "bin" / "geiger"
NAMES = [name for name in ("mimalloc", "jemalloc", "tcmalloc") if harness.ALLOCATORS[name].exists()]
PROGRAM = ["perl", "-e", "my %h; $h{$_} = 'x' x ($_ % 300) for 1..300000; print scalar(keys %h)"]


def geiger(*words, **options):
    return subprocess.run([GEIGER, *words], capture_output=True, text=True, timeout=300,
                          check=False, **options)


class OtherAllocators(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)

    def providers(self):
        """The allocators of the processes of a run."""
        done = geiger("summary", "--json", self.here / "run.geiger")
        return [pathlib.Path(process["allocator"]).name
                for process in json.loads(done.stdout)["processes"]]

    def run_under(self, wanted, *program):
        return geiger("run", "-f", "--malloc", wanted, "-o", self.here / "run.geiger", "--", *program)

    @unittest.skipIf(not NAMES, "no other allocator is installed")
    def test_the_program_and_its_children_use_it(self):
        for name in NAMES:
            with self.subTest(name):
                done = self.run_under(name, "sh", "-c", '"$@"', "sh", *PROGRAM)
                self.assertEqual((done.returncode, done.stdout), (0, "300000"), done.stderr)
                self.assertRegex(done.stderr, rf"malloc is {name} [0-9.]+ \(/.*lib{name}")
                providers = self.providers()
                self.assertGreaterEqual(len(providers), 1)
                for provider in providers:
                    self.assertIn(name, provider)
                self.assertRegex(geiger("summary", self.here / "run.geiger").stdout,
                                 rf"(?m)^  allocator +lib{name}")

    @unittest.skipIf(not NAMES, "no other allocator is installed")
    def test_what_was_preloaded_stays(self):
        done = geiger("run", "-q", "-o", self.here / "run.geiger", "--malloc", NAMES[0], "--",
                      "sh", "-c", "echo $LD_PRELOAD",
                      env=dict(os.environ, LD_PRELOAD="libm.so.6"))
        words = done.stdout.strip().split(":")
        self.assertEqual((len(words), words[2]), (3, "libm.so.6"), words)
        self.assertIn("geiger", words[0])
        self.assertIn(NAMES[0], words[1])

    def test_what_cannot_be_is_said_and_nothing_started(self):
        ran = self.here / "ran"
        for wanted, said in (("nedmalloc", "unknown allocator 'nedmalloc'"),
                             ("/nowhere/lib.so", "cannot read /nowhere/lib.so"),
                             ("/etc/passwd", "is not a shared library"),
                             ("/bin/true", "does not define malloc and free")):
            with self.subTest(wanted):
                done = self.run_under(wanted, "touch", ran)
                self.assertEqual(done.returncode, 125)
                self.assertRegex(done.stderr, f"^geiger: --malloc: .*{said}.*\n$")
                self.assertFalse(ran.exists())
        source = self.here / "own.c"
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(["cc", "-static", "-o", self.here / "own", source], check=True)
        for words in (("run", "--malloc", "/bin/true"), ("compare-malloc",)):
            done = geiger(*words, "--", self.here / "own")
            self.assertIn(done.returncode, (1, 125))
            self.assertIn("statically linked", done.stderr)

    @unittest.skipIf(not NAMES, "no other allocator is installed")
    def test_comparison(self):
        done = geiger("compare-malloc", "--rounds", "2", "--json", "--", *PROGRAM)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        own, *others = report["allocators"]
        self.assertTrue(own["is_own"])
        self.assertIn("libc", own["name"])
        self.assertEqual([other["name"] for other in others], NAMES)
        for each in report["allocators"]:
            self.assertEqual(len(each["runs"]), 2)
            self.assertGreater(each["peak_rss"]["value"], 6e6)
            self.assertIn("kept", each)
        text = geiger("compare-malloc", "--rounds", "2", "--", *PROGRAM, env=dict(os.environ, COLUMNS="80"))
        self.assertLessEqual(max(map(len, text.stdout.splitlines())), 80, text.stdout)

    def test_programs_that_fail_or_differ(self):
        done = geiger("compare-malloc", "--rounds", "2", "--", "/nowhere/program")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "geiger: cannot run '/nowhere/program': No such file or directory\n"))
        changing = f"test -e {self.here}/x && exit 3; touch {self.here}/x"
        done = geiger("compare-malloc", "--rounds", "2", "--", "sh", "-c", changing)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not end the same way" if NAMES else "no other allocator", done.stderr)


if __name__ == "__main__":
    unittest.main()
