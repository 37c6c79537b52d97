#!/usr/bin/env python3
"""geiger outside, the program inside: below another root, in other namespaces, under the filters of
container runtimes, on file systems that are read-only or full.

Runs in a mount namespace of its own, so that nothing stays mounted.
"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
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
        place = pathlib.Path(root, name)
        place.mkdir(exist_ok=True)  # The build may lie below /tmp.
        place.chmod(0o700)
    mount("-t", "proc", "proc", f"{root}/proc")

# Only root can read the filters of another process.
IS_ROOT = os.geteuid() == 0
DESPITE = () if IS_ROOT else ("--despite-seccomp",)


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
        followed = subprocess.run([GEIGER, "live", "--json", "--updates", "1", str(program.pid)],
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
                                   trace_reader.written_bytes(path))[1], "a mark")


class AttachBelowAnotherRoot(attach.AttachTest, OtherRoot):
    def setUp(self):
        super().setUp()
        self.make_root(self.directory, harness.host("attached"))

    def test_attach_and_detach(self):
        there = sorted(pathlib.Path(self.root, "tmp").rglob("*"))
        process = self.start([harness.host("attached"), "loops", "2"], preexec_fn=self.enter)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assert_sound(self.attach(process.pid))
        self.assertEqual(sorted(pathlib.Path(self.root, "tmp").rglob("*")), there)
        self.end(process)


class PidNamespaces(attach.AttachTest):
    """The program has another id inside: a small number, which outside is a thread of the kernel."""

    def inside(self, *command):
        """The program's process and its id here. Inside it is the child of process 1."""
        process = self.start(["unshare", "-p", "-m", "-f", "--mount-proc", "sh", "-c",
                              'true & wait; "$@"; true', "sh", *command])
        self.assertEqual(process.stdout.readline(), "ready\n")
        (first,) = self.children_of(process.pid)
        (pid,) = self.children_of(first)
        self.addCleanup(self.kill, first)
        self.inner = int(attach.status_of(pid, "NSpid").split()[-1])
        self.assertNotEqual(self.inner, pid)
        return process, pid

    @staticmethod
    def children_of(pid):
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(word) for word in text.split()]

    @staticmethod
    def watched(directory):
        """How many traces the supervisor knows: it makes them read-only."""
        return sum(path.stat().st_mode & 0o777 == 0o400 for path in directory.glob("*.geiger"))

    @staticmethod
    def kill(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def check_recording(self, pid, name="r.geiger"):
        """Both ids are there, the one outside is what is shown, and memory was read."""
        summary = json.loads(self.geiger("summary", "--json", name).stdout)
        ids = {process["pid"]: process.get("inner_pid") for process in summary["processes"]}
        self.assertEqual(ids.get(pid), self.inner, summary["processes"])
        self.assertIn(f"pid {pid} ({self.inner} in its pid namespace)",
                      self.geiger("summary", name).stdout)
        seen = self.geiger("rss", "--json", "--pid", pid, name)
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertEqual(json.loads(seen.stdout)["pid"], pid)

    def test_attach(self):
        process, pid = self.inside(harness.host("attached"), "loops", "2")
        done = self.geiger("attach", "--duration", "1s", "-o", "r.geiger", pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("thread of the kernel", done.stderr)
        self.assert_sound(trace_reader.read(os.path.join(self.directory, "r.geiger")))
        self.check_recording(pid)
        self.end(process)

    def attach_in_background(self, pid):
        attached = subprocess.Popen([GEIGER, "attach", "-o", "r.geiger", str(pid)], text=True,
                                    cwd=self.directory, stderr=subprocess.PIPE)
        self.addCleanup(attached.stderr.close)
        self.assertIn(f"pid {pid}", attached.stderr.readline())
        directory = pathlib.Path(self.directory, "r.geiger.parts")
        attach.wait_until(lambda: self.watched(directory) == 1, "its trace")
        time.sleep(0.5)  # Then it reads the program's memory.
        return attached

    def test_the_program_is_killed(self):
        _, pid = self.inside(harness.host("attached"), "loops", "2")
        attached = self.attach_in_background(pid)
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(attached.wait(attach.PATIENCE), 3)
        self.check_recording(pid)

    def test_interrupt(self):
        process, pid = self.inside(harness.host("attached"), "loops", "2")
        attached = self.attach_in_background(pid)
        attached.send_signal(signal.SIGINT)
        self.assertEqual(attached.wait(attach.PATIENCE), 0)
        self.assertEqual(attach.words_into_the_runtime(pid), 0)
        self.check_recording(pid)
        self.end(process)

    def test_children_are_detached_from(self):
        script = ("import os, select, sys\nprint('ready', flush=True)\n"
                  "while not select.select([sys.stdin], [], [], 0)[0]: bytes(100000)\n"
                  "os.fork()\nwhile True: bytes(100000)\n")
        process, pid = self.inside(sys.executable, "-c", script)
        attached = self.attach_in_background(pid)
        process.stdin.write("\n")
        process.stdin.flush()
        attach.wait_until(lambda: self.children_of(pid), "the child")
        (child,) = self.children_of(pid)
        directory = pathlib.Path(self.directory, "r.geiger.parts")
        attach.wait_until(lambda: self.watched(directory) == 2, "its trace")
        attached.send_signal(signal.SIGINT)
        self.assertEqual(attached.wait(attach.PATIENCE), 0)
        for left in (pid, child):
            self.assertEqual(attach.words_into_the_runtime(left), 0)
        summary = json.loads(self.geiger("summary", "--json", "r.geiger").stdout)
        self.assertEqual({process["pid"] for process in summary["processes"]}, {pid, child})

    def test_run_of_a_program_that_makes_one(self):
        done = self.geiger("run", "-o", "r.geiger", "--interval", "4096", "--", "unshare", "-p", "-f",
                           "--mount-proc", sys.executable, "-c",
                           "import time; kept = [bytes(10000) for _ in range(1000)]; time.sleep(3)")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(self.geiger("summary", "--json", "r.geiger").stdout)
        (inside,) = [process for process in summary["processes"] if "inner_pid" in process]
        self.assertIn("python", inside["executable"])
        self.assertEqual(inside["inner_pid"], 1)
        self.assertEqual(self.geiger("rss", "--pid", inside["pid"], "r.geiger").returncode, 0)

    def test_ctl_and_live(self):
        runtime = os.path.join(self.directory, "run")
        os.mkdir(runtime, 0o700)
        script = "print('ready', flush=True)\nwhile True: kept = [bytes(1000) for _ in range(1000)]\n"
        _, pid = self.inside("env", f"LD_PRELOAD={harness.preload_entry()}", "GEIGER_MODE=dormant",
                             "GEIGER_INTERVAL=4096", f"XDG_RUNTIME_DIR={runtime}", sys.executable,
                             "-c", script)
        listed = json.loads(self.geiger("ctl", "list", "--json").stdout)["processes"]
        self.assertIn((pid, "dormant"), [(p["pid"], p["state"]) for p in listed])
        started = self.geiger("ctl", pid, "start", "-d", self.directory)
        self.assertEqual(started.returncode, 0, started.stderr)
        followed = self.geiger("live", "--json", "--updates", "1", pid)
        self.assertEqual([(p["pid"], p["state"]) for p in
                          json.loads(followed.stdout.splitlines()[-1])["processes"]],
                         [(pid, "recording")])
        self.assertEqual(self.geiger("ctl", pid, "stop").returncode, 0)
        (trace,) = pathlib.Path(self.directory).glob("*.geiger")
        self.assertIn(f"pid {pid} ({self.inner} in its pid namespace)",
                      self.geiger("summary", trace).stdout)


class Filters(attach.AttachTest):
    """System call filters of container runtimes and of systemd."""
    PROFILE = "/usr/share/containers/seccomp.json"  # Debian: golang-github-containers-common
    FILTERS = ("@system-service", "@system-service:EPERM")

    def filtered(self, chosen, *command):
        return ["/usr/bin/python3", str(harness.ROOT / "tests/filtered.py"), chosen, *command]

    def setUp(self):
        super().setUp()
        if subprocess.run(["/usr/bin/python3", "-c", "import seccomp"],
                          capture_output=True).returncode != 0:
            self.skipTest("not installed: python3-seccomp")
        own = os.environ.get("GEIGER_SECCOMP_PROFILE", self.PROFILE)
        self.filters = [own] if os.path.exists(own) else []
        if shutil.which("systemd-analyze"):
            self.filters += self.FILTERS
        if not self.filters:
            self.skipTest("not installed: golang-github-containers-common, systemd")

    def test_run(self):
        """geiger and the program inside, and geiger outside."""
        program = [harness.host("loops"), "malloc+free", "100000", "2"]
        bare = harness.run_bare(program)
        run = [GEIGER, "run", "-f", "-o", "r.geiger", "--interval", "4096", "--"]
        for chosen in self.filters:
            for command in (self.filtered(chosen, *run, *program),
                            [*run, *self.filtered(chosen, *program)]):
                done = harness.run_bare(command, cwd=self.directory)
                self.assertEqual(done[:2], bare[:2], (chosen, done.stderr))
                summary = json.loads(self.geiger("summary", "--json", "r.geiger").stdout)
                host = [p for p in summary["processes"] if p["executable"].endswith("/loops")]
                self.assertEqual([p["ending"] for p in host], ["exited"], (chosen, done.stderr))
                self.assertGreater(host[0]["samples"], 0)
                self.assertEqual(self.geiger("doctor", "r.geiger").returncode, 0)

    def test_attach(self):
        for chosen in self.filters:
            process = self.start(self.filtered(chosen, harness.host("attached"), "loops", "2"))
            self.assertEqual(process.stdout.readline(), "ready\n")
            if not IS_ROOT:
                self.assert_refused(self.geiger("attach", process.pid), "seccomp")
            self.assert_sound(self.attach(process.pid, 0.5, 65536, *DESPITE))
            os.unlink(os.path.join(self.directory, "r.geiger"))
            self.end(process)


    def test_a_dormant_program(self):
        """What is installed by the surroundings of the program is no reason to leave it alone where
        geiger is in them too."""
        runtime = os.path.join(self.directory, "run")
        os.mkdir(runtime, 0o700)
        script = "print('ready', flush=True)\nwhile True: kept = [bytes(1000) for _ in range(1000)]\n"
        for chosen in self.filters:
            process = self.start(self.filtered(
                chosen, "env", f"LD_PRELOAD={harness.preload_entry()}", "GEIGER_MODE=dormant",
                "GEIGER_INTERVAL=4096", f"XDG_RUNTIME_DIR={runtime}", f"GEIGER_DIR={runtime}",
                "/usr/bin/python3", "-c", script))
            self.assertEqual(process.stdout.readline(), "ready\n")
            if not IS_ROOT:
                refused = self.geiger("ctl", process.pid, "start")
                self.assertEqual(refused.returncode, 1)
                self.assertIn("seccomp", refused.stderr)
            for start in (self.filtered(chosen, GEIGER, "ctl", str(process.pid), "start"),
                          [GEIGER, "ctl", str(process.pid), "start", *DESPITE]):
                done = subprocess.run(start, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, (chosen, done.stderr))
                self.assertEqual(self.geiger("ctl", process.pid, "stop").returncode, 0)
            self.assertIsNone(process.poll())
            self.stop(process)
        traces = list(pathlib.Path(runtime).glob("*.geiger"))
        self.assertEqual(len(traces), 2 * len(self.filters))
        for trace in traces:
            trace_reader.read(trace).check()


class FileSystems(attach.AttachTest):
    def in_mounts(self, preparation, *command):
        script = f'set -e\n{preparation}\nexec "$@"'
        return harness.run_bare(["unshare", "-m", "sh", "-c", script, "sh", *command],
                                cwd=self.directory)

    def test_a_read_only_root(self):
        """Only one place may be written to, a tmpfs; traces and requests go there."""
        place = os.path.join(self.directory, "tmp")
        os.mkdir(place)
        mount("-t", "tmpfs", "none", place)
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        read_only = (f"{harness.bind_below(place)}; mount --rbind {place} /tmp; mount -t tmpfs none /run; "
                     "mount -o remount,bind,ro /run; mount -o remount,bind,ro /; cd /; ! touch /x")
        program = [harness.host("loops"), "malloc+free", "60000", "2"]
        bare = harness.run_bare(program)
        refused = self.in_mounts(read_only, GEIGER, "run", "--", *program)
        self.assertEqual(refused[:2], bare[:2])
        self.assertIn(b"Read-only file system: the program runs unprofiled", refused.stderr)
        done = self.in_mounts(read_only, GEIGER, "run", "--interval", "4096", "-o", "/tmp/r.geiger",
                              "--", *program)
        self.assertEqual(done[:2], bare[:2])
        summary = json.loads(self.geiger("summary", "--json", f"{place}/r.geiger").stdout)
        self.assertGreater(summary["samples"], 100)
        self.assertEqual(summary["processes"][0]["ending"], "exited")
        dormant = (f"export LD_PRELOAD='{harness.preload_entry()}' GEIGER_MODE=dormant "
                   "GEIGER_DIR=/tmp GEIGER_INTERVAL=4096")
        script = (f"{dormant}; {shlex.join(program)} & unset LD_PRELOAD; {shlex.quote(GEIGER)} ctl $! start; "
                  "wait $!")
        asked = self.in_mounts(read_only, "sh", "-c", script.replace("60000", "60000000"))
        self.assertEqual(asked.status, 0, asked.stderr)
        self.assertIn(b"records to /tmp/", asked.stderr)

    def test_a_tmpfs_that_is_full_within_segments(self):
        place = os.path.join(self.directory, "small")
        os.mkdir(place)
        program = [harness.host("loops"), "malloc+free", "100000", "2"]
        mount("-t", "tmpfs", "-o", "size=4m", "none", place)
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        bare = harness.run_bare(program)
        done = harness.run_bare([GEIGER, "run", "--interval", "64", "--segments", "1MiB", "--",
                                 *program], cwd=place)
        self.assertEqual(done[:2], bare[:2])
        self.assertIn(b"no space left", done.stderr)
        self.assertGreater(len(list(pathlib.Path(place).rglob("*.geiger"))), 1)
        (run,) = os.listdir(place)
        summary = json.loads(self.geiger("summary", "--json", f"{place}/{run}").stdout)
        (process,) = summary["processes"]
        self.assertEqual((process["ending"], process["stop_reason"]), ("switched_off", "no_space"))
        self.assertGreater(process["drops"]["trace_full"], 0)
        self.assertIn("no space left", self.geiger("summary", f"{place}/{run}").stdout)


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "-p", "-f", "true"],
                                           capture_output=True).returncode != 0:
        print("skipped: needs root, and the right to mount", file=sys.stderr)
        sys.exit(SKIPPED)
    if "GEIGER_TEST_UNSHARED" not in os.environ:
        os.environ["GEIGER_TEST_UNSHARED"] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    unittest.main()
