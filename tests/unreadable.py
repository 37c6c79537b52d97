"""A program whose memory only its own runtime can look up."""

_PROGRAM = """
import ctypes, os, time
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
trace, = {line.split()[-1] for line in open("/proc/self/maps") if line.endswith(".geiger\\n")}
written = lambda: os.stat(trace).st_blocks * 512
keep = [bytes(700) for _ in range(OBJECTS)]
answer = written() + 65536 * 24
last = time.monotonic() + 120
while written() < answer and time.monotonic() < last:
    bytearray(5000)
    time.sleep(0.01)
os._exit(0)
"""


def program(objects):
    """Python that holds `objects` of 733 bytes, more than the runtime looks up at a time, in a
    process that may not be read from outside. It allocates a little until that many answers are in
    its trace, and ends without freeing: an answer after that would be about few objects."""
    return _PROGRAM.replace("OBJECTS", str(objects))
