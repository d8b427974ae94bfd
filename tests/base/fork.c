/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a fork does under its locks. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fork.h"

static uint64_t before, seen; /* the generation before the fork, and under the locks after it */

static void note_before(void)
{
    before = tn__fork_generation();
}

static void note_after(bool in_child)
{
    (void)in_child;
    seen = tn__fork_generation();
}

/* Whoever takes a lock after the fork must not see the old generation: it would go on with memory that the other
 * process shares, until another thread sees the new one. */
static void the_generation_changes_under_the_locks_on_both_sides(void **state)
{
    (void)state;
    static const struct tn__fork_hooks hooks = {.before = note_before, .after = note_after};
    tn__forks_watch(TN__LEVEL_SESSIONS, &hooks); /* which comes before anything asks for the generation */
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (!pid)
            _exit(seen == before || seen != tn__fork_generation());
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_not_equal(seen, before);
        assert_int_equal(seen, tn__fork_generation());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generation_changes_under_the_locks_on_both_sides),
    };
    return cmocka_run_group_tests_name("base/fork", tests, NULL, NULL);
}
