/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "jit/options.h"

int tn__take_compile_options(const struct tn_compile_options *given, struct tn_compile_options *options,
                             struct tn_compile_observer *observer, struct tn_error *err)
{
    int code = tn__take_options(options, sizeof *options, given, "struct tn_compile_options", err);
    if (!code)
        code = tn__take_options(observer, sizeof *observer, options->observer, "struct tn_compile_observer", err);
    if (code)
        return code;
    const struct range {
        const char *name;
        int value, last;
    } ranges[] = {
        {"opt_level", options->opt_level, 3},
        {"reloc_model", (int)options->reloc_model, TN_RELOC_STATIC},
        {"code_model", (int)options->code_model, TN_CODE_LARGE},
        {"emit", (int)options->emit, TN_EMIT_FLAT},
        {"polls", options->polls, TN_POLL_ENTRIES | TN_POLL_LOOPS},
    };
    for (size_t i = 0; i < TN_COUNT(ranges); i++)
        if (ranges[i].value < 0 || ranges[i].value > ranges[i].last)
            return tn__fail(err, TN_EINVAL, "%s is %d; it must be 0 to %d", ranges[i].name, ranges[i].value,
                            ranges[i].last);
    return 0;
}

size_t tn__keep_compile_options(struct tn_compile_options *options, char *texts, struct tn_cpu *native)
{
    const char **const strings[] = {&options->triple, &options->cpu, &options->features, &options->passes};
    size_t size = 0;
    for (size_t i = 0; i < TN_COUNT(strings); i++) {
        size_t length = *strings[i] ? strlen(*strings[i]) + 1 : 0;
        if (texts && length)
            *strings[i] = memcpy(texts + size, *strings[i], length);
        size += length;
    }
    if (native && options->native) {
        *native = *options->native;
        options->native = native;
    }
    return size;
}
