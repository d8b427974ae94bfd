/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What building and looking at images computes of the tables of items, and opening does not: so programs that open
 * images do not have this. */

#include <string.h>

#include "image/load/image.h"

uint64_t tn__image_digest(const struct tn__image_view *view)
{
    uint32_t count = view->tables[TN__IMAGE_OFFER_TABLE].count;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct tn__image_item item;
        if (!tn__image_item(view, TN__IMAGE_OFFER_TABLE, i, &item))
            continue;
        const uint64_t numbers[] = {item.kind, item.alignment, item.size};
        sum = tn__image_checksum(numbers, sizeof numbers, sum);
        sum = tn__image_checksum(item.name, strlen(item.name), sum);
        sum = tn__image_checksum(item.text, strlen(item.text), sum);
    }
    return count && !sum ? 1 : sum;
}

static int check_rows(const char *name, const struct tn__image_view *view, enum tn__image_table table, const char *what,
                      struct tn_error *err)
{
    struct tn__image_item item, last;
    for (uint32_t i = 0; i < view->tables[table].count; i++, last = item) {
        if (!tn__image_item(view, table, i, &item))
            return tn__fail(err, TN_EFORMAT, "%s: %s %u is wrong", name, what, i);
        if (i && (last.kind > item.kind || (last.kind == item.kind && strcmp(last.name, item.name) >= 0)))
            return tn__fail(err, TN_EFORMAT, "%s: %s %u, '%s', is out of order", name, what, i, item.name);
    }
    return 0;
}

int tn__image_check_items(const char *name, const struct tn__image_view *view, struct tn_error *err)
{
    uint64_t noted = tn__get64(view->header + TN__IMAGE_AT_OFFERS), digest = tn__image_digest(view);
    int code = check_rows(name, view, TN__IMAGE_OFFER_TABLE, "offer", err);
    if (!code)
        code = check_rows(name, view, TN__IMAGE_EDGE_TABLE, "edge", err);
    if (!code && noted != digest)
        code = tn__fail(err, TN_EFORMAT, "%s: the digest of what it offers is %016llx, should be %016llx", name,
                        (unsigned long long)noted, (unsigned long long)digest);
    return code;
}
