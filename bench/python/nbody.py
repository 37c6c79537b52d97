"""Planets: floats, and nothing else is allocated."""
import itertools
import sys

BODIES = [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 39.47],
          [[4.84, -1.16, -0.10], [0.606, 2.81, -0.02], 0.037],
          [[8.34, 4.12, -0.40], [-1.01, 1.82, 0.008], 0.011],
          [[12.89, -15.11, -0.22], [1.08, 0.868, -0.010], 0.0017],
          [[15.37, -25.91, 0.179], [0.979, 0.594, -0.034], 0.0020]]
PAIRS = list(itertools.combinations(BODIES, 2))


def advance(step):
    for (place, speed, mass), (place2, speed2, mass2) in PAIRS:
        dx, dy, dz = place[0] - place2[0], place[1] - place2[1], place[2] - place2[2]
        pull = step * (dx * dx + dy * dy + dz * dz) ** -1.5
        for axis, distance in enumerate((dx, dy, dz)):
            speed[axis] -= distance * mass2 * pull
            speed2[axis] += distance * mass * pull
    for place, speed, _ in BODIES:
        for axis in range(3):
            place[axis] += step * speed[axis]


for turn in range(int(sys.argv[1])):
    advance(0.01)
