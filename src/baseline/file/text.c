/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The grammar is in doc/BASELINE.md. What follows from the rows of ops.def needs no code here. */

#include <inttypes.h>
#include <stdio.h>

#include "baseline/file/file.h"

struct writing {
    const struct tn__flat_file *file;
    const struct tn__flat *flat; /* the function at hand */
    char *text;
    size_t size, room;
    bool no_memory;
};

static void put(struct writing *w, const char *format, ...) TN_PRINTF(2, 3);

static void put(struct writing *w, const char *format, ...)
{
    enum { SHORT = 128 };
    va_list arguments;
    for (size_t room = SHORT;;) {
        if (w->no_memory || !tn__grow(NULL, &w->text, &w->room, w->size + room, 1)) {
            w->no_memory = true;
            return;
        }
        va_start(arguments, format);
        int length = vsnprintf(w->text + w->size, room, format, arguments);
        va_end(arguments);
        if (length >= 0 && (size_t)length < room) {
            w->size += (size_t)length;
            return;
        }
        room = (size_t)length + 1;
    }
}

static void put_bytes(struct writing *w, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    if (w->no_memory || !tn__grow(NULL, &w->text, &w->room, w->size + 2 * size + 1, 1)) {
        w->no_memory = true;
        return;
    }
    for (size_t i = 0; i < size; i++) {
        w->text[w->size++] = digits[bytes[i] >> 4];
        w->text[w->size++] = digits[bytes[i] & 15];
    }
}

/* ---- names ---- */

static const char *const types[] = {"void", "i1", "i8", "i16", "i32", "i64", "ptr", "float", "double", "x86_fp80"};
static const char *const bindings[] = {"local", "global", "weak"};
static const char *const visibilities[] = {"", " internal", " hidden", " protected"};
static const char *const places[] = {"data", "constant"};
static const char *const conditions[] = {"eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"};
static const char *const overflows[] = {"sadd", "uadd", "ssub", "usub", "smul", "umul"};
static const char *const fetches[] = {"and", "or", "xor", "nand", "smax", "smin", "umax", "umin"};
static const char *const models[] = {"dynamic", "initial", "local"};
static const char *const relations[] = {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                        "uno",   "ueq", "ugt", "uge", "ult", "ule", "une", "true"};
static const char *const landings[] = {"catch", "filter", "more", "cleanup"};
_Static_assert(TN_COUNT(landings) == TN__FLAT_LANDING_KINDS, "each kind of a landing has a name");
_Static_assert(TN_COUNT(places) == TN__FLAT_PLACES, "each place has a name");
_Static_assert(TN_COUNT(types) == TN__FLAT_TYPES, "each type has a name");
_Static_assert(TN_COUNT(fetches) == TN__FLAT_FETCHES, "each operation has a name");
_Static_assert(TN_COUNT(models) == TN__FLAT_MODELS, "each model has a name");
_Static_assert(TN_COUNT(conditions) == TN__FLAT_CONDITIONS, "each condition has a name");

/* What `sub` is of some operations. */
static const struct {
    const char *const *names;
    unsigned count;
} subs[TN__FLAT_OPS] = {
    [TN__FLAT_ICMP] = {conditions, TN_COUNT(conditions)},   [TN__FLAT_FCMP] = {relations, TN_COUNT(relations)},
    [TN__FLAT_THREAD] = {models, TN_COUNT(models)},         [TN__FLAT_FETCH] = {fetches, TN_COUNT(fetches)},
    [TN__FLAT_OVERFLOW] = {overflows, TN_COUNT(overflows)},
};

static void put_type(struct writing *w, unsigned type)
{
    if (type < TN_COUNT(types))
        put(w, "%s", types[type]);
    else
        put(w, "type%u", type);
}

/* Bytes that are not letters, digits, or one of these, are two digits after a backslash. */
static void put_name(struct writing *w, uint32_t symbol)
{
    put(w, "@");
    for (const char *at = w->file->symbols[symbol].name; *at; at++)
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
            strchr("._$-", *at))
            put(w, "%c", *at);
        else
            put(w, "\\%02x", (unsigned char)*at);
}

static void put_symbol(struct writing *w, uint32_t symbol)
{
    const struct tn__flat_symbol *s = &w->file->symbols[symbol];
    put_name(w, symbol);
    put(w, " %s%s%s", bindings[s->binding], visibilities[s->visibility], s->flags & TN__FLAT_DIRECT ? " direct" : "");
}

static void put_address(struct writing *w, uint32_t symbol, int64_t addend)
{
    put_name(w, symbol);
    if (addend)
        put(w, "%+" PRId64, addend);
}

/* ---- instructions ---- */

static void put_operand(struct writing *w, uint32_t operand, unsigned type)
{
    uint32_t index = tn__flat_index(operand);
    if (tn__flat_is_value(operand))
        put(w, "%%%" PRIu32, index);
    else if (type == TN__FLAT_F80 && (operand & TN__FLAT_KIND) == TN__FLAT_CONSTANT)
        put(w, "0x%04" PRIx64 "%016" PRIx64, w->flat->constants[index + 1] & 0xffff, w->flat->constants[index]);
    else if (tn__flat_is_number(operand))
        put(w, "%" PRId64, (int64_t)tn__flat_number(w->flat, operand));
    else
        put_address(w, w->flat->addresses[index].symbol, w->flat->addresses[index].addend);
}

/* `special` is what TN__FLAT_STRUCT is there. */
static void put_kind(struct writing *w, uint32_t kind, uint32_t bytes, const char *special)
{
    const struct {
        uint32_t flag;
        const char *name;
    } flags[] = {{TN__FLAT_ZERO_EXTEND, " zext"}, {TN__FLAT_SIGN_EXTEND, " sext"}, {TN__FLAT_STRUCT, special}};
    put_type(w, kind & TN__FLAT_KIND_TYPE);
    if (tn__flat_is_whole(kind)) {
        put(w, " whole");
        kind &= ~(uint32_t)TN__FLAT_WHOLE;
    }
    for (size_t i = 0; i < TN_COUNT(flags); i++)
        if (kind & flags[i].flag)
            put(w, "%s", flags[i].name);
    if (kind & TN__FLAT_BY_VALUE)
        put(w, " byval %" PRIu32, bytes);
}

/* The type of a value among the operands. */
static unsigned operand_type(const struct tn__flat_inst *inst, const uint32_t *operands, uint32_t k)
{
    const struct tn__flat_letters letters = tn__flat_letters(inst->op);
    switch (tn__flat_letter(&letters, k)) {
    case 't':
    case 'c':
        return inst->type;
    case 'f':
        return inst->sub;
    case 'x':
        return operands[k + 1] & TN__FLAT_KIND_TYPE;
    default:
        return TN__FLAT_VOID; /* one that has no constants of two words */
    }
}

/* The operands as their row has them: values, numbers, and groups. Numbers are blocks in phis, and kinds in calls and
 * returns. */
static void put_operands(struct writing *w, const struct tn__flat_inst *inst)
{
    const uint32_t *operands = w->flat->operands + inst->first;
    unsigned step = tn__flat_places(inst->op).step;
    bool has_kinds = inst->op == TN__FLAT_CALL || inst->op == TN__FLAT_RETURN;
    for (TN__FLAT_EACH(inst, k)) {
        bool is_group = k >= tn__flat_places(inst->op).head && step > 1 && k + 1 < inst->count;
        put(w, k ? ", " : " ");
        if (is_group && has_kinds) {
            put_kind(w, operands[k + 1], step > 2 ? operands[k + 2] : 0, " nest");
            put(w, " ");
        }
        put_operand(w, operands[k], operand_type(inst, operands, k));
        if (is_group && inst->op == TN__FLAT_PHI)
            put(w, " b%" PRIu32, operands[k + 1]);
        else if (is_group && inst->op == TN__FLAT_LANDING)
            put(w, " %s", landings[operands[k + 1]]);
        else if (is_group && !has_kinds)
            put(w, " * %" PRIu32, operands[k + 1]);
    }
}

static void put_fields(struct writing *w, const struct tn__flat_inst *inst)
{
    if (strchr(tn__flat_rows[inst->op].operands, 'f')) {
        put(w, " from ");
        put_type(w, inst->sub);
    } else if (inst->sub < subs[inst->op].count) {
        put(w, " %s", subs[inst->op].names[inst->sub]);
    } else if (inst->sub) {
        put(w, " sub %u", inst->sub);
    }
    if (inst->flags)
        put(w, " flags %u", inst->flags);
    if (inst->aux)
        put(w, " aux %" PRId32, (int32_t)inst->aux);
}

static void put_instruction(struct writing *w, const struct tn__flat_block *block, uint32_t number)
{
    const struct tn__flat_inst *inst = &w->flat->insts[number];
    uint32_t value = (uint32_t)w->flat->argument_count + number;
    put(w, "  ");
    if (tn__flat_type_of(w->flat, value) != TN__FLAT_VOID)
        put(w, "%%%" PRIu32 " = ", value);
    put(w, "%s", tn__flat_rows[inst->op].text);
    if (inst->type != TN__FLAT_VOID) {
        put(w, " ");
        put_type(w, inst->type);
    }
    put_fields(w, inst);
    put_operands(w, inst);
    for (uint32_t i = 0; tn__flat_is_terminator(inst->op) && i < block->successors; i++)
        put(w, "%s b%" PRIu32, i ? "," : " to", w->flat->successors[block->first_successor + i]);
    put(w, "\n");
}

static void put_function(struct writing *w, uint32_t number)
{
    const struct tn__flat *flat = w->flat;
    put(w, "\nfunction ");
    put_symbol(w, w->file->functions[number].symbol);
    put(w, " (");
    for (uint32_t i = 0; i < flat->argument_count; i++) {
        put(w, i ? ", " : "");
        put_kind(w, flat->arguments[i].kind, flat->arguments[i].bytes, " sret");
        put(w, " %%%" PRIu32, i);
    }
    put(w, flat->is_variadic ? flat->argument_count ? ", ...)" : "...)" : ")");
    if (flat->personality) {
        put(w, " personality ");
        put_operand(w, flat->personality, TN__FLAT_PTR);
    }
    put(w, " {\n");
    for (uint32_t b = 0; b < flat->block_count; b++) {
        put(w, "b%" PRIu32 ":\n", b);
        for (uint32_t i = flat->blocks[b].first; i < flat->blocks[b].end; i++)
            put_instruction(w, &flat->blocks[b], i);
    }
    put(w, "}\n");
}

/* ---- variables, symbols ---- */

static void put_variable(struct writing *w, const struct tn__flat_data *data, const struct tn__flat_pointer *pointers)
{
    enum { LINE = 32 };
    put(w, "\n%s ", places[data->place]);
    put_symbol(w, data->symbol);
    put(w, " size %" PRIu64 " align %u {\n", data->size, 1u << data->alignment);
    for (uint32_t at = 0; at < data->byte_count; at += LINE) {
        put(w, "  ");
        put_bytes(w, data->bytes + at, data->byte_count - at < LINE ? data->byte_count - at : LINE);
        put(w, "\n");
    }
    for (uint32_t i = 0; i < data->pointer_count; i++) {
        put(w, "  %" PRIu32 ": ", pointers[i].offset);
        put_address(w, pointers[i].symbol, pointers[i].addend);
        put(w, "\n");
    }
    put(w, "}\n");
}

static void put_declarations(struct writing *w)
{
    for (uint32_t i = 0; i < w->file->symbol_count; i++) {
        if (w->file->defined[i])
            continue;
        put(w, "declare ");
        put_symbol(w, i);
        put(w, "\n");
    }
}

int tn__flat_text(const struct tn__flat_file *file, struct tn_buffer *out, struct tn_error *err)
{
    struct tn__flat flat = {0};
    struct writing w = {.file = file, .flat = &flat};
    const struct tn__flat_pointer *pointers = file->pointers;
    int code = 0;
    put(&w, "flat 1\n");
    put_declarations(&w);
    for (uint32_t i = 0; i < file->data_count; pointers += file->data[i++].pointer_count)
        put_variable(&w, &file->data[i], pointers);
    for (uint32_t i = 0; !code && i < file->function_count; i++) {
        code = tn__flat_read_function(file, i, &flat, err);
        if (!code)
            put_function(&w, i);
    }
    if (!code && w.no_memory)
        code = tn__no_memory(err, NULL);
    if (!code)
        *out = (struct tn_buffer){.data = (void *)w.text, .size = w.size};
    else
        tn__free(NULL, w.text);
    tn__flat_free(&flat);
    return code;
}
