"""LIBRARY DOMAIN LOOP COUNT [DEPTH]: a loop of hosts/python_loops.cc, twice COUNT times, called by as
many frames, at least two."""
import ctypes
import sys

library = ctypes.PyDLL(sys.argv[1])


def call(depth):
    if depth > 1:
        call(depth - 1)
    else:
        library.python_loop(sys.argv[2].encode(), sys.argv[3].encode(), ctypes.c_long(int(sys.argv[4])))


call(int(sys.argv[5]) - 1 if len(sys.argv) > 5 else 1)
