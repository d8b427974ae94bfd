/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Flat files: modules in the flat form, as bytes (doc/BASELINE.md has the format).
 *     write.c   a module, piece by piece, into bytes
 *     read.c    bytes, of which each may be wrong, into tables, and one function at a time into a struct tn__flat
 *     text.c    what people read
 *     data.c    the variables of a module as data of an object */

#ifndef TENON_BASELINE_FILE_H
#define TENON_BASELINE_FILE_H

#include "baseline/object.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Numbers as in ELF: STB_..., STV_... */
enum { TN__FLAT_LOCAL = 0, TN__FLAT_GLOBAL = 1, TN__FLAT_WEAK = 2, TN__FLAT_BINDINGS };
enum { TN__FLAT_VISIBILITIES = 4 };

/* In `flags` of symbols: it is defined where 32 bits reach it, in the same program or library. */
enum { TN__FLAT_DIRECT = 1, TN__FLAT_SYMBOL_FLAGS = 1 };

/* A symbol is defined by a function or by data, or elsewhere. Names are unique, and not empty. */
struct tn__flat_symbol {
    const char *name;
    uint8_t binding, visibility, flags;
};

enum tn__flat_place { TN__FLAT_WRITABLE = 0, TN__FLAT_READ_ONLY, TN__FLAT_PLACES };

/* A variable: bytes, and zeros up to `size`. In a file it has all of its bytes, or none if it is writable. */
struct tn__flat_data {
    uint32_t symbol;
    uint8_t place, alignment; /* the latter as a power of two, up to 16 */
    uint64_t size;
    const uint8_t *bytes;
    uint32_t byte_count;
    uint32_t pointer_count; /* of those of the module, which are in the order of data */
};

/* An address of 8 bytes in a variable, within `byte_count`. */
struct tn__flat_pointer {
    uint32_t offset, symbol;
    int64_t addend;
};

enum { TN__FLAT_MOST_ALIGNMENT = 16, TN__FLAT_TABLES = 8, TN__FLAT_FILE_WORDS = 1 + TN__FLAT_TABLES };
/* Bytes of a row of the tables. */
enum {
    TN__FLAT_OPERATION_ROW = 4,
    TN__FLAT_SYMBOL_ROW = 8,
    TN__FLAT_FUNCTION_ROW = 44,
    TN__FLAT_DATA_ROW = 24,
    TN__FLAT_POINTER_ROW = 16
};
static const uint8_t tn__flat_row_sizes[TN__FLAT_TABLES] = {TN__FLAT_OPERATION_ROW,
                                                            TN__FLAT_SYMBOL_ROW,
                                                            TN__FLAT_FUNCTION_ROW,
                                                            TN__FLAT_DATA_ROW,
                                                            TN__FLAT_POINTER_ROW,
                                                            1,
                                                            1,
                                                            1};

/* Of all variables together, and what lies between them; and the latter, of those that have bytes. */
#define TN__FLAT_LARGEST_DATA ((uint64_t)1 << 31)
#define TN__FLAT_MOST_BETWEEN ((uint64_t)1 << 24)

struct tn__flat_extent {
    uint64_t all, between;
};

/* Adds a variable, whose size and alignment are possible; returns whether all are small enough. */
static inline bool tn__flat_extend(struct tn__flat_extent *extent, const struct tn__flat_data *data)
{
    uint64_t alignment = (uint64_t)1 << data->alignment;
    extent->all += data->size + alignment;
    extent->between += data->byte_count || data->place == TN__FLAT_READ_ONLY ? alignment : 0;
    return extent->all <= TN__FLAT_LARGEST_DATA && extent->between <= TN__FLAT_MOST_BETWEEN;
}

/* The first word of a file, "Tnf1". It changes when a number means something else than before, except those of
 * operations, which files name. */
#define TN__FLAT_MAGIC 0x31666e54u

static inline bool tn__flat_is_file(const void *bytes, size_t size)
{
    return size >= 4 && tn__get32(bytes) == TN__FLAT_MAGIC;
}

/* ---- writing ---- */

struct tn__flat_bytes {
    uint8_t *bytes;
    size_t size, room;
};

/* A zeroed struct is empty. After a function could not get memory, the others do nothing, and the last one says so. */
struct tn__flat_writer {
    /* As they are in the file. */
    struct tn__flat_bytes operations, symbols, functions, data, pointers, names, bodies, contents;
    uint16_t numbers[TN__FLAT_OPS]; /* of operations in the file, counted from 1 */
    struct tn__flat_extent extent;  /* of the variables */
    bool no_memory, is_too_large;
};

/* Symbols are numbered from 0. */
void tn__flat_write_symbol(struct tn__flat_writer *w, const struct tn__flat_symbol *symbol);
void tn__flat_write_function(struct tn__flat_writer *w, uint32_t symbol, const struct tn__flat *flat);
void tn__flat_write_data(struct tn__flat_writer *w, const struct tn__flat_data *data,
                         const struct tn__flat_pointer *pointers);
/* Into an empty buffer. TN_ENOMEM; TN_ENOTSUP: more than 4 GB, or variables that tn__flat_extend refuses. */
int tn__flat_write_end(struct tn__flat_writer *w, struct tn_buffer *out, struct tn_error *err);
void tn__flat_writer_free(struct tn__flat_writer *w);

/* ---- reading ---- */

/* In `flags` of functions: it takes any number of arguments more. */
enum { TN__FLAT_ANY_NUMBER = 1 };

struct tn__flat_body {
    uint32_t symbol, personality, flags;
    struct tn__flat_counts counts;
    const uint8_t *bytes;
};

/* Names, contents and bodies lie in the file's bytes. */
struct tn__flat_file {
    struct tn__flat_symbol *symbols;
    struct tn__flat_body *functions;
    struct tn__flat_data *data;
    struct tn__flat_pointer *pointers;
    uint32_t symbol_count, function_count, data_count, pointer_count;
    uint32_t operation_count;
    uint32_t personality;             /* of its functions: a symbol, counted from 1; 0: none has one */
    uint8_t operations[TN__FLAT_OPS]; /* of each number in the file: that of ops.def */
    uint8_t *defined;                 /* of each symbol: whether the file defines it */
    struct tn__arena arena;
};

/* *file is to be freed in any case. TN_EFORMAT; TN_ENOTSUP: the file has an operation that is unknown, or
 * functions with different personalities; TN_ENOMEM. */
int tn__flat_read(const void *bytes, size_t size, struct tn__flat_file *file, struct tn_error *err);
/* A function, well-formed, into a struct whose arrays are used again. Any thread may call this. TN_EFORMAT, TN_ENOMEM.
 */
int tn__flat_read_function(const struct tn__flat_file *file, uint32_t number, struct tn__flat *flat,
                           struct tn_error *err);
void tn__flat_file_free(struct tn__flat_file *file);

/* ---- showing, compiling ---- */

/* A module as text, into an empty buffer. As tn__flat_read_function. */
int tn__flat_text(const struct tn__flat_file *file, struct tn_buffer *out, struct tn_error *err);

/* Adds the variables to an object that has no data yet; `symbols` is the file's table, or one with other names,
 * bindings and visibilities. False: out of memory. */
bool tn__flat_add_data(const struct tn__flat_file *file, const struct tn__flat_symbol *symbols,
                       struct tn__baseline_object *object);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
