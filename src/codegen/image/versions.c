/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Targets of a string as LLVM is told of them, and what makes each worth versions of its own. */

#include "codegen/image/build.h"

/* A feature, or all whose names begin so, that makes functions with `flag` better. */
static const struct reason {
    const char *name;
    bool is_prefix;
    unsigned flag;
} reasons[] = {
    {"fma", true, TN__MV_MATH},
    {"sse", true, TN__MV_SIMD},
    {"ssse3", false, TN__MV_SIMD},
    {"avx", true, TN__MV_SIMD},
    {"sve", true, TN__MV_SIMD},
    {"dotprod", false, TN__MV_SIMD},
    {"i8mm", false, TN__MV_SIMD},
    {"v", false, TN__MV_SIMD},
    {"zv", true, TN__MV_SIMD},
    {"avx512fp16", false, TN__MV_FLOAT16},
    {"fullfp16", false, TN__MV_FLOAT16},
    {"zfh", false, TN__MV_FLOAT16},
    {"avx512bf16", false, TN__MV_BFLOAT16},
    {"bf16", false, TN__MV_BFLOAT16},
    {"zfbfmin", false, TN__MV_BFLOAT16},
};

/* Loops and questions about the CPU are always worth it; the rest if the target has what its base lacks. */
static unsigned wanted_by(const struct tn_cpu_arch *arch, const struct tn_cpu_target *target,
                          const struct tn_cpu_target *base)
{
    unsigned flags = TN__MV_LOOP | TN__MV_CPU;
    for (size_t f = 1; f < tn_cpu_feature_end(arch); f++) {
        uint64_t bit = UINT64_C(1) << f % 64;
        struct tn_cpu_feature feature = {.size = sizeof feature};
        if (!(target->enabled.words[f / 64] & ~base->enabled.words[f / 64] & bit) ||
            tn_cpu_feature(arch, f, &feature, NULL) != 0)
            continue;
        for (const struct reason *r = reasons; r < reasons + TN_COUNT(reasons); r++)
            if (strncmp(feature.name, r->name, strlen(r->name) + !r->is_prefix) == 0)
                flags |= r->flag;
    }
    return flags;
}

static int out_of_memory(struct tn_error *err)
{
    return tn__fail(err, TN_ENOMEM, "out of memory while reading the targets");
}

/* Leaves out of a list what this LLVM has no name for: it cannot use it either. */
static void drop_unknown(char *list, const struct tn__subtarget *names)
{
    char *end = list;
    size_t length;
    for (const char *at = list; *at; at += length) {
        at += *at == ',';
        length = strcspn(at, ",");
        if (!tn__llvm_has_feature(names, at + 1, length - 1))
            continue;
        if (end != list)
            *end++ = ',';
        memmove(end, at, length);
        end += length;
    }
    *end = 0;
}

static int describe_target(const struct tn_cpu_arch *arch, const struct tn_cpu_target *target,
                           const struct tn__subtarget *names, struct tn__arena *arena, struct tn__mv_target *out,
                           struct tn_error *err)
{
    /* LLVM prints a warning for names that it does not know; so it is asked before. */
    size_t length, size = tn_cpu_llvm_features(arch, target, NULL, 0) + 1;
    const char *unknown = tn__llvm_unknown_feature(names, target->extra, &length);
    if (unknown)
        return tn__fail(err, TN_EINVAL, "target '%s': unknown feature '%.*s'", target->name, (int)length, unknown);
    char *features = tn__arena_alloc(arena, size);
    if (!features)
        return out_of_memory(err);
    tn_cpu_llvm_features(arch, target, features, size);
    drop_unknown(features, names);
    *out = (struct tn__mv_target){
        .cpu = tn__llvm_has_cpu(names, target->name) ? target->name : "generic",
        .features = features,
        .clone_all = (target->flags & TN_CPU_CLONE_ALL) != 0,
        .opt_size = (target->flags & TN_CPU_OPT_SIZE) != 0,
        .min_size = (target->flags & TN_CPU_MIN_SIZE) != 0,
        .base = target->base,
    };
    if (target->flags & TN_CPU_UNKNOWN_NAME && !tn__llvm_has_cpu(names, target->name))
        return tn__fail(err, TN_EINVAL, "target '%s': there is no such CPU", target->name);
    return 0;
}

/* What every target has: code for it runs wherever the image can be loaded. */
static struct tn_cpu_target common_of(const struct tn_cpu_targets *targets)
{
    struct tn_cpu_target common = *tn_cpu_target_at(targets, 0);
    for (size_t i = 1; i < tn_cpu_target_count(targets); i++)
        for (size_t w = 0; w < TN_CPU_WORDS; w++) {
            uint64_t lost = common.enabled.words[w] & ~tn_cpu_target_at(targets, i)->enabled.words[w];
            common.enabled.words[w] &= ~lost;
            common.disabled.words[w] |= lost;
        }
    common.flags &= TN_CPU_UNKNOWN_NAME;
    return common;
}

int tn__image_versions(const struct tn_cpu_targets *targets, const struct tn__subtarget *names, const char *image,
                       struct tn__arena *arena, struct tn__mv *mv, struct tn_error *err)
{
    const struct tn_cpu_arch *arch = tn_cpu_targets_arch(targets);
    size_t count = tn_cpu_target_count(targets);
    struct tn__mv_target *list = tn__arena_array(arena, count, sizeof *list);
    if (count > TN__MV_TARGETS)
        return tn__fail(err, TN_EINVAL, "%zu targets; an image has at most %d", count, TN__MV_TARGETS);
    if (!list)
        return out_of_memory(err);
    *mv = (struct tn__mv){.image = image, .targets = list, .count = count};
    struct tn_cpu_target common = common_of(targets);
    int code = describe_target(arch, &common, names, arena, &mv->common, err);
    for (size_t i = 0; !code && i < count; i++) {
        const struct tn_cpu_target *target = tn_cpu_target_at(targets, i);
        if (target->flags & TN_CPU_HELP)
            return tn__fail(err, TN_EINVAL, "target %zu: 'help' asks for names, and nothing is compiled for it", i);
        code = describe_target(arch, target, names, arena, &list[i], err);
        list[i].wanted = wanted_by(arch, target, tn_cpu_target_at(targets, target->base));
    }
    return code;
}
