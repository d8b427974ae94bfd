/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <time.h>

#include "tiered.h"

const struct tn_tier two[2] = {{0, 100, 10}, {2, 0, 0}}, three[3] = {{0, 50, 0}, {1, 50, 0}, {3, 0, 0}};

const char program[] = "@total = global i64 0\n"
                       "define i64 @sum(i64 %n) noinline {\nentry:\n  br label %loop\nloop:\n"
                       "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n  %s = phi i64 [ 0, %entry ], [ %t, %loop ]\n"
                       "  %t = add i64 %s, %i\n  %j = add i64 %i, 1\n  %c = icmp ule i64 %j, %n\n"
                       "  br i1 %c, label %loop, label %done\ndone:\n  ret i64 %t\n}\n"
                       "define i64 @call(i64 %n) {\n  %s = call i64 @sum(i64 %n)\n  %o = load i64, ptr @total\n"
                       "  %t = add i64 %o, 1\n  store i64 %t, ptr @total\n  ret i64 %s\n}\n";

int errors;

static void note_error(void *context, const struct tn_error *err)
{
    (void)context, (void)err;
    __atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
}

long no_function(void)
{
    return -1;
}

void check(int code, const struct tn_error *err)
{
    if (code)
        fail_msg("%s", err->text);
}

struct tn_jit_options options_for(const struct setup *s)
{
    return (struct tn_jit_options){.size = sizeof(struct tn_jit_options),
                                   .lazy = 1,
                                   .on_failure = (void (*)(void))no_function,
                                   .on_error = note_error,
                                   .compiler = s->compiler,
                                   .tiers = s->tiers,
                                   .tier_count = s->count,
                                   .tiering = tn_jit_tiering(),
                                   .tier_bytes = s->bytes,
                                   .threads = s->threads};
}

void add(struct tn_jit *jit, struct tn_library *library, const char *ir, struct tn_tracker *owner)
{
    struct tn_error err;
    const struct tn_jit_module module = {
        .size = sizeof module, .name = "m.ll", .ir = ir, .length = strlen(ir), .owner = owner};
    check(tn_jit_add_module(jit, library, &module, &err), &err);
}

struct tn_jit *create(const struct setup *s, const char *ir)
{
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_options options = options_for(s);
    errors = 0;
    check(tn_jit_create(&options, &jit, &err), &err);
    if (ir)
        add(jit, NULL, ir, NULL);
    return jit;
}

function *find(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    void *address;
    function *found;
    check(tn_jit_lookup(jit, name, &address, &err), &err);
    memcpy(&found, &address, sizeof found);
    return found;
}

/* ---- what the JIT says ---- */

struct question {
    const char *name;
    struct tn_jit_function answer;
};

static int answer(void *context, const struct tn_jit_function *f)
{
    struct question *q = context;
    assert_int_equal(f->size, sizeof *f);
    if (strcmp(f->name, q->name) == 0)
        q->answer = *f;
    return 0;
}

struct tn_jit_function about(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    struct question q = {.name = name};
    check(tn_jit_each_function(jit, answer, &q, &err), &err);
    assert_true(q.answer.size != 0);
    return q.answer;
}

void rest(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

void wait_for_tier(struct tn_jit *jit, const char *name, int tier)
{
    while (about(jit, name).tier < tier)
        rest();
    assert_int_equal(about(jit, name).tier, tier);
}
