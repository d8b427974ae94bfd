/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "claimed_image.h"
#include "image/format/format.h"
#include "image/format/writer.h"

enum { TABLES = TN__IMAGE_CODE_TABLES + 1, PLACES = 4, ROOM = 1024 };

typedef long function(long x);

static function *first_body;
static _Atomic uintptr_t cell; /* its word */

static long version(long x)
{
    return first_body(x);
}

static long entry(long x)
{
    uintptr_t word = cell;
    return (word ? (function *)word : version)(x);
}

static _Alignas(8) uint8_t header[ROOM]; /* tables and places follow it */

static uint16_t machine(void)
{
    struct tn_cpu host = {.size = sizeof host};
    assert_int_equal(tn_cpu_host(&host, NULL), 0);
    return tn__image_machine(tn_cpu_arch_name(host.arch));
}

/* As doc/IMAGE.md has it. */
static void write_image(void)
{
    static const char text[16] = "generic\0first\0"; /* offset 15: an empty name */
    size_t size = TN__IMAGE_HEADER + TABLES * TN__IMAGE_ENTRY, at = 0;
    memset(header, 0, sizeof header);
    size = tn__align_up(size, 8);
    uint8_t *row = tn__image_begin_table(header, at++, TN__IMAGE_TARGET_TABLE, 1, TN__IMAGE_TARGET, &size);
    tn__put32(row + TN__IMAGE_TARGET_EXTRA, 15);
    row = tn__image_begin_table(header, at++, TN__IMAGE_FUNCTION_TABLE, 1, TN__IMAGE_FUNCTION, &size);
    tn__put32(row + TN__IMAGE_FUNCTION_NAME, 8);
    tn__put32(row + TN__IMAGE_FUNCTION_VERSIONS, TN__IMAGE_PUBLIC);
    row = tn__image_begin_table(header, at++, TN__IMAGE_SET_TABLE, 1, 8, &size);
    tn__put64(row, 1);
    tn__image_begin_table(header, at++, TN__IMAGE_NEED_TABLE, 0, 4, &size);
    tn__image_begin_table(header, at++, TN__IMAGE_DEPENDENCY_TABLE, 0, TN__IMAGE_DEPENDENCY, &size);
    row = tn__image_begin_table(header, at++, TN__IMAGE_TEXT_TABLE, sizeof text, 1, &size);
    memcpy(row, text, sizeof text);
    row = tn__image_begin_table(header, at++, TN__IMAGE_CELL_TABLE, 1, TN__IMAGE_CELL_ROW, &size);
    tn__put32(row + TN__IMAGE_CELL_FUNCTION, 0);
    size = tn__align_up(size, 8);
    assert_true(size + 4 * PLACES <= sizeof header);
    const struct tn__image_numbers numbers = {
        .machine = machine(), .size = (uint32_t)size, .places = PLACES, .tables = TABLES, .name = 8};
    tn__image_write_header(header, &numbers);
    tn__put64(header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(header, (uint32_t)size));
    const uintptr_t places[PLACES] = {(uintptr_t)header, (uintptr_t)version, (uintptr_t)&cell, (uintptr_t)entry};
    for (size_t i = 0; i < PLACES; i++)
        tn__put32(header + size + 4 * i, (uint32_t)(places[i] - (uintptr_t)header));
}

struct tn_image *open_claimed_image(const void *body)
{
    struct tn_image *image;
    struct tn_error err;
    first_body = (function *)body;
    cell = 0;
    write_image();
    if (tn_image_open_linked(header, NULL, &image, &err))
        fail_msg("%s", err.text);
    return image;
}

const void *version_of(const struct tn_image *image)
{
    struct tn_image_function first = {.size = sizeof first};
    assert_int_equal(tn_image_function(image, 0, &first, NULL), 0);
    return first.version;
}
