/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What runs first at exit (base/at_exit.h). Each case is a child, which writes a letter for each function that runs. */

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/at_exit.h"

enum { STATUS = 3, LAST_STATUS = 4 };

static int out; /* a pipe */

static void say(char letter)
{
    if (write(out, &letter, 1) != 1)
        _exit(99);
}

struct named {
    struct tn__at_exit what;
    char name;
    void (*then)(void);
};

static void call(struct tn__at_exit *what)
{
    struct named *named = tn__container_of(what, struct named, what);
    say(named->name);
    if (named->then)
        named->then();
}

static struct named a = {{.function = call}, 'a', NULL}, b = {{.function = call}, 'b', NULL},
                    c = {{.function = call}, 'c', NULL};

static void add(struct named *named)
{
    if (!tn__at_exit_add(&named->what))
        _exit(98);
}

/* The destructor of a static object of a compiler, which makes it now. */
static void die(void)
{
    say('.');
}

static void make_object(void)
{
    if (atexit(die))
        _exit(97);
}

/* ---- cases ---- */

static void newest_first(void)
{
    add(&a);
    add(&b);
    add(&a);
}

/* Those that are last come after the others, whenever they are added. */
static void last_ones(void)
{
    static struct named d = {{.function = call, .is_last = true}, 'd', NULL},
                        e = {{.function = call, .is_last = true}, 'e', NULL};
    add(&a);
    add(&d);
    add(&b);
    add(&e);
    add(&c);
}

static void before_objects(void)
{
    make_object();
    add(&a);
    make_object();
    make_object();
    tn__at_exit_renew();
}

static void removed(void)
{
    add(&a);
    add(&b);
    add(&c);
    tn__at_exit_remove(&b.what);
    tn__at_exit_remove(&b.what);
    tn__at_exit_remove(&c.what);
    add(&c);
}

static void never_added(void)
{
    make_object();
    tn__at_exit_renew();
    tn__at_exit_remove(&a.what);
}

static void leave_again(void)
{
    make_object();
    tn__at_exit_renew();
    add(&c);
    make_object();
    tn__at_exit_renew();
    exit(LAST_STATUS);
}

static void exit_within(void)
{
    b.then = leave_again;
    add(&a);
    add(&b);
}

static void tell_status(void)
{
    say(tn__exit_tells_status() && tn__exit_status() == STATUS ? 's' : '?');
}

static void with_status(void)
{
    a.then = tell_status;
    add(&a);
    tell_status();
}

static void *renew_for_ever(void *unused)
{
    for (;;)
        tn__at_exit_renew();
    return unused;
}

static void others_renew(void)
{
    pthread_t thread;
    add(&a);
    add(&b);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, renew_for_ever, NULL))
            _exit(96);
    for (int i = 0; i < 1000; i++)
        tn__at_exit_renew();
}

/* Also a lock that another thread held. */
static void in_a_child(void)
{
    int status = 0;
    others_renew();
    pid_t child = fork();
    if (child)
        _exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 95);
}

static const struct {
    const char *name;
    void (*run)(void);
    const char *letters;
    int status, times;
} cases[] = {
    {"the newest comes first, once", newest_first, "ba", STATUS, 1},
    {"those that are last", last_ones, "cbaed", STATUS, 1},
    {"before objects that were made later", before_objects, "a...", STATUS, 1},
    {"what is removed does not run", removed, "ca", STATUS, 1},
    {"nothing is there", never_added, ".", STATUS, 1},
    {"exit within a function", exit_within, "bca..", LAST_STATUS, 1},
    {"the status", with_status, "?as", STATUS, 1},
    {"other threads renew", others_renew, "ba", STATUS, 20},
    {"other threads renew, in the parent", in_a_child, "ba", STATUS, 20},
};

static void check(size_t i)
{
    int ends[2], status;
    char letters[64] = "";
    size_t length = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        close(ends[0]);
        out = ends[1];
        cases[i].run();
        exit(STATUS);
    }
    close(ends[1]);
    for (ssize_t more; length < sizeof letters - 1 && (more = read(ends[0], letters + length, 1)) > 0;)
        length += (size_t)more;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (strcmp(letters, cases[i].letters) != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != cases[i].status)
        fail_msg("%s: '%s' instead of '%s', status %#x", cases[i].name, letters, cases[i].letters, (unsigned)status);
}

static void in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++)
        for (int time = 0; time < cases[i].times; time++)
            check(i);
}

/* The C library's list grows with what others register, but not with how often ours is renewed. */
static void the_list_does_not_grow(void **state)
{
    (void)state;
    enum { OFTEN = 10000 };
    static struct tn__at_exit what = {.function = call};
    assert_true(tn__at_exit_add(&what));
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < OFTEN; i++)
        tn__at_exit_renew();
    assert_true(mallinfo2().uordblks - before < OFTEN);
    tn__at_exit_remove(&what);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(the_list_does_not_grow),
    };
    return cmocka_run_group_tests_name("base/at_exit", tests, NULL, NULL);
}
