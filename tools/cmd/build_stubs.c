/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The stubs of programs, which the command carries compressed: tools/stub/rules.mk. */

#include <stdlib.h>
#include <zlib.h>

#include "base/base.h"
#include "cmd/build_image.h"

/* The smallest one first; ends with a row of zeros. Weak: a command may be built without. */
extern const struct {
    const uint8_t *bytes;
    uint64_t size;
} tn__stubs[] __attribute__((weak));

bool tool_has_stub(size_t index)
{
    return tn__stubs && tn__stubs[index].bytes;
}

bool tool_unfold_stub(size_t index, struct tn_buffer *out)
{
    enum { GZIP = 16 + MAX_WBITS };
    const uint8_t *bytes = tn__stubs[index].bytes;
    uint64_t size = tn__stubs[index].size;
    out->size = tn__get32(bytes + size - 4); /* RFC 1952: how long it was */
    out->data = malloc(out->size);
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)bytes,
                       .avail_in = (uInt)size,
                       .next_out = out->data,
                       .avail_out = (uInt)out->size};
    int status = out->data && inflateInit2(&stream, GZIP) == Z_OK ? inflate(&stream, Z_FINISH) : Z_MEM_ERROR;
    inflateEnd(&stream);
    return status == Z_STREAM_END;
}
