#!/usr/bin/env python3
"""Each allocation is counted exactly once, whatever allocator stands behind.

1,000 calls of one form are 1,000 samples more at interval 1 than a program that
makes none, over glibc and over allocators and a shim preloaded behind the runtime, or
linked into the program.  The entry point recorded is the one that was called.
"""
import collections
import pathlib
import subprocess
import tempfile
import unittest

import harness
import trace_reader

CALLS = 1000
RECORDED_AS = {
    "new_sized": "new", "new_nothrow": "new", "new_array": "new[]", "new_array_nothrow": "new[]",
    "new_aligned": "new_aligned", "new_array_aligned": "new[]_aligned",
    "new_aligned_nothrow": "new_aligned",
}
BYTES = sum(40 + i % 300 for i in range(CALLS))


def count(form, allocator):
    behind = [allocator] if allocator else []
    recorded = harness.record([harness.host("news"), form], 1, behind=behind)
    if recorded.outcome.status != 0:
        raise AssertionError(f"{form} over {allocator}: {recorded.outcome}")
    trace, = recorded.traces
    trace.check()
    points = collections.Counter(trace_reader.ENTRY_POINTS[s.entry_point] for s in trace.samples)
    requested = collections.Counter()
    for sample in trace.samples:
        requested[trace_reader.ENTRY_POINTS[sample.entry_point]] += sample.requested
    return trace, points, requested


class Allocators(unittest.TestCase):
    def forms(self):
        listed = subprocess.run([harness.host("news"), "list"], capture_output=True, check=True)
        return [form for form in listed.stdout.decode().split() if form != "nothing"]

    def check(self, name):
        allocator = harness.ALLOCATORS[name] if name in harness.ALLOCATORS else (
            pathlib.Path(harness.host(name)))
        if allocator and not allocator.exists():
            self.skipTest(f"{allocator} is not installed")
        _, nothing, no_bytes = count("nothing", allocator)
        for form in self.forms():
            if harness.run_bare([harness.host("news"), form], [allocator]).status != 0:
                continue  # jemalloc's free meets the C library's pvalloc
            with self.subTest(form=form):
                trace, points, requested = count(form, allocator)
                point = RECORDED_AS.get(form, form)
                self.assertEqual(points[point] - nothing[point], CALLS, points)
                self.assertEqual(sum(points.values()) - sum(nothing.values()), CALLS, points)
                self.assertEqual(requested[point] - no_bytes[point], BYTES)
                provider = str(allocator or "libc.so.6")
                self.assertIn(provider.split("/")[-1].split(".so")[0], trace.header.allocator)

    def test_glibc(self):
        self.check("glibc")

    def test_geiger(self):
        self.check("geiger")

    def test_jemalloc(self):
        self.check("jemalloc")

    def test_tcmalloc(self):
        self.check("tcmalloc")

    def test_mimalloc(self):
        self.check("mimalloc")

    def test_shim_whose_functions_call_others(self):
        self.check("liblayered.so")

    def test_functions_that_only_the_allocator_has(self):
        """What they allocate is not recorded, and no report may say that all is."""
        jemalloc = harness.ALLOCATORS["jemalloc"]
        if not jemalloc.exists():
            self.skipTest("libjemalloc2 is not installed")
        with tempfile.TemporaryDirectory() as directory:
            source, program, recording = (f"{directory}/{name}" for name in ("p.c", "p", "r.geiger"))
            pathlib.Path(source).write_text("""
                #include <stdlib.h>
                void *mallocx(size_t bytes, int flags);
                int main(void) {
                  for (int i = 0; i < 1000; i++) if (!mallocx(1000, 0) || !malloc(10)) return 1;
                }""")
            subprocess.run(["gcc", "-fno-builtin", "-o", program, source, jemalloc], check=True)
            geiger = str(harness.BUILD / "bin" / "geiger")

            def run(*words):
                return subprocess.run([geiger, *words], text=True, capture_output=True,
                                      env=harness.environment([]))
            done = run("run", "-o", recording, "--interval", "1", "--", program)
            self.assertEqual(done.returncode, 0, done.stderr)
            said = "functions of libjemalloc.so.2 that geiger does not record"
            self.assertIn(said, done.stderr)
            self.assertIn(said, " ".join(run("summary", recording).stdout.split()))
            doctor = run("doctor", recording)
            self.assertEqual(doctor.returncode, 1)
            self.assertIn(said, " ".join(doctor.stdout.split()))


if __name__ == "__main__":
    unittest.main()
