"""Memory that is refused, and an exception that nobody catches."""
import ctypes
import resource

# Bytes that nobody has written yet: a bytearray would be filled with zeros, which takes the kernel
# seconds for the gigabyte of all rounds, and malloc refuses the same.
block = ctypes.pythonapi.PyBytes_FromStringAndSize
block.argtypes, block.restype = [ctypes.c_void_p, ctypes.c_ssize_t], ctypes.py_object
limit = 400 << 20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
for _ in range(3):
    try:
        kept = []
        while True:
            kept.append(block(None, 10 << 20))
    except MemoryError:
        print("refused", 20 < len(kept) < 45)
        kept = None
raise ValueError("the end")
