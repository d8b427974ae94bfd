/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* 100,000 forks of a process that links in between. Only memfds are shared by parent and child. */

#include "forks.h"

struct row {
    const char *name;
    enum tn_strategy strategy;
    unsigned forks, kept;
};

static const struct row rows[] = {
    {"dual", TN_STRATEGY_DUAL, 100000, 10000},
    {"sealed", TN_STRATEGY_SEALED, 5000, 1000},
    {"mprotect", TN_STRATEGY_MPROTECT, 5000, 1000},
};

static void many_forks(void **state)
{
    const struct row *row = *state;
    fork_often(row->strategy, row->forks);
}

static void many_forks_after_each_of_which_something_stays(void **state)
{
    const struct row *row = *state;
    fork_and_keep(row->strategy, row->kept);
}

int main(void)
{
    int failed = RUN_ROWS("many forks", rows, many_forks);
    return failed + RUN_ROWS("something stays", rows, many_forks_after_each_of_which_something_stays);
}
