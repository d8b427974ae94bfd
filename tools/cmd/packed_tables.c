/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tables of LLVM's disassembler, which the file has compressed: see tools/build/small/tables.mk. */

#include <zlib.h>

#include "cmd/disasm.h"

/* The linker's names for the ends of sections. Weak: there are none without a target that has such tables. */
extern uint8_t __start_tn_tables[] __attribute__((weak)), __stop_tn_tables[] __attribute__((weak));
extern const uint8_t tn__packed_tables[] __attribute__((weak)), __stop_tn_packed[] __attribute__((weak));

bool tool_unfold_tables(void)
{
    enum { GZIP = 16 + MAX_WBITS };
    z_stream stream = {
        .next_in = (uint8_t *)(uintptr_t)tn__packed_tables,
        .avail_in = (uInt)(__stop_tn_packed - tn__packed_tables),
        .next_out = __start_tn_tables,
        .avail_out = (uInt)(__stop_tn_tables - __start_tn_tables),
    };
    if (!stream.avail_out)
        return true;
    int status = inflateInit2(&stream, GZIP) == Z_OK ? inflate(&stream, Z_FINISH) : Z_MEM_ERROR;
    inflateEnd(&stream);
    return status == Z_STREAM_END;
}
