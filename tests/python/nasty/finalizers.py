"""Objects that allocate when they die, at the end and in cycles."""
import atexit
import sys
import threading


class Last:
    def __init__(self, n):
        self.n = n
        self.me = self

    def __del__(self):
        self.more = [str(i) for i in range(self.n)]
        sys.__stdout__ and print("dies", self.n, len(self.more))


kept = [Last(n) for n in range(5)]
local = threading.local()
local.value = Last(100)
atexit.register(lambda: print("exit", len([bytearray(10) for _ in range(1000)])))
