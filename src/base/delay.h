/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Waits for other threads that may take long: how long to sleep, and when to report which thread it is. Used by
 * collections and by tn_quiesce. */

#ifndef TENON_DELAY_H
#define TENON_DELAY_H

#include "base.h"
#include "os.h"
#include "tenon/thread.h"

#pragma GCC visibility push(hidden)

struct tn__watched_wait {
    uint64_t began, due; /* in ns; `due`: of the next report */
    tn_on_delay *report; /* NULL: none */
    void *context;
};

struct tn__watched_wait tn__delay_begin(tn_on_delay *report, void *context);

/* How long the wait has taken, in ns. */
uint64_t tn__delay_so_far(const struct tn__watched_wait *delay);

/* The longest time to sleep until the next report; UINT64_MAX: there is none. */
uint64_t tn__delay_until_report(const struct tn__watched_wait *delay);

/* True if a report is due: one second after the beginning, and each time the wait has become twice as long. */
bool tn__delay_is_due(struct tn__watched_wait *delay);

/* Reports what was found out about the thread that is waited for. No lock is needed. */
void tn__delay_report(const struct tn__watched_wait *delay, uint32_t thread, const void *code);

#pragma GCC visibility pop
#endif
