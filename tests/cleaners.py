#!/usr/bin/env python3
"""Traces that others delete, move or empty while they are written: the program must not notice, and
`geiger run` must say what is missing."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import harness

PATIENCE = 60  # seconds; only a hang takes that long
GEIGER = str(harness.BUILD / "bin" / "geiger")
# Allocates until a line comes, as does a child that it forks.
PROGRAM = """
import os, select, sys
child = os.fork()
os.write(1, b"%d\\n" % os.getpid())  # Whole, beside the other's.
while not select.select([sys.stdin], [], [], .01)[0]:
    kept = [bytearray(1000 + i) for i in range(500)]
if child:
    os.waitpid(child, 0)
    print("done", flush=True)
"""


class Cleaners(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)

    def traces(self):
        return sorted(self.directory.glob("*/*.geiger"))

    def watched(self):
        """The processes whose traces `geiger run` feeds."""
        return {trace.name.split(".")[-3] for trace in self.traces()
                if trace.exists() and trace.stat().st_mode & 0o777 == 0o400}

    def run_while(self, clean, *options):
        """What geiger says of a run whose traces `clean` is given while they grow."""
        process = subprocess.Popen(
            [GEIGER, "run", "--no-symbolize", *options, "--",
             sys.executable, "-c", PROGRAM], cwd=self.directory, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        pids = {process.stdout.readline().strip(), process.stdout.readline().strip()}
        end = time.monotonic() + PATIENCE
        while not pids <= self.watched():
            self.assertLess(time.monotonic(), end, [(trace.name, oct(trace.stat().st_mode))
                                                    for trace in self.traces()] + [pids])
            self.assertIsNone(process.poll())
            time.sleep(.01)
        clean(self.traces())
        output, said = process.communicate("\n", timeout=60)
        self.assertEqual((process.returncode, output), (0, "done\n"), said)
        return said

    def told(self, verb, run):
        done = subprocess.run([GEIGER, verb, run], cwd=self.directory, capture_output=True,
                              text=True, check=False)
        return done.stdout + done.stderr

    def test_a_deleted_trace(self):
        deleted = []

        def clean(traces):
            deleted.append(traces[-1].name)
            traces[-1].unlink()
        said = self.run_while(clean)
        self.assertIn(f"1 trace was deleted or moved while the program ran: {deleted[0]}", said)
        run = next(self.directory.glob("geiger-*")).name
        for verb in ("summary", "doctor"):
            self.assertRegex(self.told(verb, run), "not recorded: .* was deleted or emptied")

    def test_all_traces_deleted(self):
        said = self.run_while(lambda traces: [trace.unlink() for trace in traces])
        self.assertIn("traces were deleted or moved while the program ran: ", said)
        self.assertNotIn("loaded no runtime", said)

    def test_a_moved_directory(self):
        said = self.run_while(lambda traces: traces[0].parent.rename(self.directory / "moved"))
        self.assertIn(f"the run directory was moved to {self.directory}/moved: 'geiger symbolize ",
                      said)
        self.assertNotIn("loaded no runtime", said)
        self.told("symbolize", "moved")
        self.assertIn("Processes", self.told("summary", "moved"))
        self.assertLess(max(os.stat(trace).st_size for trace in self.traces()), 100 * harness.MIB)

    def test_rotation_is_no_loss(self):
        def wait_for_rotation(_):
            while not any(trace.name.endswith(".4.geiger") for trace in self.traces()):
                time.sleep(.01)
        said = self.run_while(wait_for_rotation, "--interval", "256", "--segments", "1MiB,2")
        self.assertNotIn("deleted or moved", said)

    def rotate(self, *directives, prefix=()):
        """The run's directory as logrotate leaves it, for run_while(); what logrotate said."""
        harness.require("logrotate")
        said = []

        def clean(traces):
            rules = self.directory / "rules"
            rules.write_text("\n".join([f"{traces[0].parent}/*.geiger {{", "su root root", "rotate 3",
                                        *directives, "}\n"]))
            done = subprocess.run([*prefix, "logrotate", "-f", "-s", self.directory / "state", rules],
                                  capture_output=True, text=True, check=False)
            said.append(done.stderr)
        return clean, said

    @unittest.skipUnless(os.geteuid() == 0, "logrotate's 'su' needs root")
    def test_logrotate_create(self):
        """The rotated files are the traces, and complete."""
        clean, _ = self.rotate("create")
        said = self.run_while(clean)
        self.assertRegex(said, "2 traces were deleted or moved while the program ran: ")
        self.assertRegex(said, "2 traces were renamed while the program ran: "
                         "'geiger symbolize .*geiger.1'")
        rotated = list(self.directory.glob("*/*.geiger.1"))
        self.assertEqual(len(rotated), 2)
        for trace in rotated:
            self.told("symbolize", trace)
            self.assertLess(trace.stat().st_size, 100 * harness.MIB)
            self.assertIn("exited after", self.told("summary", trace))

    @unittest.skipUnless(os.geteuid() == 0, "logrotate's 'su' needs root")
    def test_logrotate_compress(self):
        """What was written until then remains in the compressed files."""
        clean, _ = self.rotate("create", "compress")
        said = self.run_while(clean, "--trace-limit", "64MiB")
        self.assertRegex(said, "2 traces were deleted or moved while the program ran: ")
        self.assertNotIn("another name", said)
        for packed in self.directory.glob("*/*.geiger.1.gz"):
            subprocess.run(["gunzip", packed], check=True)
            self.assertIn("samples", self.told("summary", packed.with_suffix("")))

    @unittest.skipUnless(os.geteuid() == 0, "logrotate's 'su' needs root")
    def test_logrotate_copies(self):
        clean, _ = self.rotate("copy")
        said = self.run_while(clean, "--trace-limit", "64MiB")
        self.assertNotIn("deleted or moved", said)
        self.assertIn("Processes", self.told("summary", next(self.directory.glob("geiger-*"))))

    @unittest.skipUnless(os.geteuid() == 0, "logrotate's 'su' needs root")
    def test_logrotate_copytruncate_of_the_owner(self):
        """Root without the right to ignore modes is an owner like others."""
        harness.require("setpriv")
        clean, refused = self.rotate("copytruncate", prefix=[
            "setpriv", "--bounding-set=-dac_override,-dac_read_search"])
        said = self.run_while(clean, "--trace-limit", "64MiB")
        self.assertIn("Permission denied", refused[0])
        self.assertNotIn("deleted or moved", said)
        self.assertIn("Processes", self.told("summary", next(self.directory.glob("geiger-*"))))

    def test_few_descriptors(self):
        """The program has the limit that it would have; geiger has what it may."""
        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(
                resource.RLIMIT_NOFILE)[1]))
        done = subprocess.run([GEIGER, "run", "-q", "--", "sh", "-c", "seq 9 | sort >&2; ulimit -Sn"],
                              cwd=self.directory, capture_output=True, text=True, check=True,
                              preexec_fn=lower)
        self.assertEqual(done.stdout, "40\n")

        def lower_both():
            resource.setrlimit(resource.RLIMIT_NOFILE, (36, 36))
        script = ("import os\nfor i in range(9):\n  if os.fork() == 0:\n    import time\n"
                  "    x = bytearray(10**6); time.sleep(4); os._exit(0)\n"
                  "for i in range(9): os.wait()")
        done = subprocess.run([GEIGER, "run", "-q", "--", sys.executable, "-c", script],
                              cwd=self.directory, capture_output=True, text=True, check=True,
                              preexec_fn=lower_both)
        self.assertRegex(done.stderr, r"not watched all the time: \d+ traces .* open files is 36")


if __name__ == "__main__":
    unittest.main()
