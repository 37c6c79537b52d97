#!/usr/bin/env python3
"""geiger outside, the program inside: below another root, in other namespaces, under the filters of
container runtimes, on file systems that are read-only or full.

Runs in a mount namespace of its own, so that nothing stays mounted.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import attach
import control
import harness
import trace_reader
from harness import KIB

GEIGER = str(harness.BUILD / "bin" / "geiger")
SKIPPED = 77


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def small_root(root, *files):
    """A tree with nothing but these files, the libraries that they load, and /proc."""
    libraries = [harness.preload_library()]
    for file in (*files, *libraries):
        said = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
        for path in (str(file), *re.findall(r"(/\S+) \(0x", said)):
            target = pathlib.Path(f"{root}{path}")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for name in ("proc", "tmp", "traces", "run"):
        os.mkdir(f"{root}/{name}", 0o700)
    mount("-t", "proc", "proc", f"{root}/proc")


class OtherRoot:
    """Makes `self.root`, and the way into it by chroot alone."""

    def make_root(self, directory, *files):
        self.root = os.path.join(directory, "root")
        os.mkdir(self.root, 0o755)
        small_root(self.root, *files)
        self.addCleanup(subprocess.run, ["umount", f"{self.root}/proc"], check=True)

    def enter(self):
        os.chroot(self.root)
        os.chdir("/")


class ControlBelowAnotherRoot(control.Control, OtherRoot):
    def setUp(self):
        super().setUp()
        self.make_root(self.directory, harness.host("asleep"))
        self.traces, self.runtime = os.path.join(self.root, "traces"), "/run"

    def recorded(self):
        return sorted(pathlib.Path(self.traces).glob("*.geiger"))

    def start_program(self, **env):
        program = control.Program(self, preexec_fn=self.enter, env=env)
        program.allocate()
        return program

    def check_requests(self, program):
        """Of a program that records: each request must find its trace."""
        (path,) = self.recorded()
        self.assertEqual(self.status(program.pid)["trace"], str(path))
        self.while_allocating(program, program.pid, "mark", "warm")
        self.while_allocating(program, program.pid, "interval", "2KiB")
        followed = subprocess.run([GEIGER, "live", "--json", "--looks", "1", str(program.pid)],
                                  capture_output=True, text=True, timeout=control.PATIENCE)
        self.assertEqual(followed.returncode, 0, followed.stderr)
        document = json.loads(followed.stdout.splitlines()[-1])
        self.assertEqual([p["state"] for p in document["processes"]], ["recording"], document)
        self.while_allocating(program, program.pid, "segment")
        self.while_allocating(program, program.pid, "stop")
        self.assertEqual(len(self.recorded()), 2)
        marks = subprocess.run([GEIGER, "marks", *map(str, self.recorded())], capture_output=True,
                               text=True)
        self.assertIn("warm", marks.stdout)

    def test_a_directory_as_we_name_it(self):
        program = self.start_program()
        told = self.start(program)
        self.assertIn(f"records to {self.traces}/", told)
        self.check_requests(program)

    def test_its_own_directory(self):
        program = self.start_program(GEIGER_DIR="/traces")
        told = self.while_allocating(program, program.pid, "start")
        self.assertIn(f"records to {self.traces}/", told)
        self.check_requests(program)

    def test_a_directory_outside_is_refused(self):
        program = self.start_program()
        self.assertIn("does not see", self.ctl(program.pid, "start", "-d", "/usr", expect=1))

    def test_watch(self):
        program = self.start_program(GEIGER_DIR="/traces")
        self.while_allocating(program, program.pid, "start")
        watch = subprocess.Popen([GEIGER, "ctl", str(program.pid), "watch", "--mark-on",
                                  "every=10ms"])
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        (path,) = self.recorded()
        attach.wait_until(lambda: (program.allocate(count=100), b"every=" in
                                   self.control_page(path))[1], "a mark")

    def control_page(self, trace):
        with open(trace, "rb") as file:
            file.seek(4 * KIB)
            return file.read(4 * KIB)


class AttachBelowAnotherRoot(attach.AttachTest, OtherRoot):
    def setUp(self):
        super().setUp()
        self.make_root(self.directory, harness.host("attached"))

    def test_attach_and_detach(self):
        process = self.start([harness.host("attached"), "loops", "2"], preexec_fn=self.enter)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assert_sound(self.attach(process.pid))
        self.assertEqual(os.listdir(f"{self.root}/tmp"), [])
        self.end(process)


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "-p", "-f", "true"],
                                           capture_output=True).returncode != 0:
        print("skipped: needs root, and the right to mount", file=sys.stderr)
        sys.exit(SKIPPED)
    if "GEIGER_TEST_UNSHARED" not in os.environ:
        os.environ["GEIGER_TEST_UNSHARED"] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    unittest.main()
