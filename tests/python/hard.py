"""Allocates from every kind of frame that CPython has, for the time in seconds that it is given."""
import asyncio
import contextlib
import functools
import gc
import json
import sys
import threading
import time

until = time.monotonic() + float(sys.argv[1])


class Loud(type):
    def __new__(mcs, name, bases, namespace):
        namespace["extra"] = [bytearray(100 + i) for i in range(10)]
        return super().__new__(mcs, name, bases, namespace)


def metaclasses():
    return [Loud("Made", (), {}) for _ in range(5)]


class Dying:
    def __init__(self):
        self.me = self

    def __del__(self):
        self.last = [str(i) for i in range(20)]


def destructors():
    for _ in range(20):
        Dying()
    gc.collect()


def numbers(n):
    for i in range(n):
        yield bytearray(i * 7)


def delegating(n):
    yield from numbers(n)
    yield from (bytearray(2 * i) for i in range(n))


def generators():
    return [len(b) for b in delegating(50)]


async def leaf(n):
    await asyncio.sleep(0)
    return [bytearray(50) for _ in range(n)]


async def stream(n):
    for i in range(n):
        yield await leaf(i)


async def many():
    async with contextlib.AsyncExitStack():
        await asyncio.gather(*(leaf(i) for i in range(10)))
        return [len(x) async for x in stream(5)]


def coroutines():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(many())
    loop.close()


def deep(n):
    return [bytearray(64)] if n == 0 else deep(n - 1) + [n]


def recursion():
    deep(60)
    functools.reduce(lambda a, b: a + [b], range(30), [])


def exec_and_eval():
    space = {}
    exec("def made(n):\n    x = [str(i) for i in range(n)]\n\n    return sorted(x, key=lambda s: s * 3)\n", space)
    space["made"](30)
    eval("[bytearray(i) for i in range(40)]")


def through_c():
    json.loads(json.dumps({str(i): [i] * 5 for i in range(40)}), object_hook=lambda d: dict(d, more="x" * 90))
    sorted(range(30), key=lambda i: bytearray(i))
    list(map(lambda i: str(i) * 20, range(30)))
    "".join(str(i) for i in range(100))


def größe_der_menge():
    return {("ключ", i): "値" * i for i in range(60)}


def tracing():
    seen = []

    def trace(frame, event, arg):
        seen.append((event, bytearray(10)))
        return trace
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        recursion()
    finally:
        sys.settrace(before)


@contextlib.contextmanager
def context():
    yield [str(i) for i in range(30)]


def contexts():
    with context() as kept:
        kept.append(bytearray(300))
    try:
        raise ValueError("x" * 200)
    except ValueError as error:
        return str(error) + repr(error.__traceback__)


KINDS = [metaclasses, destructors, generators, coroutines, recursion, exec_and_eval, through_c,
         größe_der_menge, contexts, tracing]


def work(first):
    turn = first
    while time.monotonic() < until:
        KINDS[turn % len(KINDS)]()
        turn += 1


threads = [threading.Thread(target=work, args=(i,), daemon=i == 2) for i in range(3)]
for thread in threads:
    thread.start()
work(5)
for thread in threads:
    thread.join()
