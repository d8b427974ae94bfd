/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bytes are believed nothing. Tables are checked as a whole when a file is opened; the inside of a function when it is
 * read, by the verifier. */

#include "baseline/file/file.h"
#include "baseline/names.h"

enum { ARGUMENT = 8, INST = 12, BLOCK = 8, CONSTANT = 8, ADDRESS = 8 };

/* A table of the file, and how many rows it has; of texts and contents, bytes. */
struct table {
    const uint8_t *at;
    uint32_t count;
};

struct reading {
    struct tn__flat_file *file;
    union {
        struct {
            struct table operations, symbols, functions, data, pointers, names, bodies, contents;
        };
        struct table all[TN__FLAT_TABLES];
    };
    struct tn_error *err;
};

static int refuse(const struct reading *r, const char *why)
{
    return tn__fail(r->err, TN_EFORMAT, "flat file: %s", why);
}

/* Names do not overlap: different ones have no more bytes in all than the table. */
static const char *name_at(const struct reading *r, uint32_t offset)
{
    bool is_name = offset < r->names.count && (!offset || !r->names.at[offset - 1]);
    return is_name ? (const char *)r->names.at + offset : NULL;
}

static int find_tables(struct reading *r, const uint8_t *bytes, size_t size)
{
    uint64_t at = TN__FLAT_FILE_WORDS * 4;
    if (!tn__flat_is_file(bytes, size) || size < at)
        return refuse(r, "it does not begin as one");
    for (size_t i = 0; i < TN__FLAT_TABLES; i++) {
        uint32_t count = tn__get32(bytes + 4 + 4 * i);
        uint64_t length = (uint64_t)count * tn__flat_row_sizes[i];
        if (!tn__inside(at, length, size))
            return refuse(r, "a table ends after the file");
        r->all[i] = (struct table){bytes + at, count};
        at += length;
    }
    if (at != size)
        return refuse(r, "bytes follow its tables");
    if (r->names.count && r->names.at[r->names.count - 1])
        return refuse(r, "a name has no end");
    return 0;
}

static void *array(const struct reading *r, size_t count, size_t size)
{
    return tn__arena_array(&r->file->arena, count + 1, size);
}

/* ---- operations ---- */

static int read_operations(struct reading *r)
{
    struct tn__flat_file *file = r->file;
    if (r->operations.count > TN_COUNT(file->operations))
        return refuse(r, "it has too many operations");
    file->operation_count = r->operations.count;
    for (uint32_t i = 0; i < file->operation_count; i++) {
        const char *name = name_at(r, tn__get32(r->operations.at + (size_t)i * TN__FLAT_OPERATION_ROW));
        unsigned op = 0;
        while (name && op < TN__FLAT_OPS && strcmp(name, tn__flat_rows[op].text) != 0)
            op++;
        if (!name)
            return refuse(r, "an operation has no name");
        if (op == TN__FLAT_OPS)
            return tn__fail(r->err, TN_ENOTSUP, "flat file: the operation '%s' is unknown", name);
        file->operations[i] = (uint8_t)op;
    }
    return 0;
}

/* ---- symbols ---- */

static const char *name_of(const void *symbols, uint32_t number)
{
    return ((const struct tn__flat_symbol *)symbols)[number - 1].name;
}

static int check_names(const struct reading *r)
{
    size_t room = tn__names_room(r->file->symbol_count);
    uint32_t *places = tn__alloc_zeroed(NULL, room, sizeof *places);
    struct tn__names names;
    bool all = true;
    if (!places)
        return tn__no_memory(r->err, NULL);
    tn__names_begin(&names, places, room);
    for (uint32_t i = 0; all && i < r->file->symbol_count; i++) {
        uint32_t *found = tn__names_find(&names, r->file->symbols[i].name, name_of, r->file->symbols);
        all = !*found;
        *found = i + 1;
    }
    tn__free(NULL, places);
    return all ? 0 : refuse(r, "two symbols have one name");
}

static int read_symbols(struct reading *r)
{
    struct tn__flat_file *file = r->file;
    file->symbols = array(r, r->symbols.count, sizeof *file->symbols);
    file->defined = array(r, r->symbols.count, 1);
    if (!file->symbols || !file->defined)
        return tn__no_memory(r->err, NULL);
    file->symbol_count = r->symbols.count;
    for (uint32_t i = 0; i < file->symbol_count; i++) {
        const uint8_t *row = r->symbols.at + (size_t)i * TN__FLAT_SYMBOL_ROW;
        struct tn__flat_symbol symbol = {name_at(r, tn__get32(row)), row[4], row[5], row[6]};
        if (!symbol.name || !*symbol.name)
            return refuse(r, "a symbol has no name");
        if (symbol.binding >= TN__FLAT_BINDINGS || symbol.visibility >= TN__FLAT_VISIBILITIES ||
            symbol.flags > TN__FLAT_SYMBOL_FLAGS || row[7])
            return refuse(r, "a symbol is of no kind");
        file->symbols[i] = symbol;
    }
    return check_names(r);
}

/* Of a function, or a variable. */
static int define(const struct reading *r, uint32_t symbol)
{
    if (symbol >= r->file->symbol_count)
        return refuse(r, "there is no such symbol");
    return r->file->defined[symbol]++ ? refuse(r, "a symbol is defined twice") : 0;
}

static int check_defined(const struct reading *r)
{
    for (uint32_t i = 0; i < r->file->symbol_count; i++)
        if (r->file->symbols[i].binding == TN__FLAT_LOCAL && !r->file->defined[i])
            return refuse(r, "a local symbol is not defined");
    return 0;
}

/* ---- functions ---- */

static uint64_t size_of_body(const struct tn__flat_counts *n)
{
    return n->arguments * ARGUMENT + n->insts * INST + n->operands * 4 + n->blocks * BLOCK + n->successors * 4 +
           n->constants * CONSTANT + n->addresses * ADDRESS;
}

/* The objects of a module have one personality. One that is none is the verifier's to refuse. */
static int check_personality(const struct reading *r, const struct tn__flat_body *b)
{
    uint32_t index = tn__flat_index(b->personality);
    if ((b->personality & TN__FLAT_KIND) != TN__FLAT_SYMBOL || index >= b->counts.addresses)
        return 0;
    uint32_t symbol = tn__get32(b->bytes + size_of_body(&b->counts) - (b->counts.addresses - index) * ADDRESS);
    if (symbol >= r->file->symbol_count)
        return refuse(r, "there is no such symbol");
    if (r->file->personality && r->file->personality != symbol + 1)
        return tn__fail(r->err, TN_ENOTSUP, "flat file: '%s' has another personality than others",
                        r->file->symbols[b->symbol].name);
    r->file->personality = symbol + 1;
    return 0;
}

static int read_functions(struct reading *r)
{
    struct tn__flat_file *file = r->file;
    uint64_t at = 0;
    file->functions = array(r, r->functions.count, sizeof *file->functions);
    if (!file->functions)
        return tn__no_memory(r->err, NULL);
    file->function_count = r->functions.count;
    for (uint32_t i = 0; i < file->function_count; i++) {
        const uint8_t *row = r->functions.at + (size_t)i * TN__FLAT_FUNCTION_ROW;
        struct tn__flat_body body = {.symbol = tn__get32(row),
                                     .counts = {tn__get32(row + 8), tn__get32(row + 12), tn__get32(row + 16),
                                                tn__get32(row + 20), tn__get32(row + 24), tn__get32(row + 28),
                                                tn__get32(row + 32)},
                                     .personality = tn__get32(row + 36),
                                     .flags = tn__get32(row + 40)};
        if (body.flags > TN__FLAT_ANY_NUMBER)
            return refuse(r, "a function is of no kind");
        if (tn__get32(row + 4) != at || !tn__inside(at, size_of_body(&body.counts), r->bodies.count))
            return refuse(r, "a function lies elsewhere");
        body.bytes = r->bodies.at + at;
        at += size_of_body(&body.counts);
        file->functions[i] = body;
        int code = define(r, body.symbol);
        if (!code)
            code = check_personality(r, &body);
        if (code)
            return code;
    }
    return at == r->bodies.count ? 0 : refuse(r, "bytes follow the last function");
}

/* ---- data ---- */

/* How much was used of the tables. */
struct used {
    uint64_t content, pointer;
    struct tn__flat_extent extent;
};

static int read_variable(struct reading *r, uint32_t number, struct used *used)
{
    const uint8_t *row = r->data.at + (size_t)number * TN__FLAT_DATA_ROW;
    struct tn__flat_data data = {.symbol = tn__get32(row),
                                 .place = row[4],
                                 .alignment = row[5],
                                 .size = tn__get64(row + 8),
                                 .byte_count = tn__get32(row + 16),
                                 .pointer_count = tn__get32(row + 20)};
    if (data.place >= TN__FLAT_PLACES || data.alignment > TN__FLAT_MOST_ALIGNMENT || row[6] || row[7] ||
        data.size > TN__FLAT_LARGEST_DATA)
        return refuse(r, "a variable is of no kind");
    if (!tn__flat_extend(&used->extent, &data))
        return refuse(r, "its variables are too large");
    if (data.byte_count != data.size && (data.byte_count || data.place == TN__FLAT_READ_ONLY))
        return refuse(r, "a variable has not all of its bytes");
    if (!tn__inside(used->content, data.byte_count, r->contents.count) ||
        !tn__inside(used->pointer, data.pointer_count, r->pointers.count))
        return refuse(r, "a variable ends after the file");
    for (uint32_t i = 0; i < data.pointer_count; i++) {
        const uint8_t *at = r->pointers.at + (used->pointer + i) * TN__FLAT_POINTER_ROW;
        struct tn__flat_pointer p = {tn__get32(at), tn__get32(at + 4), (int64_t)tn__get64(at + 8)};
        if (!tn__inside(p.offset, 8, data.byte_count) || p.symbol >= r->file->symbol_count)
            return refuse(r, "an address lies outside of its variable, or has no symbol");
        r->file->pointers[used->pointer + i] = p;
    }
    data.bytes = r->contents.at + used->content;
    used->content += data.byte_count;
    used->pointer += data.pointer_count;
    r->file->data[number] = data;
    return define(r, data.symbol);
}

static int read_data(struct reading *r)
{
    struct tn__flat_file *file = r->file;
    struct used used = {0};
    file->data = array(r, r->data.count, sizeof *file->data);
    file->pointers = array(r, r->pointers.count, sizeof *file->pointers);
    if (!file->data || !file->pointers)
        return tn__no_memory(r->err, NULL);
    int code = 0;
    for (uint32_t i = 0; !code && i < r->data.count; i++)
        code = read_variable(r, i, &used);
    file->data_count = r->data.count;
    file->pointer_count = r->pointers.count;
    if (!code && (used.content != r->contents.count || used.pointer != r->pointers.count))
        code = refuse(r, "bytes follow the last variable");
    return code;
}

/* ---- the whole ---- */

int tn__flat_read(const void *bytes, size_t size, struct tn__flat_file *file, struct tn_error *err)
{
    static int (*const steps[])(struct reading *) = {read_operations, read_symbols, read_functions, read_data};
    struct reading r = {.file = file, .err = err};
    *file = (struct tn__flat_file){0};
    int code = find_tables(&r, bytes, size);
    for (size_t i = 0; !code && i < TN_COUNT(steps); i++)
        code = steps[i](&r);
    return code ? code : check_defined(&r);
}

void tn__flat_file_free(struct tn__flat_file *file)
{
    tn__arena_free(&file->arena);
    *file = (struct tn__flat_file){0};
}

/* ---- bodies ---- */

/* A member that struct tn__flat gets is decoded here, written in write.c, and shown in text.c. */
_Static_assert(sizeof(struct tn__flat) == 7 * sizeof(void *) + 14 * sizeof(size_t) + 2 * sizeof(uint64_t),
               "flat files have all members of functions");

/* Copies an array of numbers that are as they are in the file. */
static const uint8_t *copy(void *to, const uint8_t *from, size_t size)
{
    if (size)
        memcpy(to, from, size);
    return from + size;
}

/* Where each instruction's operands begin, and each block's successors, follows from how many there are. Whether blocks
 * have all instructions, the verifier finds out. */
static bool decode(const struct tn__flat_file *file, const uint8_t *at, struct tn__flat *f)
{
    uint32_t next = 0, successor = 0, inst = 0;
    for (uint32_t i = 0; i < f->argument_count; i++, at += ARGUMENT) {
        if (tn__get32(at) > UINT8_MAX)
            return false;
        f->arguments[i] = (struct tn__flat_argument){at[0], tn__get32(at + 4)};
    }
    for (uint32_t i = 0; i < f->inst_count; i++, at += INST) {
        uint32_t count = tn__get32(at + 4);
        if (at[0] >= file->operation_count || count > f->operand_count - next)
            return false;
        f->insts[i] = (struct tn__flat_inst){.op = file->operations[at[0]],
                                             .type = at[1],
                                             .sub = at[2],
                                             .flags = at[3],
                                             .first = next,
                                             .count = count,
                                             .aux = tn__get32(at + 8)};
        next += count;
    }
    at = copy(f->operands, at, f->operand_count * sizeof *f->operands);
    for (uint32_t i = 0; i < f->block_count; i++, at += BLOCK) {
        uint32_t insts = tn__get32(at), successors = tn__get32(at + 4);
        if (insts > f->inst_count - inst || successors > f->successor_count - successor)
            return false;
        f->blocks[i] = (struct tn__flat_block){inst, inst + insts, successor, successors};
        inst += insts;
        successor += successors;
    }
    at = copy(f->successors, at, f->successor_count * sizeof *f->successors);
    at = copy(f->constants, at, f->constant_count * sizeof *f->constants);
    for (uint32_t i = 0; i < f->address_count; i++, at += ADDRESS)
        f->addresses[i] = (struct tn__flat_address){tn__get32(at), (int32_t)tn__get32(at + 4)};
    return next == f->operand_count && successor == f->successor_count;
}

int tn__flat_read_function(const struct tn__flat_file *file, uint32_t number, struct tn__flat *flat,
                           struct tn_error *err)
{
    const struct tn__flat_body *b = &file->functions[number];
    const char *name = file->symbols[b->symbol].name;
    if (!tn__flat_provide(flat, &b->counts))
        return tn__no_memory(err, name);
    if (!decode(file, b->bytes, flat))
        return tn__fail(err, TN_EFORMAT, "flat file: '%s' does not fit together", name);
    flat->symbols = file->symbol_count;
    flat->personality = b->personality;
    flat->is_variadic = b->flags & TN__FLAT_ANY_NUMBER;
    int code = tn__flat_verify(flat, err);
    if (code == TN_EFORMAT)
        tn__append(err, ", in '%s'", name);
    return code;
}
