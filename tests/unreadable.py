"""A program whose memory only its own runtime can look up."""

_PROGRAM = """
import ctypes, os, time
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
trace, = {line.split()[-1] for line in open("/proc/self/maps") if line.endswith(".geiger\\n")}
trace = os.open(trace, os.O_RDONLY)
written = lambda: int.from_bytes(os.pread(trace, 8, 24), "little")  # FileHeader::tail
keep = [bytes(700) for _ in range(OBJECTS)]
last = time.monotonic() + 120
before = written()
while written() < before + 65536 * 32 and time.monotonic() < last:
    before = written()
    bytearray(5000)
    time.sleep(0.01)
os._exit(0)
"""


def program(objects):
    """Python that holds `objects` of 733 bytes, more than the runtime looks up at a time, in a
    process that may not be read from outside. It allocates a little until that many answers are in
    its trace, and ends without freeing: an answer after that would be about few objects."""
    return _PROGRAM.replace("OBJECTS", str(objects))
