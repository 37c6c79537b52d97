"""C code that gives the lock back and allocates, while other threads run Python."""
import ctypes
import threading
import zlib

libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
libc.strdup.argtypes = [ctypes.c_char_p]
libc.free.argtypes = [ctypes.c_void_p]
# The compressor's tables, 256 KiB a call, come from memory that the process keeps: nearly all the time
# would go into pages that the kernel gives, zeroes and takes back. The calls are the same.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
libc.mallopt(M_TRIM_THRESHOLD, 64 << 20)
libc.mallopt(M_MMAP_THRESHOLD, 8 << 20)
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
