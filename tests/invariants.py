#!/usr/bin/env python3
"""Runs hosts under a runtime that walks over its tables every few samples.

The library aborts with the name of what does not hold (src/runtime/capture/invariants.h),
so each host must do as it does bare, and its traces must be whole.
"""
import pathlib
import subprocess
import tempfile
import unittest

import harness
import trace_reader

LIBRARY = harness.BUILD / "hosts" / "libgeiger-preload-checked.so"
HOSTS = {
    "loops": ("loops", ["malloc+realloc+free", "3000"]),
    "loops_new": ("loops", ["new+delete_sized", "3000"]),
    "lifetimes": ("lifetimes", []),
    "truth": ("truth", []),
    "changes": ("changes", ["before"]),
}
MODES = {"plain": {}, "aggregated": {"GEIGER_MODE": "aggregate"},
         "thinned": {"GEIGER_LIVE": "1024"}, "segments": {"GEIGER_SEGMENT": "65536"}}


class Invariants(unittest.TestCase):
    def run_host(self, name, arguments, settings):
        command = [harness.host(name), *arguments]
        bare = subprocess.run(command, capture_output=True, timeout=300)
        with tempfile.TemporaryDirectory() as directory:
            env = harness.environment([LIBRARY], {"GEIGER_DIR": directory, "GEIGER_SEED": "1",
                                                  "GEIGER_INTERVAL": "512", **settings})
            checked = subprocess.run(command, capture_output=True, timeout=300, env=env)
            self.assertEqual((checked.returncode, checked.stderr), (bare.returncode, bare.stderr))
            traces = sorted(pathlib.Path(directory).iterdir())
            self.assertTrue(traces)
            self.assertGreater(sum(path.stat().st_size for path in traces), 8192)

    def test_hosts(self):
        for label, (name, arguments) in HOSTS.items():
            for mode, settings in MODES.items():
                with self.subTest(host=label, mode=mode):
                    self.run_host(name, arguments, settings)


if __name__ == "__main__":
    unittest.main()
