#!/usr/bin/env python3
"""What docs/guide/security.md claims about the recording side, claim by claim.

usage: security.py GEIGER     with GEIGER_BUILD_DIR in the environment
"""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import harness

GEIGER = os.path.abspath(sys.argv.pop(1))
# Allocates a megabyte in a thousand pieces, whatever its arguments.
PROGRAM = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 1000; ++i) " \
          "*(char* volatile*)malloc(sizeof(char*)) = malloc(1024); return 0; }\n"
SECRETS = [b"argument-c0ffee", b"variable-c0ffee", b"contents-c0ffee"]
NOBODY = 65534


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class Security(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.mkdtemp(prefix="geiger-security-")
        os.chmod(self.here, 0o755)
        self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.here, *names)

    def program(self, name, *flags):
        source = self.path("program.c")
        pathlib.Path(source).write_text(PROGRAM, encoding="ascii")
        subprocess.run(["gcc", "-O0", "-fno-builtin", source, "-o", self.path(name), *flags],
                       check=True)
        return self.path(name)

    def geiger_run(self, *words, **options):
        return subprocess.run([GEIGER, "run", "-q", *words], cwd=self.here, capture_output=True,
                              timeout=120, check=False, **options)

    def traces(self, directory):
        return [path for path in pathlib.Path(directory).rglob("*.geiger") if path.is_file()]


class Files(Security):
    def test_only_the_owner_may_read_whatever_the_umask(self):
        program = self.program("program")
        done = self.geiger_run("--interval", "1KiB", "--", program, umask=0)
        self.assertEqual(done.returncode, 0, done)
        directories = [name for name in os.listdir(self.here) if name.startswith("geiger-program")]
        self.assertEqual(len(directories), 1)
        self.assertEqual(mode_of(self.path(directories[0])), 0o700)
        traces = self.traces(self.path(directories[0]))
        self.assertTrue(traces)
        for trace in traces:
            self.assertEqual(mode_of(trace), 0o600, trace)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody whom modes bind")
    def test_the_owner_does_not_cut_it_by_accident_while_it_is_written(self):
        """A shell tries on its own trace, which would end it by SIGBUS."""
        script = ("for i in 1 2 3 4 5 6 7 8 9; do f=$(ls geiger-*/sh.$$.0.geiger); "
                  "[ -w $f ] && sleep 0.2; done; (: > $f) || echo kept; truncate -s 0 $f || "
                  "echo kept; cp /dev/null $f || echo kept; chmod 400 $f; echo on")
        os.chown(self.here, NOBODY, NOBODY)
        done = self.geiger_run("--interval", "1", "--", "sh", "-c", script, user=NOBODY,
                               group=NOBODY, extra_groups=[], env={"PATH": os.environ["PATH"]})
        self.assertEqual((done.returncode, done.stdout), (0, b"kept\nkept\nkept\non\n"), done)
        traces = self.traces(self.here)
        self.assertEqual({mode_of(trace) for trace in traces}, {0o600})
        subprocess.run([GEIGER, "summary", traces[0]], check=True, capture_output=True)

    def test_a_packed_run_is_as_private(self):
        program = self.program("program")
        self.geiger_run("--interval", "1KiB", "-o", "a.geiger", "--", program, umask=0)
        self.assertEqual(mode_of(self.path("a.geiger")), 0o600)
        subprocess.run([GEIGER, "symbolize", "a.geiger"], cwd=self.here, check=True,
                       capture_output=True, umask=0)
        self.assertEqual(mode_of(self.path("a.geiger")), 0o600)

    def test_the_runtime_alone_is_as_private(self):
        with harness.Recorder(1024) as recorder:
            recorded = recorder.run([self.program("program")], umask=0)
            self.assertTrue(recorded.paths)
            for path in recorded.paths:
                self.assertEqual(mode_of(path), 0o600)

    def test_a_planted_link_is_not_followed(self):
        program = self.program("program")
        victim = self.path("victim")
        for planted in ("file", "link to a file", "link to nothing"):
            pathlib.Path(victim).write_text("precious", encoding="ascii")
            with harness.Recorder(1024) as recorder:
                def plant(directory=recorder.directory, planted=planted):
                    # The name that the program's first trace would get (its own pid).
                    name = f"{directory}/program.{os.getpid()}.0.geiger"
                    if planted == "file":
                        pathlib.Path(name).write_text("mine", encoding="ascii")
                    else:
                        os.symlink(victim if planted.endswith("a file") else victim + ".new", name)
                outcome = harness.finish(
                    recorder.start([program], preexec_fn=plant), None, 60)
                self.assertEqual(outcome.status, 0, planted)
                left = os.listdir(recorder.directory)
                self.assertTrue(any(name.endswith(".1.geiger") for name in left), left)
            self.assertEqual(pathlib.Path(victim).read_text(encoding="ascii"), "precious")
            self.assertFalse(os.path.exists(victim + ".new"))

    def test_a_directory_of_somebody_else_is_not_used(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make one")
        program = self.program("program")
        os.mkdir(self.path("a.geiger.parts"), 0o777)
        os.chown(self.path("a.geiger.parts"), NOBODY, NOBODY)
        done = self.geiger_run("-f", "-o", "a.geiger", "--", program)
        self.assertIn(b"is owned by another user", done.stderr)
        self.assertEqual(os.listdir(self.path("a.geiger.parts")), [])


class Privilege(Security):
    def test_a_setuid_program_is_not_recorded(self):
        """Linked against the runtime, so that the loader's own refusal does not help."""
        if os.geteuid() != 0:
            self.skipTest("needs another user to be set")
        library = str(harness.preload_library())
        program = self.program("program", "-Wl,--no-as-needed", library,
                               f"-Wl,-rpath,{os.path.dirname(library)}")
        traces = self.path("traces")
        os.mkdir(traces)
        os.chmod(traces, 0o777)
        env = {**os.environ, "GEIGER_DIR": traces, "GEIGER_INTERVAL": "1024"}
        env.pop("LD_PRELOAD", None)
        # The other user must reach the library.
        reachable = all(os.stat(parent).st_mode & 0o001 for parent in
                        [pathlib.Path(library).parent, *pathlib.Path(library).parents])
        if not reachable:
            self.skipTest("the build directory is private")
        subprocess.run([program], env=env, check=True)
        self.assertEqual(len(self.traces(traces)), 1, "the way of recording works at all")
        os.chown(program, NOBODY, NOBODY)
        os.chmod(program, 0o4755)
        subprocess.run([program], env=env, check=True)
        self.assertEqual(len(self.traces(traces)), 1, "a trace of a setuid program")


class Contents(Security):
    def test_no_arguments_no_environment_no_contents(self):
        source = PROGRAM.replace("return 0", "strcpy(malloc(4096), getenv(\"PIECES\")); return 0")
        source = "#include <string.h>\n" + source
        pathlib.Path(self.path("program.c")).write_text(source, encoding="ascii")
        subprocess.run(["gcc", "-O0", "-fno-builtin", self.path("program.c"), "-o",
                        self.path("program")], check=True)
        argument, variable, contents = (secret.decode() for secret in SECRETS)
        env = {**os.environ, "TOKEN": variable, "PIECES": contents}
        done = self.geiger_run("--interval", "1", "-o", "a.geiger", "--", self.path("program"),
                               argument, env=env)
        self.assertEqual(done.returncode, 0, done)
        trace = pathlib.Path(self.path("a.geiger")).read_bytes()
        self.assertIn(b"program", trace)
        for secret in SECRETS:
            self.assertNotIn(secret, trace)
        for report in (["summary", "--json"], ["doctor", "--json"], ["export", "sql"]):
            done = subprocess.run([GEIGER, *report, "a.geiger"], cwd=self.here,
                                  capture_output=True, check=False)
            for secret in SECRETS:
                self.assertNotIn(secret, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
