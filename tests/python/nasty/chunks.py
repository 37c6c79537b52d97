"""Calls of generator functions at every depth: where the frame of one begins a chunk of the
interpreter's stack, the chunk is unmapped while that frame is the current one still."""
import functools


def numbers(n):
    yield n


def calls(n):
    begun = numbers(n)
    return sum(begun) + (calls(n - 1) if n else 0)


def twice(n):
    return functools.reduce(lambda total, _: total + calls(n), range(2), 0)


print(sum(twice(n) for n in range(1, 400)))
