#!/usr/bin/env python3
"""Hostile surroundings: a program must not differ with the runtime, whatever lies about.

The host programs are those of the battery; here it is what is round them that is odd:
file systems, links planted where the trace would go, no /proc, scarce limits from the
first instruction, other preloads, an auditor of the loader, privileged programs.  What
needs root is skipped, with the reason, where it is not permitted.
"""
import os
import pathlib
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import trace_reader

INTERVALS = (4096, 512 * harness.KIB)
COMMAND = [harness.host("edges"), "reallocs"]
MUCH = [harness.host("edges"), "properties"]  # some MiB of trace at interval 1


def can_unshare():
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "-m", "true"], capture_output=True).returncode == 0


class Surroundings(harness.ProcessTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="surroundings-")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def compare(self, command=None, intervals=INTERVALS, traces=None, env=None, **options):
        """Bare and at every interval; returns the last run."""
        command = command or COMMAND
        bare = harness.run_bare(command, env=env, **options)
        for interval in intervals:
            recorded = harness.record(command, interval, env=env, **options)
            self.assert_same_outcome(bare, recorded.outcome, f"{command} at {interval}")
            if traces is not None:
                self.assertEqual(len(recorded.paths) > 0, traces, f"{command} at {interval}")
        return recorded

    def in_mounts(self, preparation, command=None, traces_in=None, interval=4096):
        """Runs in a mount namespace prepared by a shell script, bare and preloaded."""
        if not can_unshare():
            self.skipTest("mount namespaces are not permitted")
        command = command or COMMAND
        target = traces_in or self.directory
        outcomes = []
        for preload in ("", f"LD_PRELOAD={harness.preload_library()}"):
            script = f"{preparation}\nexec env {preload} \"$@\""
            outcomes.append(harness.run_bare(
                ["unshare", "-m", "sh", "-ec", script, "sh", *command],
                env={"GEIGER_DIR": str(target), "GEIGER_INTERVAL": str(interval),
                     "GEIGER_SEED": "1"}))
        self.assert_same_outcome(*outcomes, preparation)
        return outcomes[1]


class FileSystems(Surroundings):
    def test_tiny(self):
        """From too small for a file to room for a few records."""
        if not can_unshare():
            self.skipTest("mount namespaces are not permitted")
        for size in ("4k", "8k", "64k", "252k", "256k", "260k", "264k", "300k", "1m", "2m"):
            with self.subTest(size=size):
                place = os.path.join(self.directory, f"tiny-{size}")
                out = os.path.join(self.directory, f"out-{size}")
                os.mkdir(place)
                os.mkdir(out)
                script = (f"mount -t tmpfs -o size={size} none {place}\n"
                          "status=0\nenv $PRELOAD \"$@\" || status=$?\n"
                          f"cp -a --sparse=always {place}/. {out}\nexit $status")
                bare, recorded = (harness.run_bare(
                    ["unshare", "-m", "sh", "-ec", script, "sh", *MUCH],
                    env={"GEIGER_DIR": place, "GEIGER_INTERVAL": "1", "PRELOAD": preload})
                    for preload in ("", f"LD_PRELOAD={harness.preload_library()}"))
                self.assert_same_outcome(bare, recorded, size)
                self.check_left(out, size)

    def check_left(self, out, size):
        """What a full file system holds can be read, and says what is missing."""
        for path in pathlib.Path(out).glob("*.geiger"):
            if path.stat().st_size == 0:
                continue
            trace = trace_reader.read(path)
            self.assertIn(trace.header.stop_reason, (2, 3), size)
            self.assertEqual(trace.header.stop_errno, 28, size)
            self.assertGreater(trace.drops()["trace_full"], 0, size)
            self.assertGreater(len(trace.samples), 100, size)

    def test_read_only(self):
        place = os.path.join(self.directory, "ro")
        os.mkdir(place)
        self.in_mounts(f"mount -t tmpfs -o ro none {place}", traces_in=place)
        self.assertEqual(os.listdir(place), [])

    def test_read_only_root(self):
        self.in_mounts("mount -o remount,bind,ro / || mount -o remount,ro /")

    def test_without_proc(self):
        self.in_mounts("mount -t tmpfs none /proc")
        self.assertTrue(list(pathlib.Path(self.directory).glob("*.geiger")))

    def test_without_dev_and_tmp(self):
        for place in ("/dev/shm", "/dev"):
            self.in_mounts(f"mount -t tmpfs -o size=4k none {place}")

    def test_directory_goes_away(self):
        place = os.path.join(self.directory, "gone")
        shell = ["sh", "-c", f"rm -rf {place}; exec \"$@\"", "sh", *COMMAND]
        bare = harness.run_bare(shell)
        os.mkdir(place)
        self.assert_same_outcome(bare, harness.run_bare(
            shell, [harness.preload_library()], {"GEIGER_DIR": place}))

    def test_immutable_overlay(self):
        """An overlay, as containers have: shared writable mappings work there."""
        script = (f"d={self.directory}; mkdir -p $d/l $d/u $d/w $d/m; "
                  "mount -t tmpfs none $d/u; mkdir $d/u/u $d/u/w; "
                  "mount -t overlay overlay -o lowerdir=$d/l,upperdir=$d/u/u,workdir=$d/u/w $d/m")
        self.in_mounts(script, traces_in=os.path.join(self.directory, "m"))


class Planted(Surroundings):
    """Something already has the name that the trace would get."""

    def planted(self, plant, interval=4096):
        victim = os.path.join(self.directory, "victim")
        with open(victim, "w", encoding="ascii") as file:
            file.write("precious\n")
        traces = os.path.join(self.directory, "traces")
        os.mkdir(traces)
        script = (f"cd {traces}; name=edges.$$.0.geiger; {plant.format(victim=victim)}; cd /; "
                  f"export GEIGER_DIR={traces} GEIGER_INTERVAL={interval}; "
                  f"export LD_PRELOAD={harness.preload_library()}; exec \"$@\"")
        bare = harness.run_bare(COMMAND)
        self.assert_same_outcome(bare, harness.run_bare(["sh", "-ec", script, "sh", *COMMAND]),
                                 plant)
        with open(victim, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious\n")
        path, = pathlib.Path(traces).glob("edges.*.1.geiger")
        mode = path.lstat().st_mode
        self.assertTrue(stat.S_ISREG(mode) and stat.S_IMODE(mode) == 0o600)
        trace_reader.read(path).check()

    def test_link_to_a_file(self):
        self.planted("ln -s {victim} $name")

    def test_hard_link(self):
        self.planted("ln {victim} $name")

    def test_dangling_link(self):
        self.planted("ln -s {victim}.absent $name")
        self.assertFalse(os.path.exists(os.path.join(self.directory, "victim.absent")))

    def test_pipe(self):
        self.planted("mkfifo $name")

    def test_directory(self):
        self.planted("mkdir $name")

    def test_link_to_the_terminal(self):
        self.planted("ln -s /dev/tty $name")


class Limits(Surroundings):
    """Scarce from the first instruction: before the loader maps the runtime."""

    def limited(self, kind, value, command=None, traces=None):
        self.compare(command, traces=traces,
                     preexec_fn=lambda: resource.setrlimit(kind, (value, value)))

    def test_file_size(self):
        for value in (0, 4096, 255 * harness.KIB, 256 * harness.KIB, harness.MIB):
            with self.subTest(value=value):
                self.limited(resource.RLIMIT_FSIZE, value, ["/usr/bin/perl", "-e", "print 1..9999"],
                             traces=value >= 256 * harness.KIB)

    def test_descriptors(self):
        for value in (4, 5, 8):
            with self.subTest(value=value):
                self.limited(resource.RLIMIT_NOFILE, value)

    def test_address_space(self):
        for value in (24, 48, 128, 512):
            with self.subTest(mib=value):
                self.limited(resource.RLIMIT_AS, value * harness.MIB, ["/bin/sh", "-c", "echo $(("
                             "6 * 7)); ls / | wc -l"])

    def test_processes(self):
        self.limited(resource.RLIMIT_NPROC, 1)

    def test_data(self):
        self.limited(resource.RLIMIT_DATA, 16 * harness.MIB)

    def test_stack(self):
        self.limited(resource.RLIMIT_STACK, 256 * harness.KIB)

    def test_locked(self):
        self.limited(resource.RLIMIT_MEMLOCK, 0)

    def test_core(self):
        self.limited(resource.RLIMIT_CORE, 0)

    def test_sigxfsz_ignored(self):
        import signal
        self.compare(preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))


class Descriptors(Surroundings):
    def test_closed(self):
        show = ("import os\nfor fd in range(0, 20):\n  try: os.fstat(fd); "
                "os.write(9, b'%d ' % fd)\n  except OSError: pass")
        for closed in ("", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            seen = []
            for preloads in ([], [harness.preload_library()]):
                result = os.path.join(self.directory, "fds")
                harness.run_bare(
                    ["bash", "-c", f'"$0" -c "$1" 9>{result} {closed}', sys.executable, show],
                    preloads, {"GEIGER_DIR": self.directory, "GEIGER_INTERVAL": "4096"})
                seen.append(pathlib.Path(result).read_bytes())
            self.assertEqual(*seen, closed)

    def test_first_descriptor_is_the_same(self):
        for interval in INTERVALS:
            self.compare(["bash", "-c", "exec 3</dev/null; ls -l /proc/self/fd | wc -l; "
                          "sh -c 'ls /proc/self/fd'"], [interval])


class Loader(Surroundings):
    def test_bind_now(self):
        self.compare(env={"LD_BIND_NOW": "1"}, traces=True)

    def test_auditor(self):
        audit = harness.host("libaudit.so")
        self.compare(env={"LD_AUDIT": audit}, traces=True)
        self.compare([harness.host("loading"), "plugins"], env={"LD_AUDIT": audit}, traces=True)

    def test_bind_not(self):
        self.compare(["/bin/ls", "/"], env={"LD_BIND_NOT": "1"}, traces=True)

    def test_by_the_loader_itself(self):
        self.compare(["/lib64/ld-linux-x86-64.so.2", *COMMAND], traces=True)

    def test_huge_environment(self):
        self.compare(env={f"FILLER_{i}": "x" * 4000 for i in range(200)}, traces=True)

    def test_empty_argv0(self):
        script = ("import os, sys; os.execve(sys.argv[1], [''] + sys.argv[2:], "
                  "dict(os.environ))")
        self.compare([sys.executable, "-c", script, *COMMAND], traces=True)

    def test_two_preloads(self):
        perl = ["/usr/bin/perl", "-e", "print join(q(,), map { $_ * $_ } 1..20000); "
                "open(F, '>', 'out'); print F time() - time(); close F"]
        for name in ("libeatmydata.so", "faketime/libfaketime.so.1",
                     "faketime/libfaketimeMT.so.1"):
            library = harness.LIBRARIES / name
            if not library.exists():
                self.skipTest(f"{name} is not installed")
            env = {"FAKETIME": "@2020-02-02 02:02:02"}
            with tempfile.TemporaryDirectory() as cwd:
                bare = harness.run_bare(perl, [library], env, cwd=cwd)
                for order in ([library, harness.preload_library()],
                              [harness.preload_library(), library]):
                    with self.subTest(order=order):
                        self.assert_same_outcome(bare, harness.run_bare(
                            perl, order, {**env, "GEIGER_DIR": self.directory,
                                          "GEIGER_INTERVAL": "4096"}, cwd=cwd), name)


    def test_faked_time(self):
        """The program lives sixty times as fast; its recording must not."""
        faketime = harness.LIBRARIES / "faketime" / "libfaketime.so.1"
        if not faketime.exists():
            self.skipTest("faketime is not installed")
        env = {"FAKETIME": "@2020-02-02 02:02:02 x60"}
        command = [harness.host("processes"), "spawns"]
        bare = harness.run_bare(command, [faketime], env)
        for order in ([faketime], []):
            with harness.Recorder(1, behind=[] if order else [faketime], env=env) as recorder:
                recorder.preloads = order + recorder.preloads
                begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                recorded = recorder.run(command)
                ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                self.assert_same_outcome(bare, recorded.outcome, "faketime")
                self.assertTrue(recorded.of("processes"))
                for trace in recorded.of("processes"):
                    self.assertGreater(trace.header.start_monotonic, begun)
                    self.assertLess(trace.header.stop_monotonic, ended)


class Privileged(Surroundings):
    """A program that is more than its user: the runtime keeps out."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can make a privileged program")
        self.program = os.path.join(self.directory, "privileged")
        shutil.copy(harness.host("edges"), self.program)
        os.chmod(self.program, 0o4755)
        self.traces = os.path.join(self.directory, "traces")
        os.mkdir(self.traces)
        os.chmod(self.traces, 0o1777)
        self.as_nobody = ["setpriv", "--reuid=65534", "--clear-groups", self.program, "properties"]

    def test_setuid(self):
        bare = harness.run_bare(self.as_nobody)
        self.assert_same_outcome(bare, harness.run_bare(
            ["env", f"LD_PRELOAD={harness.preload_library()}", *self.as_nobody],
            env={"GEIGER_DIR": self.traces, "GEIGER_INTERVAL": "4096"}))
        self.assertFalse([name for name in os.listdir(self.traces) if "privileged" in name])

    def test_setuid_and_preloaded_for_all(self):
        """By /etc/ld.so.preload the library is loaded even there: it must stay inert."""
        if not can_unshare():
            self.skipTest("mount namespaces are not permitted")
        script = (f"d={self.directory}; mkdir $d/o; mount -t tmpfs none $d/o; mkdir $d/o/u $d/o/w; "
                  "mount -t overlay overlay -o lowerdir=/etc,upperdir=$d/o/u,workdir=$d/o/w /etc; "
                  f"echo {harness.preload_library()} > /etc/ld.so.preload; exec \"$@\"")
        bare = harness.run_bare(self.as_nobody)
        env = {"GEIGER_DIR": self.traces, "GEIGER_INTERVAL": "4096"}
        inside = ["unshare", "-m", "sh", "-ec", script, "sh"]
        self.assert_same_outcome(bare, harness.run_bare([*inside, *self.as_nobody], env=env))
        left = os.listdir(self.traces)
        self.assertFalse([name for name in left if "privileged" in name])
        self.assertTrue([name for name in left if "setpriv" in name])


if __name__ == "__main__":
    unittest.main()
