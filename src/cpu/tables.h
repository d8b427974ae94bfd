/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The tables of one architecture, from the rows of its .def file. Included once, by the architecture's .c file, which
 * first defines
 *     TABLES                    the .def file's name
 *     FEATURE_ROW(name, ...)    the initializer of a struct tn__feature_row from a row without its id; optional: by
 *                               default rows have no gate
 *     MODEL_ROW(...)            the initializer of a struct tn__cpu_model from a row
 * and then puts TABLE_MEMBERS into the initializer of its struct tn_cpu_arch. */

#ifndef FEATURE_ROW
#define FEATURE_ROW(name, word, mask, kind, ...)                                                                       \
    {                                                                                                                  \
        name, (const int16_t[]){__VA_ARGS__, NONE}, mask, word, TN__CPU_GATE_ANY, TN_CPU_##kind                        \
    }
#endif

enum {
    NONE,
#define FEATURE(id, ...) id,
#include TABLES
    FEATURE_END
};
_Static_assert((int)FEATURE_END <= 64 * (int)TN_CPU_WORDS, "every feature has a bit");

enum {
    NO_CPU,
#define CPU(id, ...) id,
#include TABLES
    CPU_END
};

static const struct tn__feature_row features[] = {
#define FEATURE(id, ...) [id] = FEATURE_ROW(__VA_ARGS__),
#include TABLES
};

static const struct tn__cpu_name cpus[] = {
    [NO_CPU] = {"", (const int16_t[]){NONE}, NO_CPU},
#define CPU(id, name, parent, ...) [id] = {name, (const int16_t[]){__VA_ARGS__, NONE}, parent},
#include TABLES
};

static const struct tn__cpu_alias aliases[] = {
#define ALIAS(name, id) {name, id},
#include TABLES
};

static const struct tn__cpu_model models[] = {
#define MODEL(...)   MODEL_ROW(__VA_ARGS__),
#define FALLBACK(id) {0, UINT64_MAX, id},
#include TABLES
};

/* clang-format off */
#define TABLE_MEMBERS                                                                                                  \
    .features = features, .cpus = cpus, .aliases = aliases, .models = models, .feature_end = FEATURE_END,              \
    .cpu_end = CPU_END, .alias_count = TN_COUNT(aliases), .model_count = TN_COUNT(models)
/* clang-format on */
