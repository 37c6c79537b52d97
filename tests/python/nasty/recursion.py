"""As deep as it goes, and an error at the limit."""
import sys

sys.setrecursionlimit(3000)


def deep(n):
    return [n] + (deep(n - 1) if n else [])


class Deep:
    def __repr__(self):
        return "<" + repr(self) + ">"


print(len(deep(2500)))
for what in (lambda: deep(100000), lambda: repr(Deep())):
    try:
        what()
    except RecursionError as error:
        print(type(error).__name__)
