/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Queries to SQLite, whose functions a JIT finds: a first one, and rounds of others. For jit.c and orc.cpp. */

#ifndef BENCH_QUERY_H
#define BENCH_QUERY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"

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

static inline double spent_ms(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

/* The time of a round, which is that of the thread; negative if the answer is wrong. */
static inline double round_cpu_ms(const struct database *database)
{
    double begin = spent_ms(CLOCK_THREAD_CPUTIME_ID);
    return run_round(database) ? spent_ms(CLOCK_THREAD_CPUTIME_ID) - begin : -1;
}

/* The first query and then so many rounds, with what was prepared since `start`. What other threads compile beside a
 * round counts in all. If `peer` is not NULL, each round is followed by one of the peer's, so that both meet the same
 * machine; the quotient is that of their times, and all is without the peer's rounds. False if an answer is wrong. */
static inline bool measure_rounds(find_function *find, void *context, uint64_t start, size_t rounds,
                                  const struct database *peer)
{
    const size_t last = rounds - rounds / 4 - 1; /* where the last quarter begins */
    struct database database = {NULL, NULL};
    double *round_ms = (double *)calloc(3 * rounds + 1, sizeof *round_ms), peers = 0;
    double *peer_ms = round_ms + rounds, *quotient = peer_ms + rounds;
    if (!round_ms || !run_query(find, context))
        return false;
    printf("query_ms %.1f\ntiers query_cpu_ms %.1f\n", (double)(now_ns() - start) / 1e6,
           spent_ms(CLOCK_THREAD_CPUTIME_ID));
    if (!open_database(&database, find, context))
        return false;
    for (size_t i = 0; i < rounds; i++) {
        round_ms[i] = round_cpu_ms(&database);
        peer_ms[i] = peer ? round_cpu_ms(peer) : 0;
        quotient[i] = peer ? round_ms[i] / peer_ms[i] : 0;
        if (round_ms[i] < 0 || peer_ms[i] < 0)
            return false;
        peers += peer_ms[i];
    }
    printf("tiers cpu_ms %.1f\ntiers first_ms %.2f\n", spent_ms(CLOCK_PROCESS_CPUTIME_ID) - peers, round_ms[0]);
    printf("tiers last_ms %.2f\n", median(round_ms + last, rounds - last));
    if (peer)
        printf("tiers peer_ms %.2f\ntiers quotient %.3f\n", median(peer_ms + last, rounds - last),
               median(quotient + last, rounds - last));
    free(round_ms);
    return true;
}

#endif
