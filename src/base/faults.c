/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The fault plan of os.h: makes chosen requests to the system or the allocator fail, so that tests reach every error
 * path. Outside tests the plan is empty and costs one load per request. */

#include <errno.h>
#include <stdlib.h>

#include "faults.h"
#include "os.h"

enum { MAX_WORDS = 96 };

struct plan {
    bool refuse_executable, refuse_fences;
    uint64_t failing_alloc; /* counts down, on all threads, to the allocation that fails; 0: none */
    unsigned count, at;
    struct word {
        char action;
        bool forever;
    } words[MAX_WORDS];
};

/* The plan may change while other threads make requests, so its members are atomic, one by one: which plan such a
 * request follows is open. */
static struct plan plan;
static bool is_active;

#define GET(member)        __atomic_load_n(&plan.member, __ATOMIC_RELAXED)
#define SET(member, value) __atomic_store_n(&plan.member, value, __ATOMIC_RELAXED)

static bool parse_word(struct plan *next, const char *word, size_t length)
{
    char *end;
    switch (*word) {
    case 'a':
        next->failing_alloc = strtoull(word + 1, &end, 10);
        return word[1] >= '0' && word[1] <= '9' && end == word + length && next->failing_alloc;
    case 'x':
        next->refuse_executable = true;
        return length == 1;
    case 'm':
        next->refuse_fences = true;
        return length == 1;
    case '.':
    case 'h':
    case 'F':
    case 'P':
    case 'N':
    case 'I':
    case 'M':
    case 'B':
    case 'i':
    case 's':
        if (next->count == MAX_WORDS || length > 2 || (length == 2 && word[1] != '*'))
            return false;
        next->words[next->count++] = (struct word){*word, length == 2};
        return true;
    default:
        return false;
    }
}

static bool parse(struct plan *next, const char *text)
{
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        if (!parse_word(next, text, length))
            return false;
        text += length;
    }
    return true;
}

static void publish(const struct plan *next)
{
    SET(refuse_executable, next->refuse_executable);
    SET(refuse_fences, next->refuse_fences);
    SET(failing_alloc, next->failing_alloc);
    SET(at, 0);
    SET(count, next->count);
    for (unsigned i = 0; i < next->count; i++) {
        SET(words[i].action, next->words[i].action);
        SET(words[i].forever, next->words[i].forever);
    }
}

int tn__os_set_faults(const char *text)
{
    struct plan next = {0};
    bool is_right = !text || parse(&next, text);
    __atomic_store_n(&is_active, false, __ATOMIC_RELAXED);
    publish(is_right ? &next : &(const struct plan){0});
    __atomic_store_n(&is_active, is_right && text, __ATOMIC_RELEASE);
    return is_right ? 0 : EINVAL;
}

static bool has_plan(void)
{
    return __atomic_load_n(&is_active, __ATOMIC_ACQUIRE);
}

bool tn__os_alloc_fault(void)
{
    if (!has_plan())
        return false;
    uint64_t left = GET(failing_alloc);
    while (left &&
           !__atomic_compare_exchange_n(&plan.failing_alloc, &left, left - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return left == 1;
}

bool tn__os_fence_fault(void)
{
    return GET(refuse_fences);
}

/* The next word of the plan; '.' if there is none. Inlined: products have one of its callers. */
__attribute__((always_inline)) static inline char take_word(void)
{
    for (unsigned at = GET(at); at < GET(count);) {
        char action = GET(words[at].action);
        if (GET(words[at].forever) ||
            __atomic_compare_exchange_n(&plan.at, &at, at + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return action;
    }
    return '.';
}

/* Two arrays, because each byte of them is a part of the smallest product. */
static int error_of(char action)
{
    static const char actions[] = "FPNIMB";
    static const uint8_t errors[] = {ENOMEM, EACCES, ENOSPC, EIO, EMFILE, EPIPE};
    const char *found = strchr(actions, action);
    return found ? errors[found - actions] : 0;
}

int tn__os_transfer_fault(bool executable, bool *ignore_hint, bool *half)
{
    if (!has_plan())
        return 0;
    if (executable && GET(refuse_executable))
        return EACCES;
    char action = take_word();
    if (action == 'h' && ignore_hint)
        *ignore_hint = true;
    if (action == 's' && half)
        *half = true;
    return error_of(action);
}

int tn__os_fault(bool executable, bool *ignore_hint)
{
    return tn__os_transfer_fault(executable, ignore_hint, NULL);
}

int tn__os_socket_fault(bool *half)
{
    *half = false;
    if (!has_plan())
        return 0;
    char action = take_word();
    *half = action == 's';
    return action == 'i' ? EINTR : error_of(action);
}
