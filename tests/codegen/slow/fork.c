/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Each part of the system across 5,000 forks, while threads use it. */

#include "forks.h"

int main(void)
{
    return run_fork_matrix(5000);
}
