"""Ends without any cleanup, other threads in the middle of things."""
import os
import sys
import threading


def churn():
    while True:
        sorted([str(i) for i in range(300)])


for _ in range(3):
    threading.Thread(target=churn, daemon=True).start()
print("ends", flush=True)
for _ in range(300):
    [i * 2.5 for i in range(300)]
os._exit(37)
