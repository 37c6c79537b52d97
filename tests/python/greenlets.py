"""Greenlets that change in the middle of recursions: each goes on with a chain of its own."""
import sys
import time

import gevent
import gevent.pool

KEPT = []


def deep(depth, n):
    if depth:
        return deep(depth - 1, n)
    gevent.sleep(0)
    return [bytes(600 + n % 97) for _ in range(40)]


def worker(n):
    blocks = deep(n % 17, n)
    gevent.sleep(0.0005)
    if n % 50 == 0:
        KEPT.append(blocks)


end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    gevent.pool.Pool(40).map(worker, range(400))
