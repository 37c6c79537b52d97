"""Arrays of numpy, and its functions of C that call back."""
import sys
import time

import numpy

KEPT = []


def fill(n):
    return numpy.random.rand(n, 10)


def callback(row):
    return numpy.array([str(value) for value in row[:4]])


end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    KEPT.append(numpy.apply_along_axis(callback, 1, fill(200)))
    del KEPT[:-10]
