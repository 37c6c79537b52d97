"""An independent reader of report pages: adds up their cells as `geiger schema --page` says."""
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


def items_of(columns):
    """The items of what is packed by column: each a dictionary, without what only others have."""
    full = {name: column for name, column in columns.items() if isinstance(column, list) and column}
    return [dict(zip(full, values)) for values in zip(*full.values(), strict=True)]


class Page:
    def __init__(self, data):
        self.data = data
        self.profiles = {profile["kind"]: profile for profile in data["profiles"]}
        self.frames, self.nodes = items_of(data["frames"]), items_of(data["nodes"])
        self.tables = [(items_of(table), items_of(table["strata"])) for table in data["cells"]]

    def cells(self, kind, window=None):
        """(cell, stratum) of what a kind counts, in a window of buckets."""
        profile = self.profiles[kind]
        cells, strata = self.tables[profile["cells"]]
        end = len(self.data["timeline"]["edges"]) - 2
        first, last = window or (0, end)
        for cell in cells:
            is_counted = profile["counts"] == "all"
            if profile["counts"] == "born":
                is_counted = first <= cell["born"] <= last
            elif profile["counts"] == "alive":
                is_counted = cell["born"] <= last and (cell["died"] < 0 or cell["died"] > last)
            if is_counted:
                yield cell, strata[cell["stratum"]]

    @staticmethod
    def add_up(cells, is_open=False):
        """Sums of what is known, or of what is open: samples of none to all of these bytes."""
        certain = weighted = variance = objects = samples = 0
        for cell, stratum in cells:
            count = cell["count"]
            if bool(stratum.get("open", 0)) != is_open:
                continue
            if stratum["certain"]:
                certain += count * stratum["bytes"]
                objects += count
            else:
                weighted += count * stratum["weighted"]
                variance += count * stratum["variance"]
                objects += count * stratum["objects"]
                samples += count
        return Sums(certain, weighted, variance, objects, samples)

    def total(self, kind, window=None, is_open=False):
        return self.add_up(self.cells(kind, window), is_open)

    def bytes_by(self, kind, key):
        """Bytes per value of key(cell, stratum)."""
        groups = collections.defaultdict(list)
        for cell in self.cells(kind):
            groups[key(*cell)].append(cell)
        sums = {group: self.add_up(cells) for group, cells in groups.items()}
        return {group: each.certain + each.weighted for group, each in sums.items()}

    def name(self, index):
        return None if index < 0 else self.data["names"][index]

    def leaf(self, cell, _stratum):
        return self.name(self.frames[self.nodes[cell["node"]]["frame"]]["name"])
