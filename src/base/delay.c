/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "delay.h"

#define FIRST_REPORT_NS 1000000000ull

struct tn__watched_wait tn__delay_begin(tn_on_delay *report, void *context)
{
    uint64_t now = tn__os_now_ns();
    return (struct tn__watched_wait){now, now + FIRST_REPORT_NS, report, context};
}

uint64_t tn__delay_so_far(const struct tn__watched_wait *delay)
{
    return tn__os_now_ns() - delay->began;
}

uint64_t tn__delay_until_report(const struct tn__watched_wait *delay)
{
    uint64_t now = tn__os_now_ns();
    if (!delay->report)
        return UINT64_MAX;
    return now < delay->due ? delay->due - now : 0;
}

bool tn__delay_is_due(struct tn__watched_wait *delay)
{
    if (tn__delay_until_report(delay))
        return false;
    delay->due += delay->due - delay->began;
    return true;
}

void tn__delay_report(const struct tn__watched_wait *delay, uint32_t thread, const void *code)
{
    const struct tn_delay known = {.size = sizeof known,
                                   .waited_ns = tn__delay_so_far(delay),
                                   .thread = thread,
                                   .code = code,
                                   .system_call = tn__os_system_call(thread)};
    delay->report(delay->context, &known);
}
