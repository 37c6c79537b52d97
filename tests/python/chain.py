"""Keeps small objects only, drops some, and prints how many blocks the interpreter then has."""
import sys
import time


def chain(n):
    link = None
    for i in range(n):
        link = (link, 1000 + i)
    return link


def drop(link, n):
    for _ in range(n):
        link = link[0]
    return link


def blocks():
    return sys.getallocatedblocks(), time.clock_gettime_ns(time.CLOCK_MONOTONIC)


blocks()
kept = [None, None, None]
before = blocks()
kept[0] = chain(20000)
full = blocks()
kept[0] = drop(kept[0], 7000)
less = blocks()
print(*before, *full, *less)
