/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "base/base.h"

bool tn__buffer_fill(struct tn_buffer *out, const void *bytes, size_t size)
{
    out->data = tn__alloc(NULL, size ? size : 1);
    if (!out->data)
        return false;
    if (size) /* else `bytes` may be NULL */
        memcpy(out->data, bytes, size);
    out->size = size;
    return true;
}

void tn_buffer_free(struct tn_buffer *buffer)
{
    if (!buffer)
        return;
    tn__free(NULL, buffer->data);
    *buffer = (struct tn_buffer){0};
}
