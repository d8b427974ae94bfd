/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code that changes while threads call it: `storm [SECONDS]` for each collector, with and without stress. */

#include "storm.h"

int main(int argc, char **argv)
{
    return run_storms(1000 * (argc > 1 ? (unsigned)atoi(argv[1]) : 60));
}
