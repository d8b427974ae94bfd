/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The stubs of programs, which the command carries compressed (tools/stub/rules.mk). Those of another machine are
 * files. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "cmd/build_image.h"

/* The smallest one first; ends with a row of zeros. Weak: a command may be built without. */
extern const struct {
    const uint8_t *bytes;
    uint64_t size;
} tn__stubs[] __attribute__((weak));

/* Files of --stubs, in the same order. */
static const char *const names[] = {"small", "managed", "objects", "full", "full_objects"};

bool tool_has_stub(const struct settings *settings, size_t index)
{
    return settings->stubs ? index < sizeof names / sizeof *names : tn__stubs && tn__stubs[index].bytes;
}

static bool unfold(size_t index, struct tn_buffer *out)
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
    return status == Z_STREAM_END || (tool_fail(STATUS_FAILURE, "out of memory"), false);
}

bool tool_unfold_stub(const struct settings *settings, size_t index, struct tn_buffer *out)
{
    char *path = NULL;
    struct file file = {0};
    *out = (struct tn_buffer){0};
    if (!settings->stubs)
        return unfold(index, out);
    if (asprintf(&path, "%s/%s", settings->stubs, names[index]) < 0)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    bool ok = tool_read(path, &file);
    if (ok && (out->data = malloc(file.size + 1))) {
        memcpy(out->data, file.bytes, file.size);
        out->size = file.size;
    } else if (ok) {
        ok = (tool_fail(STATUS_FAILURE, "out of memory"), false);
    }
    tool_release(&file);
    free(path);
    return ok;
}
