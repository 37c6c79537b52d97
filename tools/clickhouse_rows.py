#!/usr/bin/env python3
"""Fills a database of a ClickHouse server with the counts of a made-up fleet, to measure sizes and times.

usage: clickhouse_rows.py URL ROWS [HOSTS]     e.g. http://127.0.0.1:8123/?database=fleet 1e7 200

The tables are those of 'geiger fleet init'. The server makes the rows itself: windows of 1,176 rows (as of
redis under load: 3,240 samples), two versions, of 2,860 cells of 2,153 stacks (as of clickhouse-server). Everything
is a hash of its number, so the rows are the same every time, but for the day.
"""
import sys
import time
import urllib.request

CELLS, OF_A_WINDOW, GRID, STEPS = 2860, 1176, 600, 144
# Modern servers drop what is older than their TTL without a word.
FIRST = int(time.time()) // 86400 * 86400 - 3 * 86400
WINDOW = f"intDiv(number, {OF_A_WINDOW})"
# No cell twice in a window: neighbours are at least half of 2.4 apart.
CELL = (f"toUInt64((number % {OF_A_WINDOW} + intHash32(number) / 8589934592.) * {CELLS} / {OF_A_WINDOW})")


def ask(url, query):
    with urllib.request.urlopen(url, query.encode(), timeout=3600) as answer:
        return answer.read().decode().strip()


def rows(first, last, hosts):
    at = f"toDateTime({FIRST} + intDiv(window, {hosts}) % {STEPS} * {GRID} + intDiv(window, {hosts * STEPS}) * 86400)"
    host = f"window % {hosts}"
    return (f"SELECT 'shop' AS service, if({host} % 2 = 0, '1.0', '1.1') AS version, "
            f"cityHash64('stack', intDiv(cell * 2153, {CELLS})) AS stack_id, "
            "bitShiftLeft(toUInt64(8), intHash32(cell) % 12) + cell % 8 AS size, toUInt64(524288) AS step, "
            "toUInt32(0) AS thinning, toUInt8(0) AS certain, "
            f"concat('host-', toString({host})) AS host, cityHash64('process', {host}) AS process, {at} AS started, "
            "toUInt64(600000) AS recorded_ms, toUInt32(1 + intDiv(16777216, 1 + intHash32(number + 1) % 8388608)) % 64 AS allocated, "
            "toUInt32(allocated * (intHash32(number + 2) % 4 = 0)) AS live "
            f"FROM (SELECT number, {WINDOW} AS window, {CELL} AS cell FROM "
            f"(SELECT number + {first} AS number FROM numbers({last - first})))")


def main():
    url, total, hosts = sys.argv[1], int(float(sys.argv[2])), int(sys.argv[3]) if len(sys.argv) > 3 else 200
    portion = OF_A_WINDOW * 2000
    begin = time.monotonic()
    for first in range(0, total, portion):
        made = rows(first, min(total, first + portion), hosts)
        ask(url, f"INSERT INTO counts {made}")
        ask(url, "INSERT INTO windows (service, version, host, process, started, recorded_ms, alive_ms, step, seed, "
                 "row_count, samples) SELECT service, version, host, process, started, 600000, 600000, 524288, process, "
                 f"count(), sum(allocated) FROM ({made}) GROUP BY service, version, host, process, started")
    print(f"{total} rows in {time.monotonic() - begin:.1f} s")
    print(ask(url, "SELECT table, sum(rows), sum(bytes_on_disk), sum(bytes_on_disk) / sum(rows) FROM system.parts WHERE active "
                   "AND database = currentDatabase() AND table IN ('counts', 'windows') GROUP BY table FORMAT PrettyCompact"))


if __name__ == "__main__":
    main()
