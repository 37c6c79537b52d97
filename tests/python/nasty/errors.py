"""Memory that is refused, and an exception that nobody catches."""
import resource

limit = 400 << 20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
for _ in range(3):
    try:
        kept = []
        while True:
            kept.append(bytearray(10 << 20))
    except MemoryError:
        print("refused", 20 < len(kept) < 45)
        kept = None
raise ValueError("the end")
