"""How long the client of a service waits for its answers, and during which command the longest wait
was. These are figures to print: no test may be decided by them.
"""
import re
import statistics
import threading
import time

PATIENCE = 60
# Before each command that a shell with `set -x` runs: the time.
PROMPT = "+ $EPOCHREALTIME "


class Client(threading.Thread):
    """Does something again and again until it is told to end, and notes when it did."""

    def __init__(self, action):
        super().__init__(daemon=True)
        self.action, self.is_ending, self.requests = action, False, []
        self.start()

    def run(self):
        while not self.is_ending:
            begun = time.time()
            try:
                self.action()
                self.requests.append((begun, time.time()))
            except OSError:
                time.sleep(0.02)

    def end(self):
        self.is_ending = True
        self.join(PATIENCE)

    def waits(self, begin, end):
        """Milliseconds of the requests that were under way at some time from `begin` to `end`."""
        return [1000 * (done - begun) for begun, done in list(self.requests)
                if begun < end and done > begin]

    def longest(self, begin, end):
        return max(self.waits(begin, end), default=0)

    def median(self, begin, end):
        return statistics.median(self.waits(begin, end) or [0])


def steps(said, end):
    """(command, begin, end) of each command that a shell printed after PROMPT, except those in
    substitutions; of `geiger ctl PID start` the word is `start`."""
    found = re.findall(r"(?m)^\+ (\d+\.\d+) (.*)", said)
    times = [float(moment) for moment, _ in found] + [end]
    for number, (_, line) in enumerate(found):
        words = line.split()
        name = words[3] if words[:2] == ["geiger", "ctl"] and len(words) > 3 else words[0]
        yield name, times[number], times[number + 1]


def table(rows):
    """Lines of Markdown: dictionaries that are alike in their texts are one row with the medians of
    their numbers."""
    alike = {}
    for row in rows:
        key = tuple(value for value in row.values() if isinstance(value, str))
        alike.setdefault(key, []).append(row)
    names = list(rows[0])
    yield "| " + " | ".join(names) + " |"
    yield "|" + "|".join("---" if isinstance(rows[0][name], str) else "--:" for name in names) + "|"
    for group in alike.values():
        yield "| " + " | ".join(_cell([row[name] for row in group]) for name in names) + " |"


def _cell(values):
    if isinstance(values[0], str):
        return values[0]
    middle = statistics.median(values)
    if isinstance(values[0], int):
        return f"{middle:,.0f}"
    return f"{middle:.1f}" if middle >= 1 else f"{middle:.2f}"
