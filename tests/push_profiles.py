#!/usr/bin/env python3
"""`geiger push` to Pyroscope and Parca, against servers that take what theirs take.

usage: GEIGER_BUILD_DIR=BUILD push_profiles.py [TEST...]

tests/viewers.py reads the same bodies with decoders of others.
"""
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import harness
from profile_stores import MOST_SAMPLES, Server, fields, samples_in

GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 60  # seconds; only what hangs takes that long
# Allocates by as many stacks as its argument says, two of a level.
STACKS = """
import sys
def left(path, depth):
    return go(path >> 1, depth - 1)
def right(path, depth):
    return go(path >> 1, depth - 1)
def go(path, depth):
    return [bytes(3000)] * 1 + [bytes(5000 + depth)] if depth == 0 else (right if path & 1 else left)(path, depth)
kept = [go(i, 15) for i in range(int(sys.argv[1]))]
"""


class PushProfiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="push-profiles-")
        cls.run_ = os.path.join(cls.directory, "run.geiger")
        cls.record(cls.run_, "300", "4KiB")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    @classmethod
    def record(cls, run, stacks, interval):
        subprocess.run([GEIGER, "run", "-q", "--interval", interval, "--seed", "5", "-o", run, "--",
                        "/usr/bin/python3", "-c", STACKS, stacks], check=True,
                       env=harness.environment([]), timeout=PATIENCE)

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def push(self, scheme, run=None, code=0, **environment):
        done = subprocess.run(
            [GEIGER, "push", "--service", "a shop", "--version", "1.1", "--host", "web-1", "--label",
             "zone=b", run or self.run_, f"{scheme}+{self.server.url}"], capture_output=True,
            text=True, timeout=PATIENCE, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def exported(self):
        """What `geiger export` writes of the run: values added up."""
        path = os.path.join(self.directory, "exported.pb.gz")
        subprocess.run([GEIGER, "export", "pprof", "-f", "-o", path, self.run_], check=True, timeout=PATIENCE)
        with gzip.open(path) as file:
            return samples_in(file.read())[1]

    def test_pyroscope(self):
        token = os.path.join(self.directory, "token")
        with open(token, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("a-token-of-some-length\n")
        before = time.time()
        self.push("pyroscope", GEIGER_TOKEN_FILE=token)
        ((query, parts, authorization),) = self.server.taken
        self.assertEqual(query["name"], ["a shop{version=1.1,host=web-1,zone=b}"])
        self.assertEqual(query["format"], ["pprof"])
        self.assertLess(int(query["from"][0]), int(query["until"][0]))
        self.assertLess(int(query["until"][0]), before + PATIENCE)
        self.assertEqual(authorization, "Bearer a-token-of-some-length")
        config = json.loads(parts["sample_type_config"])
        self.assertEqual(config["alloc_space"],
                         {"units": "bytes", "aggregation": "sum", "sampled": False})
        self.assertEqual(config["inuse_space"]["aggregation"], "average")
        count, sums, texts = samples_in(gzip.decompress(parts["profile"]))
        self.assertGreater(count, 10)
        self.assertEqual(sums[:4], self.exported()[:4])
        self.assertNotIn("[stacks not distinguished]", texts)

    def test_pyroscopes_limits(self):
        """More stacks than it takes: totals stay."""
        run = os.path.join(self.directory, "large.geiger")
        self.record(run, "20000", "64")
        told = self.push("pyroscope", run)
        self.assertIn("sent to", told)
        ((_, parts, _),) = self.server.taken
        count, sums, texts = samples_in(gzip.decompress(parts["profile"]))
        self.assertIn("[stacks not distinguished]", texts)
        self.assertLessEqual(count, MOST_SAMPLES)
        total = json.loads(subprocess.run([GEIGER, "table", "--json", "--top", "1", run], check=True,
                                          capture_output=True, timeout=PATIENCE).stdout)
        self.assertAlmostEqual(sums[1] / total["total"]["bytes"]["value"], 1, delta=1e-6)

    def test_what_is_too_old_is_told(self):
        # By the server's clock: it is two hours later there.
        with unittest.mock.patch("time.time", return_value=time.time() + 7200):
            self.assertIn("422 profile with timestamp out of ingestion window",
                          self.push("pyroscope", code=1))

    def test_parca(self):
        self.push("parca")
        (message,) = self.server.taken
        request = list(fields(message))
        (series,) = [value for field, value in request if field == 2]
        self.assertEqual([value for field, value in request if field == 3], [0])
        labels, sample = [value for _, value in fields(series)]
        named = [tuple(text.decode() for _, text in fields(label)) for _, label in fields(labels)]
        self.assertEqual(named, [("__name__", "geiger"), ("job", "a shop"), ("version", "1.1"),
                                 ("instance", "web-1"), ("zone", "b")])
        ((field, pprof),) = fields(sample)
        self.assertEqual(field, 1)
        self.assertEqual(samples_in(gzip.decompress(pprof))[1], self.exported())

    def test_parcas_refusals_come_with_status_200(self):
        self.server.refuses = "failed to parse profile"
        self.assertIn("not taken: failed to parse profile", self.push("parca", code=1))

    def test_urls(self):
        for url, code, why in (("nosuch+https://a/", 2, "pyroscope+https://HOST/PATH"),
                               ("pyroscope+http://a.example/", 1, "http:// is for this host only"),
                               ("parca+https://me:secret@a.example/", 1, "must not contain secrets")):
            done = subprocess.run([GEIGER, "push", self.run_, url], capture_output=True, text=True,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertRegex(done.stderr, re.escape(why))
        done = subprocess.run([GEIGER, "agent", "--once", "--watch", self.directory, "--spool",
                               os.path.join(self.directory, "spool"), "--to", "parca+https://a/"],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("use 'geiger push'", done.stderr)


if __name__ == "__main__":
    unittest.main()
