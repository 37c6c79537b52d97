"""push and fleet with a modern ClickHouse, npm's library: answers equal those of the traces, and rows are small.

usage: fleet_modern_clickhouse_test.py GEIGER CHANGES TESTS [TEST...]

Skipped unless GEIGER_CHDB names a folder with the library (tests/clickhouse_library.py).
"""
import os
import subprocess
import sys
import unittest

TESTS = os.path.abspath(sys.argv.pop(3))
sys.path.insert(0, TESTS)

from clickhouse_library import ClickHouseLibrary, library  # noqa: E402
from fleet_clickhouse_verbs import TOOLS, ClickHouseVerbs  # noqa: E402

ROWS, HOSTS = 10_000_000, 200
MOST_BYTES_OF_A_ROW = 3


def setUpModule():
    if library() is None:
        raise unittest.SkipTest("GEIGER_CHDB names no folder with npm's package chdb")


class ModernClickHouse(ClickHouseVerbs):
    start_server = ClickHouseLibrary

    def test_the_schema_is_the_modern_one(self):
        (table,), = self.server.ask("SHOW CREATE TABLE counts", "shop")
        for word in ("CODEC(ZSTD(3))", "LowCardinality(String)", "TTL started"):
            self.assertIn(word, table)

    def test_rows_are_small(self):
        self.database("rows")
        url = f"http://127.0.0.1:{self.server.http}/?database=rows"
        fill = os.path.join(TOOLS, "clickhouse_rows.py")
        subprocess.run([sys.executable, fill, url, str(ROWS), str(HOSTS)], check=True, capture_output=True)
        rows, size = map(int, self.server.ask(
            "SELECT SUM(rows), SUM(bytes_on_disk) FROM system.parts WHERE active AND database = 'rows' "
            "AND table = 'counts'")[0])
        self.assertEqual(rows, ROWS)
        print(f"{size / rows:.2f} bytes a row", file=sys.stderr)
        self.assertLessEqual(size / rows, MOST_BYTES_OF_A_ROW)


del ClickHouseVerbs  # It has no server of its own.

if __name__ == "__main__":
    unittest.main()
