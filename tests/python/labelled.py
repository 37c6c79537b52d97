"""Allocates blocks of telling sizes under labels: labels.py knows how many of each."""
import asyncio
import concurrent.futures
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "python"))
import geiger

SIZE = 70000  # Large enough that nothing else is as large; the number of the case is added.
kept = []


def take(case, count=1):
    kept.extend(bytearray(SIZE + case) for _ in range(count))


def nested():
    take(0)
    with geiger.label("tenant", "acme"):
        take(1, 3)
        with geiger.label("phase=parse"):
            take(2, 2)
        take(1)
    take(0)
    try:
        with geiger.label("phase=fails"):
            take(3)
            raise KeyError
    except KeyError:
        take(0)


SHARED = geiger.label("shared")


@SHARED
def recursive(depth):
    take(4)
    if depth:
        recursive(depth - 1)


@geiger.label("generator")
def numbers():
    with geiger.label("deep"):
        yield take(6)
        got = yield take(6)
        take(6)
    take(5)
    return got


def generators():
    made = numbers()
    next(made)
    take(0)
    next(made)
    take(0)
    try:
        made.send("sent")
    except StopIteration as stop:
        assert stop.value == "sent"
    closed = numbers()
    next(closed)
    closed.close()
    take(0)


def in_thread(case):
    take(0)  # A thread begins without labels.
    with SHARED:
        take(case)


def threads():
    with geiger.label("tenant", "acme"):
        started = [threading.Thread(target=in_thread, args=(7,), name="worker-%d" % i) for i in range(3)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(geiger.carry(take), 8).result()
            pool.submit(take, 0).result()


async def wait_and_take(case):
    for _ in range(3):
        await asyncio.sleep(0)
        take(case)


@geiger.label("decorated")
async def decorated(case):
    await wait_and_take(case)
    return case


async def in_order(case, text):
    with geiger.label(text):
        await wait_and_take(case)
    take(15)


async def coroutines():
    assert asyncio.iscoroutinefunction(decorated)
    a = asyncio.create_task(geiger.labelled(wait_and_take(9), "tenant", "a"))
    b = asyncio.create_task(geiger.labelled(wait_and_take(10), "tenant", "b"))
    await wait_and_take(0)
    assert await decorated(11) == 11
    await a
    await b
    fails = geiger.labelled(asyncio.wait_for(asyncio.sleep(60), 0.001), "fails")
    try:
        await fails
    except asyncio.TimeoutError:
        take(0)


async def tasks():
    geiger.label_tasks()
    with geiger.label("tenant", "acme"):
        one = asyncio.create_task(in_order(12, "one"), name="first")
    two = asyncio.create_task(in_order(13, "two"))
    await asyncio.gather(one, two)
    child = asyncio.create_task(parent())
    await child
    cancelled = asyncio.create_task(in_order(14, "never"))
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)


async def parent():
    await asyncio.create_task(wait_and_take(16))


def child_process():
    with geiger.label("forked"):
        pid = os.fork()
        if pid == 0:
            take(17)
            with geiger.label("in child"):
                take(18)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0


def limits():
    with geiger.label("x" * 2000):
        take(0)
    with geiger.label(""):
        take(0)
    for _ in range(20):
        geiger.label("level").__enter__()
    take(19)
    for _ in range(25):
        geiger.label("level").__exit__()
    take(0)


def main():
    geiger.name_threads()
    geiger.name_threads()
    nested()
    recursive(2)
    generators()
    threads()
    asyncio.run(coroutines())
    asyncio.run(tasks())
    child_process()
    limits()
    print("recorded" if geiger.is_recorded() else "not recorded")


main()
