"""Nested and flat documents to text."""
import json
import sys

FLAT = {f"key{i}": (None, True, i, f"value {i}")[i % 4] for i in range(30)}
DOCUMENTS = [{}, FLAT, [FLAT, {"numbers": list(range(50)), "text": "ü" * 20}, FLAT],
             [[i, str(i), {"x": i / 3}] for i in range(200)]]
for turn in range(int(sys.argv[1])):
    for document in DOCUMENTS:
        json.dumps(document)
