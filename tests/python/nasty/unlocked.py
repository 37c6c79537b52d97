"""C code that gives the lock back and allocates, while other threads run Python."""
import ctypes
import threading
import zlib

libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
libc.strdup.argtypes = [ctypes.c_char_p]
libc.free.argtypes = [ctypes.c_void_p]
results = []


def work(n):
    total = 0
    for i in range(2000):
        copy = libc.strdup(b"x" * (i % 500))
        libc.free(copy)
        total += len(zlib.compress(bytes(i % 3000)))
    results.append(total)


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
