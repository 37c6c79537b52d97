"""Objects through pickle."""
import datetime
import pickle
import sys

GROUP = [{"name": f"somebody {i}", "born": datetime.date(1970, 1, 1 + i % 28), "number": i,
          "ids": tuple(range(i, i + 40)), "list": [i, str(i), i / 3],
          "seen": [datetime.datetime(2020, 1, 1 + k, i % 24) for k in range(20)]} for i in range(50)]
for turn in range(int(sys.argv[1])):
    assert len(pickle.loads(pickle.dumps(GROUP))) == 50
