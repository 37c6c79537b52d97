"""Daemon threads outlive the main thread."""
import threading
import time


def churn(first):
    deep = lambda n: [n] if n == 0 else deep(n - 1) + [n]
    while True:
        deep(40 + first)
        time.sleep(0)


for i in range(6):
    threading.Thread(target=churn, args=(i,), daemon=True).start()
time.sleep(0.3)
print("main ends")
