# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes of mimalloc's src/static.c, which includes all others, one without messages, statistics and huge pages: calls of
# what prints are empty until the file that defines it, and options that are off by default, which are all that the
# files about the system and the process ask for, are off. See mimalloc_quiet.h.

/^#include "mimalloc-internal.h"/a\
#define _mi_verbose_message(...) ((void)0)\
#define _mi_warning_message(...) ((void)0)\
#define _mi_error_message(...) ((void)0)\
#define _mi_trace_message(...) ((void)0)

/^#include "os.c"/i\
#define mi_option_is_enabled(option) false
/^#include "arena.c"/a\
#undef mi_option_is_enabled

/^#include "init.c"/i\
#define mi_stats_print(out) ((void)0)\
#define _mi_options_init() ((void)0)\
#define mi_option_is_enabled(option) false
/^#include "init.c"/a\
#undef mi_stats_print\
#undef _mi_options_init\
#undef mi_option_is_enabled

/^#include "options.c"/i\
#undef _mi_verbose_message\
#undef _mi_warning_message\
#undef _mi_error_message\
#undef _mi_trace_message
