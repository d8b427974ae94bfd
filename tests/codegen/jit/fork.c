/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Each part of the system across forks, while threads use it; briefly. */

#include "forks.h"

int main(void)
{
    return run_fork_matrix(30);
}
