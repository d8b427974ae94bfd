/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Systems that refuse some of what strategies need: PR_SET_MDWE, and limits on the size of files. */

#include "answers.h"
#include "maps.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef PR_SET_MDWE /* Linux 6.3 */
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

enum { SMALL = 1000, LARGE = 64 << 10, PAGE = 4096, CHUNK = 4 << 20 };

static void under_mdwe(void **state)
{
    struct fixture f;
    const bool *before = *state;
    struct answer small, large, other;
    if (*before)
        f = answer_open(TN_STRATEGY_DUAL);
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
        _exit(77);
    if (!*before)
        f = answer_open(TN_STRATEGY_DUAL);
    answer_link(&f, &small, 1, SMALL);
    answer_link(&f, &large, 2, 10 * LARGE);
    check_aliases(0, 2); /* the code was written through an alias after all */
    assert_prot(lookup(&f, large.name), "r-xs");
    assert_prot(answer_constants(&f, &large), "r--p"); /* nothing to refuse here */
    answer_link(&f, &other, 3, LARGE);
    answer_check(&f, &small);
    answer_remove(&small);
    answer_remove(&large);
    answer_remove(&other);
    close_fixture(&f);
}

static void mdwe_refuses_private_pages_only(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        bool argument = before;
        int status = in_child(under_mdwe, &argument);
        if (status == 77)
            skip(); /* an older kernel */
        assert_int_equal(status, 0);
    }
}

/* The system refuses only once large links have been written that way. */
static void under_late_mdwe(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer answers[2];
    struct tn_error err;
    answer_link(&f, &answers[0], 0, LARGE);
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
        _exit(77);
    assert_error(answer_try_link(&f, &answers[1], 1, LARGE, &err), TN_EPERM, &err, "PR_SET_MDWE");
    assert_ok(tn_link(f.library, &err), &err);
    answer_check(&f, &answers[0]);
    answer_check(&f, &answers[1]);
    answer_remove(&answers[0]);
    answer_remove(&answers[1]);
    close_fixture(&f);
}

static void late_mdwe_fails_one_link(void **state)
{
    (void)state;
    int status = in_child(under_late_mdwe, NULL);
    if (status == 77)
        skip();
    assert_int_equal(status, 0);
}

struct limit {
    const char *name;
    rlim_t bytes;
    bool late; /* the session is there before */
    enum tn_strategy strategy;
    int code;             /* of creating the session */
    int small, large;     /* of linking */
    const char *expected; /* the strategy that is chosen */
};

static const struct limit limits[] = {
    {"nothing", 0, false, TN_STRATEGY_AUTO, 0, 0, 0, "mprotect"},
    {"a page", PAGE, false, TN_STRATEGY_AUTO, 0, 0, 0, "mprotect"},
    {"a chunk less one", CHUNK - 1, false, TN_STRATEGY_AUTO, 0, 0, 0, "mprotect"},
    {"a chunk", CHUNK, false, TN_STRATEGY_AUTO, 0, 0, 0, "dual"},
    {"a chunk less one, dual", CHUNK - 1, false, TN_STRATEGY_DUAL, TN_EPERM, 0, 0, NULL},
    {"a chunk less one, sealed", CHUNK - 1, false, TN_STRATEGY_SEALED, TN_EPERM, 0, 0, NULL},
    {"a chunk, sealed", CHUNK, false, TN_STRATEGY_SEALED, 0, 0, TN_EPERM, "sealed"},
    {"nothing, mprotect", 0, false, TN_STRATEGY_MPROTECT, 0, 0, 0, "mprotect"},
    {"nothing, late", 0, true, TN_STRATEGY_AUTO, 0, TN_EPERM, 0, "dual"},
    {"a page, late", PAGE, true, TN_STRATEGY_DUAL, 0, 0, 0, "dual"},
    {"a chunk less one, late", CHUNK - 1, true, TN_STRATEGY_DUAL, 0, 0, 0, "dual"},
};

static void check_result(const struct fixture *f, struct answer *answer, unsigned number, size_t size, int wanted)
{
    struct tn_error err;
    int code = answer_try_link(f, answer, number, size, &err);
    if (wanted)
        assert_error(code, wanted, &err, "RLIMIT_FSIZE", "File too large");
    else
        assert_ok(code, &err);
    if (!wanted)
        answer_check(f, answer);
}

static void try_under_limit(const struct limit *row, const struct rlimit *limit)
{
    const struct tn_session_options options = {.size = sizeof options, .strategy = row->strategy};
    struct tn_session *session;
    struct tn_error err;
    struct fixture f;
    struct answer small, large;
    signal(SIGXFSZ, SIG_DFL);
    if (row->late)
        f = open_fixture(&options);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, limit), 0);
    if (row->code) {
        assert_error(tn_session_create(&options, &session, &err), row->code, &err, "File too large", "RLIMIT_FSIZE");
        return;
    }
    if (!row->late)
        f = open_fixture(&options);
    check_result(&f, &small, 1, SMALL, row->small);
    check_result(&f, &large, 2, 5 << 20, row->large);
    assert_string_equal(stats_of(&f).strategy, row->expected);
    answer_remove(&large);
    answer_remove(&small);
    close_fixture(&f);
}

/* Afterwards the limit is gone: what the test prints goes to a file. */
static void under_limit(void **state)
{
    const struct limit *row = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    try_under_limit(row, &(struct rlimit){row->bytes, before.rlim_max});
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static void a_limit_on_files_does_not_kill(void **state)
{
    assert_int_equal(in_child(under_limit, *state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mdwe_refuses_private_pages_only),
        cmocka_unit_test(late_mdwe_fails_one_link),
    };
    int failed = cmocka_run_group_tests_name("link/refusals", tests, NULL, NULL);
    return failed + RUN_ROWS("RLIMIT_FSIZE", limits, a_limit_on_files_does_not_kill);
}
