// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cxx.h"

static Noisy part("part");

void throw_elsewhere(int number)
{
    std::string held(100, 'h'); // has to be destroyed on the way
    throw Refused(number);
}

double total_elsewhere(const std::vector<double> &values)
{
    return total(values);
}
