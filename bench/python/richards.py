"""Tasks that pass packets to each other, as an operating system's scheduler does."""
import sys


class Packet:
    def __init__(self, link, kind, data):
        self.link, self.kind, self.data = link, kind, data


class Task:
    def __init__(self, name):
        self.name, self.queue, self.done = name, None, 0

    def put(self, packet):
        packet.link = None
        if self.queue is None:
            self.queue = packet
            return
        last = self.queue
        while last.link is not None:
            last = last.link
        last.link = packet

    def take(self):
        packet = self.queue
        self.queue = packet.link
        return packet


class Worker(Task):
    def run(self, tasks):
        packet = self.take()
        self.done += 1
        packet.data = [(value + self.name) % 26 for value in packet.data]
        tasks[(self.name + 1) % len(tasks)].put(packet)


class Device(Task):
    def run(self, tasks):
        packet = self.take()
        self.done += 1
        tasks[(self.name + 2) % len(tasks)].put(Packet(None, packet.kind, list(packet.data)))


def schedule(steps):
    tasks = [Worker(i) if i % 2 else Device(i) for i in range(6)]
    for i in range(8):
        tasks[i % 6].put(Packet(None, i % 2, [i, 1, 2, 3]))
    while steps > 0:
        for task in tasks:
            if task.queue is not None:
                task.run(tasks)
                steps -= 1
    return sum(task.done for task in tasks)


for turn in range(int(sys.argv[1])):
    assert schedule(500) >= 500
