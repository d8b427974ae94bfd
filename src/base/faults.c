/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The fault plan of os.h: makes chosen requests to the system or the allocator fail, so that tests reach every error
 * path. Outside tests the plan is empty and costs one load per request. */

#include <errno.h>
#include <stdlib.h>

#include "faults.h"
#include "os.h"

enum { MAX_WORDS = 96 };

static struct {
    bool active;
    bool refuse_executable, refuse_fences;
    uint64_t failing_alloc; /* counts down, on all threads, to the allocation that fails; 0: none */
    unsigned count, at;
    struct {
        char action;
        bool forever;
    } words[MAX_WORDS];
} plan;

static bool parse_word(const char *word, size_t length)
{
    char *end;
    switch (*word) {
    case 'a':
        plan.failing_alloc = strtoull(word + 1, &end, 10);
        return word[1] >= '0' && word[1] <= '9' && end == word + length && plan.failing_alloc;
    case 'x':
        plan.refuse_executable = true;
        return length == 1;
    case 'm':
        plan.refuse_fences = true;
        return length == 1;
    case '.':
    case 'h':
    case 'F':
    case 'P':
    case 'N':
    case 'I':
    case 's':
        if (plan.count == MAX_WORDS || length > 2 || (length == 2 && word[1] != '*'))
            return false;
        plan.words[plan.count].action = *word;
        plan.words[plan.count++].forever = length == 2;
        return true;
    default:
        return false;
    }
}

int tn__os_set_faults(const char *text)
{
    memset(&plan, 0, sizeof plan);
    if (!text)
        return 0;
    for (;;) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        if (!length)
            break;
        if (!parse_word(text, length)) {
            memset(&plan, 0, sizeof plan);
            return EINVAL;
        }
        text += length;
    }
    plan.active = true;
    return 0;
}

bool tn__os_alloc_fault(void)
{
    if (!plan.active)
        return false;
    uint64_t left = __atomic_load_n(&plan.failing_alloc, __ATOMIC_RELAXED);
    while (left &&
           !__atomic_compare_exchange_n(&plan.failing_alloc, &left, left - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return left == 1;
}

bool tn__os_fence_fault(void)
{
    return plan.refuse_fences;
}

int tn__os_fault(bool executable, bool *ignore_hint)
{
    return tn__os_transfer_fault(executable, ignore_hint, NULL);
}

int tn__os_transfer_fault(bool executable, bool *ignore_hint, bool *half)
{
    if (!plan.active)
        return 0;
    if (executable && plan.refuse_executable)
        return EACCES;
    if (plan.at == plan.count)
        return 0;
    char action = plan.words[plan.at].action;
    if (!plan.words[plan.at].forever)
        plan.at++;
    if (action == 'h' && ignore_hint)
        *ignore_hint = true;
    if (action == 's' && half)
        *half = true;
    return action == 'F' ? ENOMEM : action == 'P' ? EACCES : action == 'N' ? ENOSPC : action == 'I' ? EIO : 0;
}
