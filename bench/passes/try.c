/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A handler in each turn of a loop, which uses a box that is older; one throw in eight. The twin begins its handlers by
 * the calls that lower-handlers makes.
 *     try [TURNS] */

#include "handlers.h"
#include "kernel.h"

struct number {
    long value;
};
TN_LEAF(struct number);
typedef BOX(struct number) number;

#ifdef TN_UNMANAGED
#define TRY(handler) (tenon_enter_handler(handler), __sigsetjmp((handler)->buffer, 0))
#else
int except_enter(void) __asm__("tenon.except_enter") __attribute__((returns_twice));
#define TRY(handler) except_enter()
#endif

static long checked(long n)
{
    if (n % 8 == 0)
        throw_value(1);
    return n;
}

static long turn(long n)
{
    number box = NEW_BOX(struct number, n);
#ifdef TN_UNMANAGED
    struct handler handler;
#endif
    long result;
    if (!TRY(&handler)) {
        result = checked(UNBOX(box).value);
        tenon_pop_handler(1);
    } else {
        tenon_pop_handler(1);
        result = -UNBOX(box).value;
    }
    return result;
}

int main(int argc, char **argv)
{
    long turns = (long)argument(argc, argv, 1, 1000000), sum = 0;
    for (long i = 0; i < turns; i++)
        sum += turn(i);
    printf("%ld\n", sum);
    return 0;
}
