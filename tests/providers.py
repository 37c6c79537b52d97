#!/usr/bin/env python3
"""Providers of the functions that the program calls: no C++ library, operators new of a
framework, an allocator that lacks what others have.  The program runs as bare, and each
allocation is counted once."""
import unittest

import harness
import trace_reader

INTERVALS = (1, 64, 4096)


class Forms(harness.ProcessTest):
    """Entry points from a program without C++."""

    def test_as_bare(self):
        names = harness.run_bare([harness.host("forms"), "list"]).stdout.decode().split()
        for name in names:
            command = [harness.host("forms"), name]
            bare = harness.run_bare(command)
            self.assertEqual((0, f"{name}: done\n".encode()), bare[:2])
            for interval in INTERVALS:
                with self.subTest(scenario=name, interval=interval):
                    recorded = harness.record(command, interval)
                    self.assert_same_outcome(bare, recorded.outcome, name)
                    self.assert_sound(recorded)


class OwnNew(harness.ProcessTest):
    """Operators new that call malloc: their malloc counts, and nothing else."""
    LIBRARY = harness.host("libown_new.so")

    def count(self, form):
        recorded = harness.record([harness.host("news"), form], 1, behind=[self.LIBRARY])
        self.assertEqual(recorded.outcome.status, 0, recorded.outcome)
        self.assert_sound(recorded)
        trace, = recorded.traces
        return [trace_reader.ENTRY_POINTS[sample.entry_point] for sample in trace.samples]

    def test_each_is_one_malloc(self):
        nothing = self.count("nothing")
        for form in ("new", "new_sized", "new_array", "new_nothrow", "new_array_nothrow"):
            with self.subTest(form=form):
                points = self.count(form)
                self.assertEqual(len(points) - len(nothing), 1000)
                self.assertEqual(points.count("malloc") - nothing.count("malloc"), 1000)

    def test_the_aligned_ones_are_ours(self):
        nothing = self.count("nothing")
        points = self.count("new_aligned")
        self.assertEqual(points.count("new_aligned") - nothing.count("new_aligned"), 1000)
        self.assertEqual(len(points) - len(nothing), 1000)


class PlainMalloc(harness.ProcessTest):
    """An allocator that cannot say how large a block is: no other library is asked."""
    LIBRARY = harness.host("libplain_malloc.so")

    def test_blocks_are_as_large_as_they_were_asked_for(self):
        for form in ("malloc", "calloc", "realloc", "memalign", "posix_memalign", "new"):
            with self.subTest(form=form):
                command = [harness.host("news"), form]
                bare = harness.run_bare(command, [self.LIBRARY])
                recorded = harness.record(command, 1, behind=[self.LIBRARY])
                self.assert_same_outcome(bare, recorded.outcome, form)
                self.assert_sound(recorded)
                samples = recorded.samples()
                self.assertGreaterEqual(len(samples), 1000)
                self.assertEqual([], [s for s in samples if s.usable != s.requested])
                trace, = recorded.traces
                self.assertIn("libplain_malloc", trace.header.allocator)


if __name__ == "__main__":
    unittest.main()
