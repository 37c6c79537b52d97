#!/usr/bin/env python3
"""The runtime in a system with an older C library, Debian 11 with glibc 2.31: programs run as
without it, totals are exact, stacks are whole, and guard mode works.

Skipped where no such tree can be made (root, debootstrap, a mirror).
"""
import shutil
import subprocess
import unittest

import bare_debian
import harness
import trace_reader

RELEASE = "bullseye"
INSIDE = "/opt/libgeiger-preload.so"
PROGRAMS = {
    "hashes": ["perl", "-e", 'my %h; $h{$_} = "x" x ($_ % 300) for 1..20000; print %h ? 1 : 0'],
    "children": ["perl", "-e", 'for (1..5) { if (!fork) { my @a = (1) x 50000; exit 0 } }'
                               ' 1 while wait != -1; print "done"'],
    "packages": ["dpkg", "-l"],
    "threads": ["python3", "-c", """
import threading
def work(i):
    kept.append([str(j) * 20 for j in range(2000)])
kept = []
for _ in range(3):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(len(kept))
"""],
    "shell": ["sh", "-c", "for i in 1 2 3; do ls -lR /usr/share/perl5 | sort | md5sum; done"],
}


def fill(tree):
    bare_debian.run_or_skip("debootstrap", "--variant=minbase",
                              "--include=python3-minimal", RELEASE, tree, bare_debian.MIRROR)
    tree.chmod(0o755)


class OldGlibc(harness.ProcessTest):
    @classmethod
    def setUpClass(cls):
        bare_debian.require()
        cls.root = bare_debian.kept_tree(RELEASE, fill)
        shutil.copy(harness.preload_library(), f"{cls.root}{INSIDE}")
        version = cls.inside(["ldd", "--version"]).stdout.split()[4]
        assert version.startswith(b"2.3"), version

    @classmethod
    def inside(cls, command, env=None):
        words = ["env", "-i", "LC_ALL=C", f"PATH={bare_debian.SYSTEM_PATH}",
                 *(f"{name}={value}" for name, value in (env or {}).items()), *command]
        return subprocess.run(["/usr/sbin/chroot", cls.root, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)

    def record(self, command, **settings):
        traces = self.root / "tmp" / "traces"
        shutil.rmtree(traces, ignore_errors=True)
        traces.mkdir()
        outcome = self.inside(command, {"LD_PRELOAD": INSIDE, "GEIGER_DIR": "/tmp/traces",
                                        "GEIGER_SEED": "1", **settings})
        return outcome, [trace_reader.read(path) for path in traces.glob("*.geiger")]

    def test_programs_run_as_without_it(self):
        for name, command in PROGRAMS.items():
            bare = self.inside(command)
            self.assertEqual(bare.returncode, 0, bare.stderr)
            for settings in ({"GEIGER_INTERVAL": "1"}, {"GEIGER_INTERVAL": "4096"},
                             {"GEIGER_INTERVAL": "4096", "GEIGER_GUARD": "1"}):
                with self.subTest(name, settings=settings):
                    outcome, traces = self.record(command, **settings)
                    self.assertEqual(outcome.stderr, bare.stderr)
                    self.assertEqual((outcome.returncode, outcome.stdout),
                                     (bare.returncode, bare.stdout))
                    self.assertTrue(traces)
                    for trace in traces:
                        trace.check()
                        self.assertEqual(trace.faults, [])
                        self.assertLess(abs(trace.z()), 5)

    def test_ends_of_threads_are_seen(self):
        _, (trace,) = self.record(PROGRAMS["threads"], GEIGER_INTERVAL="4096")
        ended = [thread for thread in trace.threads.values() if thread.end]
        self.assertGreaterEqual(len(ended), 8)

    def test_stacks_are_whole(self):
        """glibc before 2.35 has no look-up of modules that is safe inside malloc."""
        _, (trace,) = self.record(PROGRAMS["hashes"], GEIGER_INTERVAL="4096")
        self.assertGreater(len(trace.samples), 300)
        used = [trace.stacks[sample.stack] for sample in trace.samples]
        cut = sum(stack.truncated for stack in used)
        self.assertLess(cut, len(used) / 20, f"{cut} of {len(used)} stacks are truncated")
        self.assertGreater(sum(len(stack.frames) for stack in used) / len(used), 4)


if __name__ == "__main__":
    unittest.main()
