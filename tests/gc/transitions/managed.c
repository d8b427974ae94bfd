/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For host.cpp: collected C whose calls of the host are transitions. Each function keeps a list meanwhile and
 * returns what it makes of it and of what the host returned. Compiled with -fexceptions, so that throws pass landing
 * pads. */

#include <setjmp.h>

#include "list.h"
#include "calls.h"

long work(long count)
{
    return sum_of(make_list(count));
}

/* ---- arguments and results ---- */

long pass_everything(void)
{
    node kept = make_list(10);
    struct large large = {{1, 2, 3, 4, 5, 6, 7}};
    struct mixed mixed = {8, 9.5};
    long sum = in_registers(1, 2, 3, 4, 5, 6, 7.5, 8.5);
    sum += in_memory(1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, (char)10, large, 11);
    sum += (long)extended(1.5L, mixed, 2.5L);
    struct large back = returned_large(large);
    struct mixed both = returned_mixed(3);
    struct pair two = returned_pair(4);
    four vector = returned_vector((four){1, 2, 3, 4});
    _Complex double complex = returned_complex(1 + 2i);
    sum += back.words[0] + back.words[6] + both.number + (long)both.real + two.first + two.second;
    sum += (long)(vector[0] + vector[3]) + (long)__real__ complex + (long)__imag__ complex;
    sum += (long)returned_extended(5) + (long)returned_float(6);
    return sum + sum_of(kept);
}

/* ---- calls back ---- */

long go_down(long depth)
{
    node kept = make_list(depth + 3);
    long below = depth ? call_back(depth - 1) : 0;
    return below + sum_of(kept);
}

/* ---- throws ---- */

static _Thread_local long unwound;

static void note(node *list)
{
    unwound += sum_of(*list);
    make_list(3);
    unwound += sum_of(*list);
}

/* Each level adds what its landing pad finds. */
long be_thrown_through(long depth)
{
    __attribute__((cleanup(note))) node kept = make_list(depth + 2);
    throw_below(depth);
    return sum_of(kept);
}

long take_unwound(void)
{
    long sum = unwound;
    unwound = 0;
    return sum;
}

/* ---- jumps ---- */

/* The host leaves its call by longjmp, from native frames; a reference lives into the second return. */
long be_jumped_to(long depth)
{
    jmp_buf here;
    node kept = make_list(depth + 4);
    volatile long before = sum_of(kept);
    if (!setjmp(here))
        jump_below(&here, depth);
    return before == sum_of(kept) ? sum_of(make_list(depth + 1)) : -1;
}

/* Between the jump and its target. */
long be_jumped_over(void *target, long depth)
{
    node kept = make_list(depth);
    jump_below(target, depth);
    return sum_of(kept);
}

/* Jumps out of a call back, over the host's frames, and leaves two levels there; then the same calls are made again. */
static _Thread_local jmp_buf *way_out;

static void jump_out(void)
{
    make_list(2);
    longjmp(*way_out, 1);
}

long jump_and_call(long depth)
{
    jmp_buf here;
    node kept = make_list(3);
    way_out = &here;
    if (!setjmp(here))
        call_function(jump_out);
    long below = call_back(depth);
    return below + call_back(depth) + sum_of(kept);
}

/* ---- while the world is stopped ---- */

/* Each of these is in a transition when the world stops; 1: it came back before that was over. */

/* Its list is not deleted by the compiler, so that it has a safepoint, and thus an entry. */
static node last;

long come_back(void)
{
    long early = is_stopped;
    last = make_list(1);
    return early;
}

long return_from_stop(void)
{
    node kept = make_list(3);
    wait_for_stop();
    return is_stopped + (sum_of(kept) != 3);
}

static _Thread_local long early;

static void note_early(node *list)
{
    early = is_stopped + (sum_of(*list) != 3);
}

static __attribute__((noinline)) void be_unwound(void)
{
    __attribute__((cleanup(note_early))) node kept = make_list(3);
    throw_in_stop();
    make_list(sum_of(kept));
}

long be_thrown_in_stop(void)
{
    early = 7;
    be_unwound();
    return early;
}

long take_early(void)
{
    return early;
}

long be_jumped_to_in_stop(void)
{
    jmp_buf here;
    node kept = make_list(3);
    if (!setjmp(here)) {
        jump_in_stop(&here);
        return 7;
    }
    long result = is_stopped;
    return result + (sum_of(kept) != 3);
}

/* The jump leaves a level behind that the entry finds. */
long jump_and_enter_in_stop(void)
{
    jmp_buf here;
    node kept = make_list(3);
    way_out = &here;
    if (!setjmp(here))
        call_function(jump_out);
    return enter_from_stop() + (sum_of(kept) != 3);
}

/* ---- handles ---- */

struct tn_handle *make_handle(node object); /* of the host: passes a reference, so it is no transition */

long read_through_handle(void)
{
    node list = make_list(5);
    struct tn_handle *handle = make_handle(list);
    make_list(10);
    long value = value_of(handle);
    tn_handle_free(handle);
    return value * 10 + list->value;
}
