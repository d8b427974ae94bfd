/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stands in for mimalloc where the runtime is built with a sanitizer: AddressSanitizer and LeakSanitizer watch malloc
 * and see nothing of what another allocator hands out. Only what src/base/alloc.c calls is here. */

#include <stdlib.h>

#define mi_malloc  malloc
#define mi_calloc  calloc
#define mi_realloc realloc
#define mi_free    free
