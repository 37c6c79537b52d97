"""Keeps memory until the interpreter frees it: argument "exit0" ends without that."""
import os
import sys

KEPT = {}


def on_request(number):
    KEPT[number] = [bytes(500 + k) for k in range(8)]


def scratch():
    return [str(k) for k in range(100)]


for i in range(12000):
    on_request(i)
    scratch()
if "exit0" in sys.argv:
    os._exit(0)
