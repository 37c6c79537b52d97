"""A store with the runs of four hosts for each of four versions, for the tests of `geiger fleet`.

Takes the paths of geiger and of the host `changes` from the command line. Everything is sent twice.
Seeds are fixed, so the samples are the same every time.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
CHANGES = os.path.abspath(sys.argv.pop(1))
HOSTS = 4
# Sums are formed in another order than from the traces.
CLOSE = 1e-9


def geiger(*words, cwd, **environment):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run([GEIGER, *words], cwd=cwd, env=env, capture_output=True, timeout=300)


class FleetStore(unittest.TestCase):
    """The store is fleet.db in the folder `here`, beside the runs, unless a class has another one."""
    store = "fleet.db"

    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-fleet-")
        for number, version in enumerate(("plain", "reserve", "again", "leak")):
            program = "plain" if version == "again" else version
            for host in range(HOSTS):
                run = f"{version}{host}.geiger"
                done = geiger("run", "-q", "--interval", "4KiB", "--seed", str(100 * number + host + 1),
                              "-o", run, "--", CHANGES, program, cwd=cls.here)
                assert done.returncode == 0, done
                for _ in range(2):
                    done = geiger("push", "--service", "shop", "--version", version, "--host",
                                  f"web-{host}", "--label", f"zone={host % 2}", run, cls.store,
                                  cwd=cls.here)
                    assert done.returncode == 0 and done.stdout == b"", done

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def geiger(self, *words, code=0):
        done = geiger(*words, cwd=self.here, GEIGER_STORE=self.store)
        self.assertEqual(done.returncode, code, done)
        return done.stdout.decode()

    def refused(self, *words, code, **environment):
        done = geiger(*words, cwd=self.here, **environment)
        self.assertEqual((done.returncode, done.stdout), (code, b""), done)
        return done.stderr.decode()

    def json(self, *words, code=0):
        return json.loads(self.geiger(*words, "--json", code=code))

    def runs(self, version):
        return [f"{version}{host}.geiger" for host in range(HOSTS)]

    def assert_alike(self, one, other, path=""):
        """Numbers to CLOSE, all else exactly."""
        if isinstance(one, float) or isinstance(other, float):
            self.assertAlmostEqual(one, other, delta=CLOSE * max(1, abs(one)), msg=path)
        elif isinstance(one, dict):
            self.assertEqual(one.keys(), other.keys(), path)
            for key in one:
                self.assert_alike(one[key], other[key], f"{path}.{key}")
        elif isinstance(one, list):
            self.assertEqual(len(one), len(other), path)
            for number, (a, b) in enumerate(zip(one, other)):
                self.assert_alike(a, b, f"{path}[{number}]")
        else:
            self.assertEqual(one, other, path)

    def copy(self, name, *statements):
        """Another store with the same contents, changed; its name."""
        with sqlite3.connect(os.path.join(self.here, "fleet.db")) as store, \
                sqlite3.connect(os.path.join(self.here, name)) as other:
            store.backup(other)
            for statement in statements:
                other.execute(statement)
        return name
