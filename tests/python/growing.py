"""Blocks that grow from the pools into malloc, and shrink."""
import json

kept = []
for turn in range(30):
    kept.append(json.dumps({str(i): list(range(50)) for i in range(turn * 10)}))
    grown = bytearray()
    for i in range(1, 200):
        grown += bytes(i * turn)
    del grown[100:]
    kept.append(grown)
    pieces = [str(i) * turn for i in range(2000)]
    while len(pieces) > 10:
        pieces.pop()
    kept.append(pieces)
