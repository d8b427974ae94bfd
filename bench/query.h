/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A first query to SQLite, whose functions a JIT finds. For jit.c and orc.cpp. */

#ifndef BENCH_QUERY_H
#define BENCH_QUERY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline int keep_answer(void *context, int count, char **values, char **names)
{
    (void)names;
    if (count == 2 && values[0] && values[1])
        snprintf((char *)context, 20, "%.9s|%.9s", values[0], values[1]);
    return 0;
}

/* Asks a database in memory; true if the answer is right. */
static inline bool run_query(void *(*find)(void *context, const char *name), void *context)
{
    int (*open)(const char *, void **);
    int (*exec)(void *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    void *address, *database = NULL;
    char answer[20] = "";
    address = find(context, "sqlite3_open");
    memcpy((void *)&open, &address, sizeof open);
    address = find(context, "sqlite3_exec");
    memcpy((void *)&exec, &address, sizeof exec);
    static const char sql[] = "create table t(a, b); insert into t values (1, 'x'), (2, 'y'), (3, 'x');"
                              "select sum(a), b from t group by b order by b limit 1";
    return open(":memory:", &database) == 0 && exec(database, sql, keep_answer, answer, NULL) == 0 &&
           strcmp(answer, "4|x") == 0;
}

#endif
