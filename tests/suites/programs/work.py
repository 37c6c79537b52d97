"""An SQLite database, JSON, threads, processes, a pickle of everything."""
import concurrent.futures
import hashlib
import json
import multiprocessing
import pickle
import sqlite3
import subprocess
import sys
import zlib


def chew(seed):
    rows = [{"id": i, "name": f"n{i * seed}", "tags": list(range(i % 7))} for i in range(800)]
    return hashlib.sha256(zlib.compress(json.dumps(rows).encode())).hexdigest()


if __name__ == "__main__":
    database = sqlite3.connect("work.db")
    database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    database.executemany("INSERT INTO t VALUES (?, ?)", ((i, "x" * (i % 90)) for i in range(20000)))
    database.execute("CREATE INDEX i ON t (b)")
    database.commit()
    print(database.execute("SELECT count(*), sum(length(b)), max(b) FROM t").fetchone())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        print(list(pool.map(chew, range(16))))
    with multiprocessing.get_context("fork").Pool(4) as pool:
        print(pool.map(chew, range(8)))
    with open("work.pickle", "wb") as file:
        pickle.dump([chew(1), {i: str(i) for i in range(50000)}], file)
    print(subprocess.run(["sh", "-c", "echo child; exit 4"], capture_output=True).stdout)
    sys.exit(6)
