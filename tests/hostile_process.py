#!/usr/bin/env python3
"""A process that attacks the root who profiles it: tests/hosts/hostile.c lists the attacks. Nothing
of root's may change, and geiger may neither die nor hang.

usage: GEIGER_BUILD_DIR=BUILD hostile_process.py Hostile|Agents[.TEST]...
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
NOBODY = 65534
PATIENCE = 60
# Before, a directory of root's was the process's after at most 47 attaches.
ATTACHES = 200


@unittest.skipUnless(os.geteuid() == 0, "needs root, whom it is about")
class HostileTest(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
        self.top.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.own = self.top / "own"  # What the process may see, but must not get.
        self.own.mkdir(0o700)
        self.file = self.top / "file"
        self.file.write_text("precious", encoding="ascii")
        self.file.chmod(0o644)
        self.work = self.top / "work"
        self.work.mkdir(0o700)
        self.roots = 0

    def start(self, attack, victim, **variables):
        """Its pid."""
        if not variables:
            variables["HOSTILE_FILTERED"] = "1"
        self.roots += 1
        root = self.top / f"root{self.roots}"
        root.mkdir(0o755)
        os.chown(root, NOBODY, NOBODY)
        process = subprocess.Popen([harness.host("hostile"), attack, victim, root],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.PIPE, env=harness.environment([], variables))
        self.addCleanup(self.end, process)
        if process.stdout.readline() != "ready\n":
            said = process.stderr.read()
            if "unshare" in said:
                self.skipTest("no user namespaces here")
            self.fail(said)
        return process.pid

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def start_dormant(self, attack, victim):
        runtime = self.top / "runtime"
        runtime.mkdir(0o700, exist_ok=True)
        return self.start(attack, victim, LD_PRELOAD=str(harness.preload_entry()),
                          GEIGER_MODE="dormant", GEIGER_INTERVAL="4096",
                          XDG_RUNTIME_DIR=str(runtime))

    def geiger(self, *words, runner=()):
        """Runs it to its end: it must not be killed by what the process does, nor fail inside."""
        done = subprocess.run([*runner, GEIGER, *map(str, words)], cwd=self.work, text=True,
                              capture_output=True, timeout=PATIENCE, check=False,
                              env=harness.environment([], {"XDG_RUNTIME_DIR": str(self.top / "runtime")}))
        self.assertIn(done.returncode, (0, 1, 3), done)  # 3: the process has ended.
        self.assertNotIn("internal error", done.stderr)
        return done

    def attach(self, pid, *runner):
        return self.geiger("attach", "--duration", "20ms", "--no-symbolize", "--despite-seccomp", "-f",
                           "-o", "r.geiger", pid, runner=runner)

    def assert_untouched(self):
        for path, mode in ((self.own, 0o40700), (self.file, 0o100644)):
            status = path.stat()
            self.assertEqual((status.st_uid, status.st_mode), (0, mode), path)
        self.assertEqual(self.own.stat().st_mtime_ns, self.made, "something was created in it")
        self.assertEqual(self.file.read_bytes(), b"precious")

    def assert_nothing_is_reached_by_path(self, log):
        """Below another root only relative to a descriptor, and resolved below it."""
        calls = log.read_text(errors="replace").splitlines()
        for call in calls:
            self.assertNotRegex(call, r'"/proc/\d+/(root|cwd|fd)/', call)
            if "openat2(" in call:
                self.assertRegex(call, r"RESOLVE_(IN_ROOT|BENEATH)", call)
                self.assertIn("RESOLVE_NO_MAGICLINKS", call)
        return calls

    def assert_made_a_directory(self, calls):
        """That this is not a test of something that failed earlier."""
        made = any("mkdirat(" in call and call.endswith(" = 0") for call in calls)
        self.assertTrue(made, "\n".join(calls[-20:]))

    @staticmethod
    def traced(log, *options):
        harness.require("strace")
        return ["strace", *options, "-f", "-e", "trace=%file,openat2,fchown,fchownat", "-o", str(log)]


class Hostile(HostileTest):
    def repeat(self, count, profile):
        self.made = self.own.stat().st_mtime_ns
        for _ in range(count):
            profile()
            self.assert_untouched()

    def test_a_link_in_the_place_of_its_tmp(self):
        pid = self.start("link", self.own)
        self.repeat(3, lambda: self.attach(pid))

    def test_a_mount_over_the_new_directory(self):
        pid = self.start("mount", self.own)
        self.repeat(ATTACHES, lambda: self.attach(pid))

    def test_a_link_in_the_place_of_the_new_directory(self):
        pid = self.start("swap", self.own)
        self.repeat(ATTACHES // 4, lambda: self.attach(pid))

    def test_a_mount_over_its_traces(self):
        pid = self.start("cover", self.file)
        self.repeat(ATTACHES // 4, lambda: self.attach(pid))

    def test_a_file_in_the_place_of_the_library(self):
        """It is given to each process once."""
        def attach_to_another():
            pid = self.start("descriptor", self.file)
            self.attach(pid)
        self.repeat(10, attach_to_another)

    def test_a_trace_that_is_truncated(self):
        """Ends the process itself at worst, by the signal that geiger would have got too."""
        def attach_to_another():
            self.attach(self.start("cut", self.own))
        self.repeat(10, attach_to_another)

    def call(self, attack, victim, count):
        def start_recording():
            pid = self.start_dormant(attack, victim)
            self.geiger("ctl", pid, "start", "--wait", "50ms")
            self.geiger("ctl", pid, "status")
            self.geiger("ctl", pid, "stop", "--wait", "50ms")
        self.repeat(count, start_recording)

    def test_a_call_with_a_link_in_the_place_of_its_tmp(self):
        self.call("link", self.own, 3)

    def test_a_call_with_mounts(self):
        self.call("mount", self.own, 10)

    def test_a_call_with_links(self):
        self.call("swap", self.own, 5)

    def test_a_call_of_a_process_that_truncates_its_trace(self):
        self.call("cut", self.own, 5)

    def test_a_call_of_a_process_that_holds_the_lock(self):
        self.call("hold", self.own, 1)

    def test_traces_that_root_makes(self):
        """In the network namespace of the process, whose /tmp nothing is made in."""
        for attack in ("link", "swap", "descriptor"):
            pid = self.start(attack, self.file if attack == "descriptor" else self.own, LANG="C")
            self.repeat(3, lambda: self.attach(pid))
        self.assertTrue((self.work / "r.geiger").exists())

    def test_attach_makes_no_call_by_a_path_there(self):
        log = self.top / "calls"
        self.attach(self.start("swap", self.own), *self.traced(log))
        calls = self.assert_nothing_is_reached_by_path(log)
        self.assert_made_a_directory(calls)
        self.assertEqual([call for call in calls if "chown" in call], [])

    def test_a_call_makes_no_call_by_a_path_there(self):
        log = self.top / "calls"
        pid = self.start_dormant("swap", self.own)
        self.geiger("ctl", pid, "start", "--wait", "50ms", runner=self.traced(log))
        calls = self.assert_nothing_is_reached_by_path(log)
        self.assert_made_a_directory(calls)


class Agents(HostileTest):
    """They wake what sleeps on this machine, other tests' programs too."""

    def run_agent(self, *runner):
        """For some turns. Its store."""
        traces, store = self.top / "traces", self.top / "fleet.db"
        traces.mkdir(0o711, exist_ok=True)
        with subprocess.Popen([*runner, GEIGER, "agent", "--to", store, "--watch", traces,
                               "--spool", self.top / "spool", "--record", "1s/2s", "--grid", "1s"],
                              cwd=self.work, text=True, stderr=subprocess.PIPE,
                              env=harness.environment([], {"XDG_RUNTIME_DIR": str(self.top / "runtime")})
                              ) as agent:
            yield traces / "turns"
            time.sleep(7)
            self.assertIsNone(agent.poll(), agent.poll())
            agent.terminate()
            _, said = agent.communicate(timeout=PATIENCE)
        self.assertEqual(agent.returncode, 0, said)
        yield store

    def test_an_agent_of_a_hostile_process(self):
        self.made = self.own.stat().st_mtime_ns
        for attack in ("mount", "swap", "cut"):
            self.start_dormant(attack, self.own)
        log = self.top / "calls"
        *_, store = self.run_agent(*self.traced(log, "-D"))  # -D: the agent is our child.
        self.assert_untouched()
        self.assert_nothing_is_reached_by_path(log)
        self.assertTrue(store.exists())

    def test_an_agent_does_not_follow_links_among_traces(self):
        """Of another user, to a trace that only root may read."""
        done = self.geiger("run", "--interval", "1", "-o", self.own / "secret.geiger", "--",
                           "/bin/ls")
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue((self.own / "secret.geiger").exists(), done)
        running = self.run_agent()
        turns = next(running)
        for _ in range(PATIENCE * 50):
            if turns.exists():
                break
            time.sleep(0.02)
        self.assertEqual(turns.stat().st_mode & 0o7777, 0o1777)
        link = turns / "ls.1.0.geiger"
        link.symlink_to(self.own / "secret.geiger")
        os.lchown(link, NOBODY, NOBODY)
        below = turns / "below"
        below.symlink_to(self.own)
        os.lchown(below, NOBODY, NOBODY)
        store = next(running)
        self.assertTrue((self.own / "secret.geiger").exists())
        shown = self.geiger("fleet", "top", "--store", store)
        self.assertNotIn("ls", re.findall(r"\w+", shown.stdout), shown)


if __name__ == "__main__":
    unittest.main(verbosity=1)
