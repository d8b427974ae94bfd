/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "trace.h"

#include <unwind.h>

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *argument)
{
    struct trace *trace = argument;
    if (trace->count == COUNT(trace->functions))
        return _URC_END_OF_STACK;
    trace->functions[trace->count++] = _Unwind_GetRegionStart(context);
    return _URC_NO_REASON;
}

int take_trace(void *context)
{
    struct trace *trace = context;
    trace->count = 0;
    _Unwind_Backtrace(note_frame, trace);
    return 0;
}

size_t position(const struct trace *trace, const void *function)
{
    for (size_t i = 0; i < trace->count; i++)
        if (trace->functions[i] == (uintptr_t)function)
            return i;
    return SIZE_MAX;
}
