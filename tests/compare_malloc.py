#!/usr/bin/env python3
"""Programs under other allocators: `geiger run --malloc` and `geiger compare-malloc`."""
import json
import os
import pathlib
import re
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
        done = geiger("compare-malloc", "--rounds", "2", "--json", "--", *PROGRAM, cwd=self.here)
        self.assertEqual((done.returncode, done.stderr),
                         (0, "geiger: wrote geiger-perl.allocators, which geiger advise reads\n"))
        report = json.loads(done.stdout)
        own, *others = report["allocators"]
        self.assertTrue(own["is_own"])
        self.assertIn("libc", own["name"])
        self.assertEqual([other["name"] for other in others], NAMES)
        for each in report["allocators"]:
            self.assertEqual(len(each["runs"]), 2)
            self.assertGreater(each["peak_rss"]["value"], 6e6)
            self.assertIn("kept", each)
        text = geiger("compare-malloc", "--rounds", "2", "--", *PROGRAM, env=dict(os.environ, COLUMNS="80"),
                      cwd=self.here)
        self.assertLessEqual(max(map(len, text.stdout.splitlines())), 80, text.stdout)

    def advised(self, run="run.geiger"):
        """What is not looked for or found, of other allocators, and their names."""
        report = json.loads(geiger("advise", "--json", "--no-times", self.here / run, cwd="/").stdout)
        reasons = [each["reason"] for each in report["not_looked_for"] if each["waste"] == "another allocator"]
        return reasons, "another allocator" in report["not_found"], report["other_allocators"]

    @unittest.skipIf(not NAMES, "no other allocator is installed")
    def test_advise_reads_the_result_for_the_same_build(self):
        self.run_under(NAMES[0], *PROGRAM)
        self.assertEqual(self.advised(), (["no comparison is stored: run geiger compare-malloc"], False, []))
        geiger("compare-malloc", "--rounds", "3", "--allocators", NAMES[0], "--", *PROGRAM, cwd=self.here)
        stored = self.here / "geiger-perl.allocators"
        lines = stored.read_text().splitlines(keepends=True)
        # Runs that take half of it under the other allocator, then as much.
        for factor, is_better in ((0.5, True), (1, False)):
            own = [line.split() for line in lines[:lines.index(f"allocator {NAMES[0]}\n")] if line.startswith("run ")]
            self.assertEqual(len(own), 3)
            made = [line for line in lines if not line.startswith("run ")]
            at = made.index(f"allocator {NAMES[0]}\n")
            made[at:at] = ["".join(f"run {cpu} {peak}\n" for _, cpu, peak in own)]
            made.extend(f"run {float(cpu) * factor} {int(int(peak) * factor)}\n" for _, cpu, peak in own)
            stored.write_text("".join(made))
            reasons, is_not_found, better = self.advised()
            self.assertEqual((reasons, is_not_found), ([], not is_better))
            self.assertEqual([round(each["cpu_of_own"]["value"], 6) for each in better], [0.5] if is_better else [])
        stored.write_text(re.sub(r"(?m)^build_id ..", "build_id 00", "".join(lines)))
        reasons, is_not_found, better = self.advised()
        self.assertEqual((is_not_found, better), (False, []))
        self.assertRegex(reasons[0], "geiger-perl.allocators is of another build")

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
