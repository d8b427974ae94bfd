/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "tiered.h"

static const struct tn_tier tiers[] = {{0, 1000, 0}, {2, 0, 0}};

struct tn_jit *create_tiered(bool retires)
{
    struct tn_jit *jit;
    struct tn_error err;
    struct tn_jit_options options = options_for(true);
    toy_calls.has_levels = true;
    options.tiers = tiers;
    options.tier_count = 2;
    options.tiering = tn_jit_tiering();
    options.retire_bodies = retires;
    check(tn_jit_create(&options, &jit, &err), &err);
    return jit;
}

void add(struct tn_jit *jit, struct tn_library *library, const char *program, struct tn_tracker *owner)
{
    struct tn_error err;
    struct tn_jit_module module = toy_module(program);
    module.owner = owner;
    check(tn_jit_add_module(jit, library, &module, &err), &err);
}

int try_replace(struct tn_jit *jit, const char *program, struct tn_assumption *a, struct tn_error *err)
{
    struct tn_jit_module module = toy_module(program);
    module.assumptions = &a;
    module.assumption_count = a ? 1 : 0;
    return tn_jit_replace(jit, NULL, &module, err);
}

void replace(struct tn_jit *jit, const char *program, struct tn_assumption *a)
{
    struct tn_error err;
    check(try_replace(jit, program, a, &err), &err);
}

void request(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    check(tn_jit_request_tier(jit, name, 1, &err), &err);
}

void wait_for(bool (*holds)(const void *context), const void *context)
{
    while (!holds(context))
        tn__os_relax();
}

bool is_raised(const void *first)
{
    return call(first, 1) >= 1000;
}
