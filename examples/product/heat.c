/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The part of the product that gains from a better CPU: compiled to an image, for several CPUs. */

#include "heat.h"

void heat_step(const float *restrict before, float *restrict after)
{
    for (int y = 1; y < HEAT_HEIGHT - 1; y++)
        for (int x = 1; x < HEAT_WIDTH - 1; x++) {
            const float *at = before + y * HEAT_WIDTH + x;
            after[y * HEAT_WIDTH + x] = (at[-1] + at[1] + at[-HEAT_WIDTH] + at[HEAT_WIDTH]) / 4;
        }
}

void heat_spread(float *plate, float *other, int steps)
{
    for (int i = 0; i < steps; i++) {
        heat_step(plate, other);
        heat_step(other, plate);
    }
}
