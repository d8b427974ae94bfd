/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon<level=2;no_cleanup>: the options by name. */

#include <string.h>

#include "base/base.h"
#include "codegen/managed/ir/gc.h"
#include "codegen/pipeline/optimizer.h"

/* `unset`: no_NAME is what sets the bits. */
static const struct option {
    const char *name;
    unsigned bits;
    bool unset;
    const char *refusal; /* not NULL: why there is no such option here */
} options[] = {
    {"lower_intrinsics", TN__LOWER_INTRINSICS},
    {"always_inline", TN__ALWAYS_INLINE},
    {"enable_early_simplifications", TN__EARLY_SIMPLIFICATIONS},
    {"enable_early_optimizations", TN__EARLY_OPTIMIZATIONS},
    {"enable_loop_optimizations", TN__LOOP_OPTIMIZATIONS},
    {"enable_scalar_optimizations", TN__SCALAR_OPTIMIZATIONS},
    {"enable_vector_pipeline", TN__VECTOR_PIPELINE},
    {"cleanup", TN__CLEANUP},
    {"llvm_only", TN__OUR_PASSES, .unset = true},
    {"dump_native", TN__STRIP_PROTOTYPES},
    {"remove_ni", TN__REMOVE_NI},
    {"warn_missed_transformations", TN__WARN_MISSED},
    {"simdloop", TN__SIMDLOOP},
    {"muladd", TN__MULADD},
    {"demote_float16", TN__DEMOTE_FLOAT16},
    {"alloc_opt", TN__ALLOC_OPT},
    {"barrier_elimination", TN__OMIT_BARRIERS},
    {"poll_elimination", TN__OMIT_POLLS},
    {"merge_allocations", TN__MERGE_ALLOCATIONS},
    {"managed_licm", TN__HOIST},
    {"propagate_addrspaces", TN__LEAVE_SPACES},
    {"devirtualize", TN__DEVIRTUALIZE},
    {"opt_size", TN__OPT_SIZE},
    {"min_size", TN__MIN_SIZE},
    {"sanitize_address", TN__SANITIZE_ADDRESS | TN__ADDRESS_EVERYWHERE},
    {"sanitize_memory", TN__SANITIZE_MEMORY | TN__MEMORY_EVERYWHERE},
    {"sanitize_thread", TN__SANITIZE_THREAD | TN__THREAD_EVERYWHERE},
    {"external_use", .refusal = "only images have versions of functions: see tenon build"},
};

struct tn__stages tn__stages_default(int level)
{
    return (struct tn__stages){level, TN__LOWER_INTRINSICS | TN__ALWAYS_INLINE | TN__EARLY_SIMPLIFICATIONS |
                                          TN__EARLY_OPTIMIZATIONS | TN__LOOP_OPTIMIZATIONS | TN__SCALAR_OPTIMIZATIONS |
                                          TN__VECTOR_PIPELINE | TN__CLEANUP | TN__OUR_PASSES | TN__OPTIMIZATIONS |
                                          TN__FLOATS | TN__SANITIZE};
}

static bool is_name(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

/* Any number, as far as there are levels. */
static bool parse_level(const char *digits, size_t length, int *level)
{
    size_t count = 0;
    while (count < length && digits[count] >= '0' && digits[count] <= '9')
        count++;
    if (count == 0 || count < length)
        return false;
    while (length > 1 && *digits == '0')
        digits++, length--;
    *level = length > 1 || *digits > '3' ? 3 : *digits - '0';
    return true;
}

static int parse_option(const char *text, size_t length, struct tn__stages *stages, struct tn_error *err)
{
    static const char level[] = "level=", no[] = "no_";
    if (length > strlen(level) && memcmp(text, level, strlen(level)) == 0 &&
        parse_level(text + strlen(level), length - strlen(level), &stages->level))
        return 0;
    bool is_off = length > strlen(no) && memcmp(text, no, strlen(no)) == 0;
    const char *name = is_off ? text + strlen(no) : text;
    for (size_t i = 0; i < TN_COUNT(options); i++) {
        const struct option *option = &options[i];
        if (!is_name(name, length - (size_t)(name - text), option->name))
            continue;
        if (option->refusal && !is_off)
            return tn__fail(err, TN_ENOTSUP, "option '%s' of a pipeline: %s", option->name, option->refusal);
        stages->options = is_off == option->unset ? stages->options | option->bits : stages->options & ~option->bits;
        return 0;
    }
    int code =
        tn__fail(err, TN_EINVAL, "unknown option '%.*s' of a pipeline; there are: level=0..3", (int)length, text);
    for (size_t i = 0; i < TN_COUNT(options); i++)
        if (!options[i].refusal)
            tn__append(err, " [no_]%s", options[i].name);
    return code;
}

/* The runtimes exclude each other: with one for all functions, attributes of functions name no other. */
static int choose_sanitizer(struct tn__stages *stages, struct tn_error *err)
{
    unsigned everywhere = stages->options & TN__EVERYWHERE;
    if (everywhere & (everywhere - 1))
        return tn__fail(err, TN_EINVAL, "a program has one sanitizer; the options of the pipeline name several");
    if (everywhere)
        stages->options &= ~TN__SANITIZE | everywhere / (TN__ADDRESS_EVERYWHERE / TN__SANITIZE_ADDRESS);
    return 0;
}

int tn__stages_parse(const char *text, size_t length, struct tn__stages *stages, struct tn_error *err)
{
    const char *end = text + length;
    int code = 0;
    for (const char *next; !code && text < end; text = next + 1) {
        next = memchr(text, ';', (size_t)(end - text));
        next = next ? next : end;
        code = parse_option(text, (size_t)(next - text), stages, err);
    }
    return code ? code : choose_sanitizer(stages, err);
}
