"""Lines that keep what they allocate, and one that frees half of it.

With tracemalloc (-X tracemalloc=1) prints what each line of this file holds at the end, in bytes."""
import json
import os
import sys
import tracemalloc


class Node:
    __slots__ = ("left", "right", "number")


def nodes(count):
    kept = []
    for i in range(count):
        kept.append(Node())
    return kept


def texts(count):
    kept = []
    for i in range(count):
        kept.append("%0200d" % i)
    return kept


def rows(count):
    kept = []
    for i in range(count):
        row = {"number": i, "name": i, "price": i}
        row["more"] = [i, i, i, i]
        kept.append(row)
    return kept


def pages(count):
    kept = []
    for i in range(count):
        kept.append(bytearray(4000 + i % 100))
    return kept


def images(count):
    kept = []
    for i in range(count):
        kept.append(bytes(200000 + 1000 * i))
    return kept


def halved(count):
    kept = []
    for i in range(count):
        kept.append((i, -i))
    del kept[::2]
    return kept


kept = [nodes(60000), texts(20000), rows(15000), pages(700), images(20), halved(90000)]
if tracemalloc.is_tracing():
    lines = tracemalloc.take_snapshot().statistics("lineno")
    print(json.dumps({line.traceback[0].lineno: line.size for line in lines
                      if line.traceback[0].filename == __file__}))
sys.stdout.flush()
os._exit(0)
