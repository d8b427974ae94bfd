/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "forks.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"

/* The pattern of sizes and lifetimes repeats after PERIOD forks, and so does what is in use. */
enum { PERIOD = 64, LIVE = 7, WINDOW = 32 << 20 };

/* The sizes of code, which is as large as the constants. Once in a period it is more than a chunk. */
static const size_t sizes[] = {16, 3000, 20000, 48, 400, 70000, 16, 300000, 5000};

static size_t size_of_turn(unsigned turn)
{
    return turn % PERIOD == 40 ? 5 << 20 : sizes[turn % PERIOD % COUNT(sizes)];
}

/* ---- what must not grow ---- */

struct usage {
    unsigned mappings, descriptors;
    uint64_t session_mappings, code, rodata;
};

static unsigned count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned count = 0;
    assert_non_null(maps);
    for (int c; (c = getc(maps)) != EOF;)
        count += c == '\n';
    fclose(maps);
    return count;
}

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_purge_allocator(void);
#endif

static struct usage usage_of(const struct fixture *f)
{
/* AddressSanitizer keeps what was freed for a while, large blocks in mappings of their own. */
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_purge_allocator();
#endif
    struct tn_stats stats = stats_of(f);
    return (struct usage){count_mappings(), count_descriptors(), stats.mappings, stats.code_bytes, stats.rodata_bytes};
}

static void check_usage(const struct usage *first, const struct usage *now)
{
#ifndef __SANITIZE_THREAD__                                 /* which maps more and more itself */
    assert_in_range(now->mappings, 1, first->mappings + 8); /* the allocator has some */
#endif
    assert_int_equal(now->descriptors, first->descriptors);
    assert_int_equal(now->session_mappings, first->session_mappings);
    assert_int_equal(now->code, first->code);
    assert_int_equal(now->rodata, first->rodata);
}

/* ---- children ---- */

struct family {
    struct fixture f;
    struct answer kept, live[LIVE];
};

static void in_the_child(void **state)
{
    struct family *family = *state;
    struct answer mine = {0};
    unsigned mappings = count_mappings(), descriptors = count_descriptors();
    for (unsigned i = 0; i < 3; i++) {
        answer_link(&family->f, &mine, 1000000 + i, 5000);
        answer_check(&family->f, &family->kept);
        answer_remove(&mine);
    }
    for (unsigned i = 0; i < LIVE; i++) {
        if (family->live[i].owner)
            answer_check(&family->f, &family->live[i]);
        answer_remove(&family->live[i]);
    }
    check_still_works(&family->f);
    assert_in_range(count_mappings(), 1, mappings + 16);
    assert_in_range(count_descriptors(), 1, descriptors + 2);
}

/* Most children do nothing: a fork alone is what costs. */
static void have_child(struct family *family, bool links)
{
    if (links) {
        assert_int_equal(in_child(in_the_child, family), 0);
        return;
    }
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static struct family start(enum tn_strategy strategy, size_t window)
{
    const struct tn_session_options options = {.size = sizeof options, .window_size = window, .strategy = strategy};
    struct family family = {.f = open_fixture(&options)};
    answer_link(&family.f, &family.kept, 0, 100);
    return family;
}

static void finish(struct family *family)
{
    answer_check(&family->f, &family->kept);
    for (unsigned i = 0; i < LIVE; i++)
        answer_remove(&family->live[i]);
    answer_remove(&family->kept);
    assert_int_equal(stats_of(&family->f).code_bytes, 0);
    check_still_works(&family->f);
    close_fixture(&family->f);
}

void fork_often(enum tn_strategy strategy, unsigned forks)
{
    struct family family = start(strategy, WINDOW);
    struct usage first, now;
    for (unsigned i = 0; i < forks; i++) {
        struct answer *answer = &family.live[i % PERIOD % LIVE];
        answer_remove(answer);
        if (i % PERIOD % 10 == 9) /* sometimes there is nothing but what is kept */
            for (unsigned k = 0; k < LIVE; k++)
                answer_remove(&family.live[k]);
        answer_link(&family.f, answer, 1 + i, size_of_turn(i));
        have_child(&family, i % PERIOD == 33 || i % PERIOD == 62);
        for (unsigned k = 0; k < LIVE; k++)
            if (family.live[k].owner)
                answer_check(&family.f, &family.live[k]);
        answer_check(&family.f, &family.kept);
        if (i % PERIOD != PERIOD - 1)
            continue;
        now = usage_of(&family.f);
        if (i / PERIOD == 1) /* by then the allocator has what it needs */
            first = now;
        if (i / PERIOD > 1)
            check_usage(&first, &now);
    }
    finish(&family);
}

void fork_and_keep(enum tn_strategy strategy, unsigned forks)
{
    struct family family = start(strategy, 0);
    struct answer *all = calloc(forks, sizeof *all);
    for (unsigned i = 0; i < forks; i++) {
        have_child(&family, i % 512 == 100);
        answer_link(&family.f, &all[i], 1 + i, 64);
    }
    for (unsigned i = 0; i < forks; i++)
        answer_check(&family.f, &all[i]);
    uint64_t most = stats_of(&family.f).mappings;
    for (unsigned i = 0; i < forks; i++)
        answer_remove(&all[i]);
    if (strategy == TN_STRATEGY_DUAL)
        assert_in_range(stats_of(&family.f).mappings, 1, most / (forks / 4));
    free(all);
    finish(&family);
}
