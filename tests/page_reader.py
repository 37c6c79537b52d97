"""An independent reader of report pages: adds up their cells as web/src/data.ts says."""
import base64
import collections
import gzip
import json
import re

ELEMENT = re.compile(r'<script type="application/x-geiger" id="data">([A-Za-z0-9+/=]*)</script>')

Sums = collections.namedtuple("Sums", "certain weighted variance objects samples")


def data_in(html):
    """The document within a page, which must hold exactly one."""
    encoded, = ELEMENT.findall(html)
    return json.loads(gzip.decompress(base64.b64decode(encoded, validate=True)))


class Page:
    def __init__(self, data):
        self.data = data
        self.profiles = {profile["kind"]: profile for profile in data["profiles"]}

    def cells(self, kind, window=None):
        """(count, stratum, cell) of what a kind counts, in a window of buckets."""
        profile = self.profiles[kind]
        table = self.data["cells"][profile["cells"]]
        end = len(self.data["timeline"]["edges"]) - 2
        first, last = window or (0, end)
        for cell, count in enumerate(table["count"]):
            if profile["counts"] != "all":
                born, died = table["born"][cell], table["died"][cell]
                if profile["counts"] == "born":
                    is_counted = first <= born <= last
                else:
                    is_alive = died > last if died >= 0 else (
                        died == -1 or last == end or -2 - died > last)
                    is_counted = born <= last and is_alive
                if not is_counted:
                    continue
            yield count, table["stratum"][cell], cell

    def add_up(self, kind, cells, is_open=False):
        """Sums of what is known, or of what is open: samples of none to all of these bytes."""
        strata = self.data["cells"][self.profiles[kind]["cells"]]["strata"]
        open_ones = strata.get("open", [0] * len(strata["certain"]))
        certain = weighted = variance = objects = samples = 0
        for count, stratum, _ in cells:
            if bool(open_ones[stratum]) != is_open:
                continue
            if strata["certain"][stratum]:
                certain += count * strata["bytes"][stratum]
                objects += count
            else:
                weighted += count * strata["weighted"][stratum]
                variance += count * strata["variance"][stratum]
                objects += count * strata["objects"][stratum]
                samples += count
        return Sums(certain, weighted, variance, objects, samples)

    def total(self, kind, window=None, is_open=False):
        return self.add_up(kind, self.cells(kind, window), is_open)

    def bytes_by(self, kind, key):
        """Bytes per value of key(table, cell)."""
        table = self.data["cells"][self.profiles[kind]["cells"]]
        groups = collections.defaultdict(list)
        for cell in self.cells(kind):
            groups[key(table, cell[2])].append(cell)
        sums = {group: self.add_up(kind, cells) for group, cells in groups.items()}
        return {group: each.certain + each.weighted for group, each in sums.items()}

    def name(self, index):
        return None if index < 0 else self.data["names"][index]

    def leaf(self, table, cell):
        frames = self.data["frames"]
        return self.name(frames["name"][self.data["nodes"]["frame"][table["node"][cell]]])
