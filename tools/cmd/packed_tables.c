/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tables of LLVM's disassembler and assembler, which the file has compressed: see tools/build/small/tables.mk. */

#include <pthread.h>
#include <stddef.h>
#include <zlib.h>

#include "cmd/packed_tables.h"

/* The linker's names for the ends of sections, and a symbol that keeps one. Weak: there are none without a target that
 * has such tables. */
#define TABLES(name)                                                                                                   \
    extern uint8_t __start_tn_##name##_tables[] __attribute__((weak));                                                 \
    extern uint8_t __stop_tn_##name##_tables[] __attribute__((weak));                                                  \
    extern const uint8_t tn__packed_##name[] __attribute__((weak));                                                    \
    extern const uint8_t __stop_tn_##name##_packed[] __attribute__((weak));
TABLES(disassembler)
TABLES(parser)

/* `row`: bytes of most rows, as the differences of which the tables are compressed. */
static bool unfold(uint8_t *tables, const uint8_t *end, const uint8_t *packed, const uint8_t *packed_end, size_t row)
{
    enum { GZIP = 16 + MAX_WBITS };
    z_stream stream = {
        .next_in = (uint8_t *)(uintptr_t)packed,
        .avail_in = (uInt)(packed_end - packed),
        .next_out = tables,
        .avail_out = (uInt)(end - tables),
    };
    if (!stream.avail_out)
        return true;
    int status = inflateInit2(&stream, GZIP) == Z_OK ? inflate(&stream, Z_FINISH) : Z_MEM_ERROR;
    inflateEnd(&stream);
    for (uint8_t *at = tables + row; at < end; at++)
        *at = (uint8_t)(*at + at[-(ptrdiff_t)row]);
    return status == Z_STREAM_END;
}

#define UNFOLD(name, row)                                                                                              \
    unfold(__start_tn_##name##_tables, __stop_tn_##name##_tables, tn__packed_##name, __stop_tn_##name##_packed, row)

bool tool_unfold_disassembler(void)
{
    return UNFOLD(disassembler, 4);
}

bool tool_unfold_parser(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool done;
    pthread_mutex_lock(&lock);
    done = done || UNFOLD(parser, 16);
    pthread_mutex_unlock(&lock);
    return done;
}
