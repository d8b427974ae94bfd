/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Indirect functions (data/ifunc.c, ifunc_user.c): calls go to the function that the resolver returns, and its address
 * is the same everywhere. */

#include "support.h"

static const char *const ways[] = {WAYS};

static void the_resolvers_answer_is_called(void **state)
{
    const char *way = *(const char **)*state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct fixture f = open_fixture(NULL);
        char names[2][128];
        snprintf(names[swapped], sizeof *names, "ifunc.%s.o", way);
        snprintf(names[!swapped], sizeof *names, "ifunc_user.%s.o", way);
        add_file(&f, names[0]);
        add_file(&f, names[1]);
        assert_int_equal(call(&f, "call_from_elsewhere"), 1042);
        assert_int_equal(call(&f, "call_both"), 4243);
        assert_int_equal(call(&f, "chosen"), 42);
        void *address = lookup(&f, "address_of_chosen");
        void *(*function)(void);
        memcpy(&function, &address, sizeof function);
        assert_ptr_equal(function(), lookup(&f, "chosen"));
        assert_ptr_equal(*(void **)lookup(&f, "pointer_to_chosen"), lookup(&f, "chosen"));
        close_fixture(&f);
    }
}

int main(void)
{
    return run_rows("link/ifunc", ways, COUNT(ways), sizeof *ways, the_resolvers_answer_is_called);
}
