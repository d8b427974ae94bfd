/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Indirect functions: global, local, through a pointer, from the same object and from ifunc_user.c. */

static int answer(void)
{
    return 42;
}

static int other_answer(void)
{
    return 43;
}

static volatile int which; /* or the compiler would see through the resolvers */

static int (*resolve_global(void))(void)
{
    return which ? other_answer : answer;
}

static int (*resolve_local(void))(void)
{
    return which ? answer : other_answer;
}

int chosen(void) __attribute__((ifunc("resolve_global")));
static int chosen_here(void) __attribute__((ifunc("resolve_local")));
int (*const pointer_to_chosen)(void) = chosen;

int call_both(void)
{
    return 100 * chosen() + chosen_here();
}

int (*address_of_chosen(void))(void)
{
    return chosen;
}
