"""A real program recorded once, for the tests of the verbs that read its run.

Takes the path of geiger from the command line.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
PROGRAM = ["perl", "-e", 'my %h; $h{$_} = "x" x ($_ % 300) for 1..20000; print scalar(keys %h)']


def geiger(*words, cwd, **environment):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run([GEIGER, *words], cwd=cwd, env=env, capture_output=True, timeout=300)


class RecordedProgram(unittest.TestCase):
    """The run is a.geiger in the folder `here`."""

    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-verbs-")
        run = geiger("run", "-q", "--interval", "1KiB", "--seed", "7", "-o", "a.geiger", "--",
                     *PROGRAM, cwd=cls.here)
        assert run.returncode == 0 and run.stdout == b"20000", run

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def geiger(self, *words, code=0, **environment):
        done = geiger(*words, cwd=self.here, **environment)
        self.assertEqual(done.returncode, code, done)
        self.assertNotRegex(done.stdout.decode(), r"\b(nan|inf)\b")
        return done.stdout.decode()
