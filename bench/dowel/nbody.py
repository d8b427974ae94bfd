# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from math import sqrt


class Body:
    __slots__ = ("x", "y", "z", "vx", "vy", "vz", "mass")

    def __init__(self, *values):
        self.x, self.y, self.z, self.vx, self.vy, self.vz, self.mass = values


def pull(a, b, step):
    dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
    square = dx * dx + dy * dy + dz * dz
    strength = step / (square * sqrt(square))
    a.vx -= dx * b.mass * strength
    a.vy -= dy * b.mass * strength
    a.vz -= dz * b.mass * strength
    b.vx += dx * a.mass * strength
    b.vy += dy * a.mass * strength
    b.vz += dz * a.mass * strength


def advance(bodies, step):
    for i, a in enumerate(bodies):
        for b in bodies[i + 1 :]:
            pull(a, b, step)
    for b in bodies:
        b.x += step * b.vx
        b.y += step * b.vy
        b.z += step * b.vz


BODIES = [
    Body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 40.0),
    Body(5.0, 0.0, 0.1, 0.0, 2.8, 0.0, 0.04),
    Body(0.0, 9.0, 0.0, -2.1, 0.0, 0.1, 0.01),
    Body(-15.0, 0.0, 0.0, 0.0, -1.6, 0.0, 0.002),
]
for _ in range(1000000):
    advance(BODIES, 0.001)
print(int(BODIES[1].x * 1000000.0))
