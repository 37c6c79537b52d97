"""Signal handlers that allocate, of Python and of C, at any instruction."""
import ctypes
import signal
import time

seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(bytearray(100)))
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def unused(_):
    pass


until = time.monotonic() + 1
total = 0
while time.monotonic() < until:
    kept = [str(i) * 3 for i in range(500)]
    total = len(sorted(kept, key=lambda s: s[::-1]))
    libc.free(libc.malloc(3000))
signal.setitimer(signal.ITIMER_REAL, 0)
print(total, len(seen) > 10)
