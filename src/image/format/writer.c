/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "image/format/writer.h"

uint32_t tn__image_add_bytes(struct tn__image_text *text, const void *bytes, size_t size)
{
    size_t at = text->size;
    if (!tn__grow(NULL, &text->bytes, &text->capacity, at + size, 1)) {
        text->full = true;
        return 0;
    }
    if (size)
        memcpy(text->bytes + at, bytes, size);
    text->size += size;
    return (uint32_t)at;
}

uint32_t tn__image_add_text(struct tn__image_text *text, const char *string)
{
    return tn__image_add_bytes(text, string, strlen(string) + 1);
}

void tn__image_write_header(uint8_t *header, const struct tn__image_numbers *numbers)
{
    memcpy(header, TN__IMAGE_MAGIC, 8);
    tn__put32(header + TN__IMAGE_AT_VERSION, TN__IMAGE_VERSION);
    tn__put32(header + TN__IMAGE_AT_SIZE, numbers->size);
    tn__put32(header + TN__IMAGE_AT_BYTE_ORDER, TN__IMAGE_BYTE_ORDER);
    tn__put16(header + TN__IMAGE_AT_MACHINE, numbers->machine);
    header[TN__IMAGE_AT_POINTER] = 8;
    header[TN__IMAGE_AT_SYSTEM] = TN__IMAGE_LINUX;
    tn__put32(header + TN__IMAGE_AT_ABI, TN_RUNTIME_ABI);
    tn__put32(header + TN__IMAGE_AT_CPU_TABLES, TN_CPU_TABLES);
    tn__put32(header + TN__IMAGE_AT_SLOTS, numbers->slots);
    tn__put32(header + TN__IMAGE_AT_PLACES, numbers->places);
    tn__put32(header + TN__IMAGE_AT_DIRECTORY, numbers->tables);
    tn__put32(header + TN__IMAGE_AT_ROW, TN__IMAGE_ENTRY);
    tn__put32(header + TN__IMAGE_AT_NAME, numbers->name);
    tn__put32(header + TN__IMAGE_AT_GC_ABI, numbers->gc_abi);
}

uint8_t *tn__image_begin_table(uint8_t *header, size_t index, enum tn__image_table kind, size_t count, size_t row,
                               size_t *size)
{
    uint8_t *entry = header + TN__IMAGE_HEADER + TN__IMAGE_ENTRY * index, *rows = header + *size;
    tn__put32(entry + TN__IMAGE_ENTRY_KIND, kind);
    tn__put32(entry + TN__IMAGE_ENTRY_FLAGS, TN__IMAGE_REQUIRED);
    tn__put32(entry + TN__IMAGE_ENTRY_ROW, (uint32_t)row);
    tn__put32(entry + TN__IMAGE_ENTRY_OFFSET, (uint32_t)*size);
    tn__put32(entry + TN__IMAGE_ENTRY_ROWS, (uint32_t)count);
    *size += count * row;
    return rows;
}
