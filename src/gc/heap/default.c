/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The heap of threads that call managed code without having chosen one. Programs that are all managed code use it and
 * have no host to set its options, so environment variables set those that help to test them. */

#include <errno.h>
#include <stdlib.h>

#include "gc/heap/heaps.h"

/* Weak, so that looking for a collector does not make it part of the program. The last one is in programs of tests
 * only, which compare the others with it. */
extern const struct tn_collector tn_collector_generational __attribute__((weak));
extern const struct tn_collector tn_collector_concurrent __attribute__((weak));
extern const struct tn_collector tn_collector_copying __attribute__((weak));

/* NULL: the variable is not there, or empty. */
static const char *value_of(const char *variable)
{
    const char *text = secure_getenv(variable);
    return text && *text ? text : NULL;
}

static int take_collector(const char *variable, struct tn_heap_options *options, struct tn_error *err)
{
    static const struct {
        const char *name;
        const struct tn_collector *collector;
    } all[] = {{"generational", &tn_collector_generational},
               {"concurrent", &tn_collector_concurrent},
               {"copy", &tn_collector_copying}};
    const char *name = value_of(variable);
    if (!name)
        return 0;
    for (size_t i = 0; i < TN_COUNT(all); i++) {
        if (strcmp(all[i].name, name) != 0)
            continue;
        options->collector = all[i].collector;
        if (!options->collector)
            return tn__fail(err, TN_ENOTSUP, "%s=%s: the program does not contain this collector", variable, name);
        return 0;
    }
    return tn__fail(err, TN_EINVAL, "%s names no collector: '%s'; there are: generational, concurrent", variable, name);
}

static int take_number(const char *variable, const char *of, uint64_t most, uint64_t *number, struct tn_error *err)
{
    const char *text = value_of(variable);
    char *end;
    if (!text)
        return 0;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return tn__fail(err, TN_EINVAL, "%s is no number of %s: '%s'", variable, of, text);
    if (*number > most)
        return tn__fail(err, TN_EINVAL, "%s is at most %llu %s, not %s", variable, (unsigned long long)most, of, text);
    return 0;
}

static int take_flag(const char *variable, uint64_t flag, struct tn_heap_options *options, struct tn_error *err)
{
    const char *text = value_of(variable);
    if (!text || strcmp(text, "0") == 0)
        return 0;
    if (strcmp(text, "1") != 0)
        return tn__fail(err, TN_EINVAL, "%s is neither 0 nor 1: '%s'", variable, text);
    options->flags |= flag;
    return 0;
}

int tn_heap_options_from_environment(struct tn_heap_options *options, struct tn_error *err)
{
    if (!options)
        return tn__no_argument(err);
    *options = (struct tn_heap_options){.size = sizeof *options};
    int code = take_collector("TENON_GC", options, err);
    if (!code)
        code = take_flag("TENON_GC_STRESS", TN_HEAP_STRESS, options, err);
    if (!code)
        code = take_flag("TENON_GC_VERIFY", TN_HEAP_VERIFY, options, err);
    if (!code)
        code = take_number("TENON_GC_LIMIT", "bytes", UINT64_MAX, &options->limit, err);
    if (!code)
        code = take_number("TENON_GC_SOFT_LIMIT", "bytes", UINT64_MAX, &options->soft_limit, err);
    return code ? code : take_number("TENON_GC_EXTRA", "percent", TN__MOST_EXTRA, &options->extra, err);
}

int tn_heap_default(struct tn_heap **out, struct tn_error *err)
{
    struct tn_heap_options options;
    struct tn_heap *made;
    if (!out)
        return tn__no_argument(err);
    *out = tn__default_heap(NULL);
    if (*out)
        return 0;
    int code = tn_heap_options_from_environment(&options, err);
    if (!code)
        code = tn_heap_create(&options, &made, err);
    if (code)
        return code;
    *out = tn__default_heap(made);
    if (*out != made) /* another thread made one at the same time */
        tn_heap_destroy(made);
    return 0;
}
