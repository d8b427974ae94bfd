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

typedef void *find_function(void *context, const char *name);

struct database {
    void *handle;
    int (*exec)(void *, const char *, int (*)(void *, int, char **, char **), void *, char **);
};

static inline bool open_database(struct database *database, find_function *find, void *context)
{
    int (*open)(const char *, void **);
    void *address = find(context, "sqlite3_open");
    memcpy((void *)&open, &address, sizeof open);
    address = find(context, "sqlite3_exec");
    memcpy((void *)&database->exec, &address, sizeof database->exec);
    return open(":memory:", &database->handle) == 0;
}

static inline bool answers(const struct database *database, const char *sql, const char *right)
{
    char answer[20] = "";
    return database->exec(database->handle, sql, keep_answer, answer, NULL) == 0 && strcmp(answer, right) == 0;
}

/* Asks a database in memory; true if the answer is right. */
static inline bool run_query(find_function *find, void *context)
{
    struct database database = {NULL, NULL};
    return open_database(&database, find, context) &&
           answers(&database,
                   "create table t(a, b); insert into t values (1, 'x'), (2, 'y'), (3, 'x');"
                   "select sum(a), b from t group by b order by b limit 1",
                   "4|x");
}

/* What is repeated: inserts, an index, a sum by groups. */
static inline bool run_round(const struct database *database)
{
    return answers(
        database,
        "drop table if exists r; create table r(a integer, b text);"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)"
        " insert into r select i * 7919 % 10007, 'name ' || (i % 100) from n; create index s on r(b, a);"
        "select sum(a), substr(b, 6) from r where a between 100 and 9000 group by b order by 1 desc, 2 limit 1",
        "213403|85");
}

#endif
