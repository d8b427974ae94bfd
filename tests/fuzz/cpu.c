/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any text as a target string: the first byte chooses the architecture and whether it stands for an image. What is
 * accepted is closed, is matched without surprise, and limits a CPU to less than it had. */

#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "fuzz.h"

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_target(const struct tn_cpu *cpu, const struct tn_cpu_target *target, size_t index)
{
    static char text[1 << 17];
    struct tn_cpu_set down = target->enabled, both = tn__cpu_common(&target->enabled, &target->disabled);
    tn__cpu_close_down(cpu->arch, &down);
    check(memcmp(&down, &target->enabled, sizeof down) == 0);
    check(tn__cpu_empty(&both) || (target->flags & TN_CPU_UNKNOWN_NAME));
    check(target->base <= index);
    check(tn_cpu_llvm_features(cpu->arch, target, text, sizeof text) < sizeof text);
}

static void choose(const struct tn_cpu *cpu, const struct tn_cpu_targets *targets)
{
    struct tn_error err;
    size_t chosen, count = tn_cpu_target_count(targets);
    for (size_t i = 0; i < count; i++)
        check_target(cpu, tn_cpu_target_at(targets, i), i);
    if (tn_cpu_choose(cpu, targets, NULL, &chosen, &err))
        return;
    struct tn_cpu_set missing;
    check(chosen < count);
    tn_cpu_missing(cpu, tn_cpu_target_at(targets, chosen), &missing);
    check(tn__cpu_empty(&missing));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!size)
        return 0;
    const struct tn_cpu_arch *arch = tn_cpu_arch_at(*bytes % 3);
    struct tn_cpu cpu = {.size = sizeof cpu, .arch = arch, .name = "generic", .cores = 1}, less;
    cpu.features = tn__cpu_features_of(arch, 1 + *bytes / 3 % (arch->cpu_end - 1));
    char *text = malloc(size);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = 0;

    struct tn_cpu_parse_options options = {sizeof options, arch, &cpu, "generic,clone_all;native", 0};
    struct tn_cpu_targets *targets;
    struct tn_error err;
    if (*bytes & 0x80)
        options.image = text;
    if (tn_cpu_parse_targets(*bytes & 0x80 ? "sysimage;native" : text, &options, &targets, &err) == 0) {
        choose(&cpu, targets);
        tn_cpu_targets_destroy(targets);
    }
    less = cpu;
    if (tn_cpu_limit(&less, text, &err) == 0) {
        struct tn_cpu_set more = tn__cpu_without(&less.features, &cpu.features);
        check(tn__cpu_empty(&more));
    }
    free(text);
    return 0;
}
