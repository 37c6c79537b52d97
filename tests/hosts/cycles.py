"""Objects in cycles that only the collector lists, as it never runs, and objects that are held."""
import gc
import sys

COUNT = 2000
gc.disable()


class Node:
    """In a cycle with itself."""

    def __init__(self):
        self.own = self
        self.payload = bytearray(600)


class Slotted:
    __slots__ = ("other",)


class Kept:
    pass


def cycles():
    for _ in range(COUNT):
        Node()
        first, second = Slotted(), Slotted()
        first.other, second.other = second, first


class Local:
    pass


def run():
    local = [Local() for _ in range(COUNT)]
    print("ready", flush=True)
    sys.stdin.read()
    return local


KEPT = []
for number in range(COUNT):
    KEPT.append({number: Kept()})
cycles()
run()
