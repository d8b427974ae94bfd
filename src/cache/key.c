/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Keys: the SHA-256 of all that decides about the objects of a module. What is left out here makes a program run the
 * wrong code, so each member of the options has a row, and a test compares the rows with the struct. */

#include "cache/cache.h"
#include "cache/digest.h"

#define FORMAT "tenon cache 3"

#define ROW(member, part)                                                                                              \
    {                                                                                                                  \
#member, offsetof(struct tn_compile_options, member), sizeof((struct tn_compile_options){0}.member), part      \
    }

const struct tn__key_row tn__key_rows[] = {
    ROW(size, TN__KEY_NOTHING), /* options were taken: it is that of this version */
    ROW(triple, TN__KEY_TEXT),
    ROW(cpu, TN__KEY_TEXT),
    ROW(features, TN__KEY_TEXT),
    ROW(opt_level, TN__KEY_NUMBER),
    ROW(reloc_model, TN__KEY_NUMBER),
    ROW(code_model, TN__KEY_NUMBER),
    ROW(emit, TN__KEY_NUMBER),
    ROW(function_sections, TN__KEY_NUMBER),
    ROW(polls, TN__KEY_NUMBER),
    ROW(passes, TN__KEY_TEXT),
    ROW(observer, TN__KEY_OBSERVER),
    ROW(native, TN__KEY_NATIVE),
    ROW(verify_ir, TN__KEY_NOTHING),      /* it only refuses */
    ROW(assembly_files, TN__KEY_REFUSES), /* the files may change */
    ROW(hook, TN__KEY_REFUSES),
    ROW(hook_context, TN__KEY_NOTHING), /* without a hook it means nothing */
    ROW(any_threads, TN__KEY_NUMBER),
    ROW(baseline, TN__KEY_NUMBER),
};
const size_t tn__key_row_count = TN_COUNT(tn__key_rows);

static void add_native(struct tn__sha256 *sha, const struct tn_compile_options *options, const struct tn_cpu *host)
{
    const struct tn_cpu *cpu = options->native ? options->native : host;
    bool is_open = !options->cpu || strcmp(options->cpu, "native") == 0;
    tn__digest_add_number(sha, is_open);
    if (!is_open)
        return;
    tn__digest_add_cpu(sha, cpu);
}

static bool add_row(struct tn__sha256 *sha, const struct tn__key_row *row, const struct tn_compile_options *options,
                    const struct tn_cpu *host)
{
    static const char zeros[16];
    const char *member = (const char *)options + row->offset;
    int number;
    switch (row->part) {
    case TN__KEY_NUMBER:
        memcpy(&number, member, sizeof number);
        tn__digest_add_number(sha, (uint64_t)number);
        return true;
    case TN__KEY_TEXT:
        tn__digest_add_text(sha, *(const char *const *)(const void *)member);
        return true;
    case TN__KEY_NATIVE:
        add_native(sha, options, host);
        return true;
    case TN__KEY_NOTHING:
        return true;
    case TN__KEY_OBSERVER:
        return !options->observer || !options->observer->before_pass;
    default:
        return memcmp(member, zeros, row->size) == 0;
    }
}

bool tn__key_of(const char *identity, const void *salt, size_t salt_length, const struct tn_cpu *host,
                const struct tn_ir *ir, const struct tn_compile_options *options, uint8_t key[TN__SHA256_SIZE])
{
    struct tn__sha256 sha;
    bool good = !ir->copy;
    tn__sha256_begin(&sha);
    tn__digest_add_text(&sha, FORMAT);
    tn__digest_add_text(&sha, identity);
    tn__digest_add(&sha, salt, salt_length);
    tn__digest_add(&sha, ir->digest, TN__SHA256_SIZE);
    tn__digest_add_number(&sha, ir->whole != 0);
    for (size_t i = 0; i < tn__key_row_count; i++)
        good &= add_row(&sha, &tn__key_rows[i], options, host);
    tn__sha256_end(&sha, key);
    return good;
}

/* ---- parts ---- */

#define MEMBER(member, part, bits, shift)                                                                              \
    {                                                                                                                  \
#member, offsetof(struct tn_part_request, member), sizeof((struct tn_part_request){0}.member), part, bits,     \
            shift                                                                                                      \
    }
#define NO_MEMBER(member) MEMBER(member, TN__VARIANT_NOTHING, 0, 0)

const struct tn__variant_row tn__variant_rows[] = {
    NO_MEMBER(size),
    MEMBER(part, TN__VARIANT_PLACE, 0, 0),
    NO_MEMBER(name),
    NO_MEMBER(observer), /* one that may leave out passes keeps its module out of caches (tn__key_of) */
    NO_MEMBER(stats),
    NO_MEMBER(kept),
    NO_MEMBER(anew),
    MEMBER(opt_level, TN__VARIANT_NUMBER, 4, 8),
    MEMBER(is_higher, TN__VARIANT_NUMBER, 1, 12),
    MEMBER(counters, TN__VARIANT_IS_SET, 1, 16),
    NO_MEMBER(is_idle),
    NO_MEMBER(cancelled), /* there is no object then */
    /* A kept object that lacks one of these symbols is refused, and made anew; the new object also serves requests that
     * need fewer. */
    NO_MEMBER(needed),
    NO_MEMBER(needed_count),
};
const size_t tn__variant_row_count = TN_COUNT(tn__variant_rows);

bool tn__variant_of(const struct tn_part_request *request, uint32_t *kind)
{
    *kind = TN__PACK_OBJECT;
    bool good = true;
    for (const struct tn__variant_row *row = tn__variant_rows; row < tn__variant_rows + TN_COUNT(tn__variant_rows);
         row++) {
        const char *member = (const char *)request + row->offset;
        unsigned number = 0;
        if (row->part == TN__VARIANT_NUMBER)
            memcpy(&number, member, sizeof number);
        else if (row->part == TN__VARIANT_IS_SET)
            number = *(const void *const *)(const void *)member != NULL;
        good &= !row->bits || number < 1u << row->bits;
        *kind |= row->bits ? number << row->shift : 0;
    }
    return good;
}
