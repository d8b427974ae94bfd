/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef HEAT_H
#define HEAT_H

enum { HEAT_WIDTH = 64, HEAT_HEIGHT = 24 };

/* One step of heat spreading in a plate whose edge keeps its temperature. */
void heat_step(const float *before, float *after);

/* Many steps; the result is in `plate`. `other` is scratch space of the same size. */
void heat_spread(float *plate, float *other, int steps);

#endif
