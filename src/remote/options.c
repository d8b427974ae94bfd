/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Options, statistics and errors of compilations, as bodies have them. */

#include "remote/protocol.h"

enum kind {
    NUMBER, /* an int or uint64_t, at most `most` */
    FLAG,   /* the same, which is 0 or anything else */
    TEXT,
    NATIVE,  /* a CPU */
    NOTHING, /* is not sent */
    REFUSED  /* cannot be sent, unless it is 0 */
};

struct row {
    const char *name;
    size_t offset, size;
    enum kind kind;
    uint32_t most;
};

#define ROW(member, kind, most)                                                                                        \
    {                                                                                                                  \
#member, offsetof(struct tn_compile_options, member), sizeof((struct tn_compile_options){0}.member), kind,     \
            most                                                                                                       \
    }

/* In the order of the struct; a new member needs a row. */
static const struct row rows[] = {
    ROW(size, NOTHING, 0),
    ROW(triple, TEXT, 0),
    ROW(cpu, TEXT, 0),
    ROW(features, TEXT, 0),
    ROW(opt_level, NUMBER, 3),
    ROW(reloc_model, NUMBER, TN_RELOC_STATIC),
    ROW(code_model, NUMBER, TN_CODE_LARGE),
    ROW(emit, NUMBER, TN_EMIT_FLAT),
    ROW(function_sections, FLAG, 1),
    ROW(polls, NUMBER, TN_POLL_ENTRIES | TN_POLL_LOOPS),
    ROW(passes, TEXT, 0),
    ROW(observer, NOTHING, 0),
    ROW(native, NATIVE, 0),
    ROW(verify_ir, FLAG, 1),
    ROW(assembly_files, REFUSED, 0), /* a worker opens no files */
    ROW(hook, REFUSED, 0),
    ROW(hook_context, NOTHING, 0),
    ROW(any_threads, FLAG, 1),
    ROW(baseline, FLAG, 1),
};

/* ---- writing ---- */

static void put_cpu(struct tn__message *message, const struct tn_cpu *cpu)
{
    tn__put_text(message, cpu ? tn_cpu_arch_name(cpu->arch) : NULL);
    if (!cpu)
        return;
    tn__put_text(message, cpu->name);
    tn__put_bytes(message, cpu->features.words, sizeof cpu->features.words);
    tn__put_number(message, cpu->cores);
}

static uint64_t number_of(const void *member, size_t size)
{
    return size == sizeof(uint32_t) ? tn__get32(member) : tn__get64(member);
}

void tn__put_compile_options(struct tn__message *message, const struct tn_compile_options *options)
{
    for (const struct row *row = rows; row < rows + TN_COUNT(rows); row++) {
        const void *member = (const char *)options + row->offset;
        if (row->kind == NUMBER)
            tn__put_number(message, number_of(member, row->size));
        else if (row->kind == FLAG)
            tn__put_number(message, number_of(member, row->size) != 0);
        else if (row->kind == TEXT)
            tn__put_text(message, *(const char *const *)member);
        else if (row->kind == NATIVE)
            put_cpu(message, *(const struct tn_cpu *const *)member);
    }
}

int tn__check_remote_options(const struct tn_compile_options *options, struct tn_error *err)
{
    static const char zeros[sizeof(void *)];
    for (const struct row *row = rows; row < rows + TN_COUNT(rows); row++)
        if (row->kind == REFUSED && memcmp((const char *)options + row->offset, zeros, row->size) != 0)
            return tn__fail(err, TN_ENOTSUP, "a compile server does not take the option '%s'", row->name);
    for (const struct row *row = rows; row < rows + TN_COUNT(rows); row++) {
        uint64_t number = row->kind == NUMBER ? number_of((const char *)options + row->offset, row->size) : 0;
        if (number > row->most)
            return tn__fail(err, TN_EINVAL, "%s is %d; it must be 0 to %u", row->name, (int)number, row->most);
    }
    const struct tn_compile_observer *observer = options->observer;
    if (observer && (observer->before_pass || observer->after_pass || observer->after_emit_pass))
        return tn__fail(err, TN_ENOTSUP, "a compile server calls no observer at each pass");
    return 0;
}

/* ---- reading ---- */

static bool get_cpu(struct tn__body *body, struct tn_cpu *cpu)
{
    const char *arch = tn__get_text(body);
    if (!arch)
        return false;
    *cpu = (struct tn_cpu){.size = sizeof *cpu, .arch = tn_cpu_arch_find(arch), .name = tn__get_text(body)};
    const void *words = tn__get_bytes(body, sizeof cpu->features.words);
    if (words)
        memcpy(cpu->features.words, words, sizeof cpu->features.words);
    cpu->cores = tn__get_number(body);
    body->bad |= !cpu->arch || !cpu->name;
    return !body->bad;
}

static void get_row(struct tn__body *body, const struct row *row, void *member, struct tn_cpu *native)
{
    if (row->kind == TEXT) {
        *(const char **)member = tn__get_text(body);
    } else if (row->kind == NATIVE) {
        if (get_cpu(body, native))
            *(const struct tn_cpu **)member = native;
    } else if (row->kind == NUMBER || row->kind == FLAG) {
        uint64_t number = tn__get_number_to(body, row->most);
        memcpy(member, &number, row->size); /* little-endian */
    }
}

void tn__get_compile_options(struct tn__body *body, struct tn_compile_options *options, struct tn_cpu *native)
{
    *options = (struct tn_compile_options){.size = sizeof *options};
    for (const struct row *row = rows; row < rows + TN_COUNT(rows); row++)
        get_row(body, row, (char *)options + row->offset, native);
}

/* ---- statistics and outcomes ---- */

enum { STATS = sizeof(struct tn_compile_stats) / sizeof(uint64_t) - 1 };

void tn__put_stats(struct tn__message *message, const struct tn_compile_stats *stats)
{
    tn__put_number(message, STATS);
    tn__put_bytes(message, (const char *)stats + sizeof(uint64_t), STATS * sizeof(uint64_t));
}

void tn__get_stats(struct tn__body *body, struct tn_compile_stats *stats)
{
    size_t count = tn__get_number_to(body, TN__FRAME_MOST / sizeof(uint64_t));
    const void *numbers = tn__get_bytes(body, count * sizeof(uint64_t));
    *stats = (struct tn_compile_stats){.size = sizeof *stats};
    if (numbers)
        memcpy((char *)stats + sizeof(uint64_t), numbers, tn__min64(count, STATS) * sizeof(uint64_t));
}

void tn__put_outcome(struct tn__message *message, int code, const struct tn_error *error)
{
    tn__put_number(message, (uint64_t) - (int64_t)code);
    if (code)
        tn__put_text(message, error->text);
}

int tn__get_outcome(struct tn__body *body, struct tn_error *err)
{
    int code = -(int)tn__get_number_to(body, -TN_EREMOTE);
    const char *text = code ? tn__get_text(body) : NULL;
    if (body->bad || (code && !text))
        return tn__fail(err, TN_EREMOTE, "the other process broke the protocol: no outcome");
    if (!code)
        return 0;
    tn__fail(err, code, "%s", "");
    tn__append_text(err, text);
    for (char *c = err ? err->text : NULL; c && *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') /* it may be printed on a terminal */
            *c = '?';
    return code;
}
