#!/usr/bin/env python3
"""Extra system calls are bounded: per process and per thread, and none per allocation.

strace counts them for a bare run and a run under the runtime.  At 512 KiB doubling
the number of allocations must not add a single one.
"""
import re
import subprocess
import tempfile
import unittest

import harness

# Opening, sizing and mapping the trace, the tables, the provider; cutting the trace at the end; its processor time.
PER_PROCESS = 40
PER_THREAD = 4
INTERVAL = 512 * harness.KIB


def count(arguments, is_bare):
    """System calls by name, over all threads and children."""
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/strace.out"
        env = {} if is_bare else {
            "GEIGER_DIR": directory, "GEIGER_INTERVAL": str(INTERVAL), "GEIGER_SEED": "1",
            "LD_PRELOAD": str(harness.preload_library())}
        # -E sets the variables for the program alone: strace itself stays bare.
        settings = [word for item in env.items() for word in ("-E", "=".join(item))]
        subprocess.run(["strace", "-f", "-qq", "-o", output, *settings, *arguments], check=True,
                       capture_output=True, env=harness.environment([]))
        calls = {}
        with open(output) as file:
            for line in file:
                match = re.match(r"\d+ +(\w+)\(", line)
                if match:
                    calls[match[1]] = calls.get(match[1], 0) + 1
        return calls


def extra(arguments):
    bare, ours = count(arguments, True), count(arguments, False)
    return {name: ours.get(name, 0) - bare.get(name, 0) for name in {*bare, *ours}
            if ours.get(name, 0) != bare.get(name, 0)}


class SystemCalls(unittest.TestCase):
    def setUp(self):
        harness.require("strace")

    def loop(self, calls, threads=0):
        return extra([harness.host("loops"), "malloc+free", str(calls), str(threads)])

    def test_per_process(self):
        difference = self.loop(100000)
        self.assertLessEqual(sum(difference.values()), PER_PROCESS, difference)

    def test_none_per_allocation(self):
        once = count([harness.host("loops"), "malloc+free", "400000"], False)
        twice = count([harness.host("loops"), "malloc+free", "800000"], False)
        self.assertEqual(once, twice)

    def test_per_thread(self):
        difference = self.loop(400000, 20)
        self.assertLessEqual(sum(difference.values()), PER_PROCESS + 20 * PER_THREAD, difference)

    def test_per_child(self):
        difference = extra([harness.host("processes"), "forks"])
        self.assertLessEqual(sum(difference.values()), PER_PROCESS * 21, difference)

    def test_no_descriptor_is_kept(self):
        calls = count([harness.host("loops"), "malloc+free", "1000"], False)
        bare = count([harness.host("loops"), "malloc+free", "1000"], True)
        opened = calls.get("openat", 0) - bare.get("openat", 0)
        closed = calls.get("close", 0) - bare.get("close", 0)
        self.assertEqual(opened, closed)


if __name__ == "__main__":
    unittest.main()
