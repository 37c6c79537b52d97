"""tracemalloc, a profile function and a trace function come and go."""
import sys
import threading
import tracemalloc


def load():
    return sum(len(str(i) * 3) for i in range(3000))


for _ in range(3):
    tracemalloc.start(5)
    kept = [bytearray(i % 600) for i in range(5000)]
    size, peak = tracemalloc.get_traced_memory()
    print(size > 1000000, load())
    tracemalloc.stop()
    sys.setprofile(lambda *event: [event])
    print(load())
    sys.setprofile(None)
    sys.settrace(lambda *event: None)
    print(load())
    sys.settrace(None)
print(len([bytearray(i % 600) for i in range(5000)]))
