"""Children by fork while other threads allocate."""
import os
import threading
import warnings

warnings.simplefilter("ignore")
stop = False


def churn():
    while not stop:
        [bytearray(i) for i in range(200)]


threads = [threading.Thread(target=churn) for _ in range(3)]
for thread in threads:
    thread.start()
codes = []
for turn in range(15):
    pid = os.fork()
    if pid == 0:
        kept = {i: [str(i)] * 10 for i in range(2000)}
        os._exit(len(kept) % 7 + turn)
    codes.append(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
stop = True
for thread in threads:
    thread.join()
print(codes)
