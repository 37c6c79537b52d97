"""Interpreters within the interpreter, made, used and destroyed, on several threads."""
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
import json
kept = [json.loads(json.dumps({str(i): [i] * 5 for i in range(50)})) for _ in range(5)]
class Dying:
    def __del__(self):
        self.last = [str(i) for i in range(20)]
Dying()
"""


def work():
    for _ in range(4):
        one = interpreters.create()
        # Which results it has differs from version to version.
        (getattr(interpreters, "run_string", None) or interpreters.exec)(one, CODE)
        interpreters.destroy(one)


threads = [threading.Thread(target=work) for _ in range(2)]
work()
for thread in threads:
    thread.start()
    thread.join()
print("done")
