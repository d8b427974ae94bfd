# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes of mimalloc's src/static.c, which includes all others, one without messages and statistics: calls of what prints
# them are empty until the file that defines it. See mimalloc_quiet.h.

/^#include "mimalloc-internal.h"/a\
#define _mi_verbose_message(...) ((void)0)\
#define _mi_warning_message(...) ((void)0)\
#define _mi_error_message(...) ((void)0)\
#define _mi_trace_message(...) ((void)0)

/^#include "init.c"/i\
#define mi_stats_print(out) ((void)0)
/^#include "init.c"/a\
#undef mi_stats_print

/^#include "options.c"/i\
#undef _mi_verbose_message\
#undef _mi_warning_message\
#undef _mi_error_message\
#undef _mi_trace_message
