#!/usr/bin/env python3
"""geiger outside, the program inside a container or a jail, as runtimes make them: in namespaces of its
own, below a root that it got by pivot_root or chroot, with /proc or without, as another user. Each
of these together, as Docker, containerd and Podman do it, and apart.

The program is the host `attached` in a root that has nothing but it and its libraries, at a path that
this machine does not have.

usage: contained.py [TEST...]
       contained.py enter ROOT SHAPE,SHAPE... PROGRAM [ARGUMENT...]
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import attach
import harness
import trace_reader

SKIPPED = 77
FIRST_ID = 100000  # Of a user namespace.
NAMESPACES = {"mount": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000,
              "pid": 0x20000000, "net": 0x40000000}
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH, PR_SET_PDEATHSIG = 0x1000, 0x4000, 1 << 18, 2, 1
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
LIBC = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    if getattr(LIBC, function)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{function}: {os.strerror(error)}")


def fork_off():
    """Goes on in a child, which dies with its parent; this waits for its end."""
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def unshare(shapes):
    """Into new namespaces. Only a process outside of a user namespace can give it ids that are not its own."""
    begun, mapped = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        os.read(begun[0], 1)
        if "user" in shapes:
            for name in ("uid_map", "gid_map"):
                pathlib.Path(f"/proc/{child}/{name}").write_text(f"0 {FIRST_ID} 65536\n", encoding="ascii")
        os.write(mapped[1], b".")
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    call("unshare", sum(flag for name, flag in NAMESPACES.items() if name in shapes))
    os.write(begun[1], b".")
    os.read(mapped[0], 1)
    for end in (*begun, *mapped):
        os.close(end)
    if "user" in shapes:
        os.setgid(0)
        os.setuid(0)
    if "pid" in shapes:
        fork_off()


def enter(root, shapes, *command):
    unshare(shapes)
    root = root.encode()
    if "mount" in shapes:
        call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    if "overlay" in shapes:
        beside = os.path.dirname(root)
        for name in (b"upper", b"work"):
            os.mkdir(beside + b"/" + name)
        call("mount", b"overlay", root, b"overlay", 0,
             b"lowerdir=%b,upperdir=%b/upper,workdir=%b/work" % (root, beside, beside))
    if "proc" in shapes:
        call("mount", b"proc", root + b"/proc", b"proc", 0, None)
    os.chdir(root)
    if "pivot" in shapes:
        call("mount", root, root, None, MS_BIND | MS_REC, None)
        os.chdir(root)
        call("syscall", PIVOT_ROOT, b".", b".")
        call("umount2", b".", MNT_DETACH)
    if "chroot" in shapes:
        os.chroot(".")
    if "user65534" in shapes:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    if "dormant" in shapes:
        os.environ.update(LD_PRELOAD="/opt/geiger/libgeiger-preload.so", GEIGER_MODE="dormant",
                          GEIGER_INTERVAL="65536", XDG_RUNTIME_DIR="/run")
    os.execv(command[0], command)


class Contained(attach.AttachTest):
    def make_root(self, shapes):
        root = pathlib.Path(self.directory, "root")
        program = root / "opt/app/server"
        program.parent.mkdir(parents=True)
        shutil.copy(harness.host("attached"), program)
        (root / "opt/geiger").mkdir()
        shutil.copy(harness.preload_library(), root / "opt/geiger")
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"(/\S+) \(0x", said):
            target = pathlib.Path(f"{root}{path}")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        if "proc" in shapes:
            (root / "proc").mkdir()
        if "tmp" in shapes:
            (root / "tmp").mkdir()
            (root / "tmp").chmod(0o1777)
        if "user" in shapes:
            for path in (root, *root.rglob("*")):
                os.chown(path, FIRST_ID, FIRST_ID)
        return root

    def inside(self, *shapes, prefix=()):
        """The program's process, and its id here."""
        root = self.make_root(shapes)
        process = self.start([sys.executable, __file__, "enter", root, ",".join(shapes), *prefix,
                              "/opt/app/server", "loops", "1"])
        self.assertEqual(process.stdout.readline(), "ready\n")
        pid = process.pid
        while children := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            (pid,) = map(int, children)
        self.left = sorted(root.rglob("*"))
        self.descriptors = attach.descriptors(pid)
        return process, pid

    def check_names(self, name="r.geiger"):
        """The program's own functions have theirs, and lines."""
        table = self.geiger("table", name)
        self.assertRegex(table.stdout, r"churn +attached\.cc:\d+")
        self.assertNotIn("no symbols", table.stdout)
        self.assertEqual(table.stderr, "")

    def check(self, *shapes):
        process, pid = self.inside(*shapes)
        done = self.geiger("attach", "--duration", "100ms", "--interval", "1MiB", "-o", "r.geiger", pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("no symbols", done.stderr)
        self.assert_sound(trace_reader.read(os.path.join(self.directory, "r.geiger")))
        self.check_names()
        self.assertEqual(attach.descriptors(pid), self.descriptors)
        root = pathlib.Path(self.directory, "root")
        if "mount" not in shapes:
            self.assertEqual(sorted(root.rglob("*")), self.left)
        self.end(process)

    def test_docker(self):
        self.check("pid", "mount", "net", "uts", "ipc", "overlay", "pivot", "proc", "tmp")

    def test_containerd_with_a_read_only_root_and_another_user(self):
        self.check("pid", "mount", "net", "uts", "ipc", "pivot", "proc", "user65534")

    def test_podman_without_root(self):
        self.check("user", "pid", "mount", "net", "uts", "ipc", "pivot", "proc", "tmp")

    def test_a_pid_namespace_without_its_proc(self):
        self.check("pid", "mount", "pivot")

    def test_a_user_namespace(self):
        self.check("user", "chroot")

    def test_a_network_namespace(self):
        self.check("net", "chroot")

    def test_pivot_root(self):
        self.check("mount", "pivot", "tmp")

    def test_chroot(self):
        self.check("chroot", "tmp")

    def test_an_empty_jail_of_another_user(self):
        self.check("chroot", "user65534")

    def test_everything_without_a_place(self):
        self.check("user", "pid", "mount", "net", "uts", "ipc", "pivot")

    def test_a_container_that_ends_first(self):
        """Its files are gone with it, but were opened before."""
        _, pid = self.inside("pid", "mount", "pivot", "proc", "tmp")
        with subprocess.Popen([attach.GEIGER, "attach", "-o", "r.geiger", str(pid)], text=True,
                              cwd=self.directory, stderr=subprocess.PIPE) as attached:
            self.assertIn(f"pid {pid}", attached.stderr.readline())
            time.sleep(.3)
            os.kill(pid, signal.SIGKILL)
            said = attached.stderr.read()
        self.assertEqual(attached.returncode, 3, said)  # Its process has ended.
        self.check_names()

    def test_another_program_at_its_path_here(self):
        """Is not taken for it, and names are found below its root later too."""
        process, pid = self.inside("pid", "mount", "pivot", "proc", "tmp")
        done = self.geiger("attach", "--duration", "100ms", "--no-symbolize", "-o", "r.geiger", pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 of", self.geiger("symbolize", "r.geiger").stdout)
        self.check_names()
        self.end(process)

    def test_names_are_said_to_be_missing_where_the_container_is_gone(self):
        process, pid = self.inside("pid", "mount", "pivot", "proc", "tmp")
        self.geiger("attach", "--duration", "100ms", "--no-symbolize", "-o", "r.geiger", pid)
        self.end(process)
        for command in ("symbolize", "table", "tree", "lifetimes", "summary"):
            said = self.geiger(command, "r.geiger")
            self.assertIn("/opt/app/server was not found", said.stderr, command)
            self.assertIn("--debug-dir", said.stderr)
            if command != "symbolize":
                text = " ".join(said.stdout.split())
                self.assertIn("server was not found here: run geiger symbolize where its file is, or with --debug-dir", text)
                self.assertNotIn("install", text)

    def check_dormant(self, *shapes):
        """Started without a supervisor, controlled from here."""
        process, pid = self.inside(*shapes, "dormant")
        self.assertRegex(self.geiger("ctl", "list").stdout, rf"(?m)^ *{pid}  (dormant|inert)")
        for _ in range(2):
            started = self.geiger("ctl", pid, "start")
            self.assertEqual(started.returncode, 0, started.stderr)
            trace = started.stderr.split(" records to ")[1].strip()
            self.assertEqual(self.geiger("ctl", pid, "mark", "here").returncode, 0)
            live = self.geiger("live", "--json", "--updates", "1", pid)
            shown = json.loads(live.stdout.splitlines()[0])["processes"]
            self.assertIn("recording", [process["state"] for process in shown], live)
            stopped = self.geiger("ctl", pid, "stop")
            self.assertIn("dormant again", stopped.stderr)
            self.assertEqual(self.geiger("symbolize", trace).returncode, 0)
            self.check_names(trace)
        self.assertEqual(attach.descriptors(pid), self.descriptors)
        self.end(process)
        return trace

    def test_a_dormant_one_in_docker(self):
        trace = self.check_dormant("pid", "mount", "net", "uts", "ipc", "overlay", "pivot", "proc", "tmp")
        self.assertRegex(trace, "^/proc/[0-9]+/root/tmp/geiger-")

    def test_a_dormant_one_in_podman_without_a_place(self):
        trace = self.check_dormant("user", "pid", "mount", "net", "pivot")
        self.assertEqual(os.stat(trace).st_uid, 0)

    def test_recorded_twice(self):
        process, pid = self.inside("pid", "mount", "net", "pivot", "proc")
        with subprocess.Popen([attach.GEIGER, "attach", "-o", "r.geiger", str(pid)], text=True,
                              cwd=self.directory, stderr=subprocess.PIPE) as attached:
            self.assertIn(f"pid {pid}", attached.stderr.readline())
            again = self.geiger("attach", pid)
            self.assertIn(f"geiger detach {pid}", again.stderr)
            live = self.geiger("live", "--json", "--updates", "1", pid)
            (shown,) = json.loads(live.stdout.splitlines()[0])["processes"]
            self.assertEqual(shown["state"], "recording", live)
            self.assertEqual(self.geiger("detach", pid).returncode, 0)
            said = attached.stderr.read()
        self.assertEqual(attached.returncode, 0, said)
        self.end(process)


if __name__ == "__main__":
    if sys.argv[1:2] == ["enter"]:
        enter(sys.argv[2], sys.argv[3].split(","), *sys.argv[4:])
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "-p", "-n", "-U", "-f", "true"],
                                           capture_output=True).returncode != 0:
        print("skipped: needs root, and namespaces of its own", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
