/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* probe TARGETS: prints the name of the CPU that it runs on, the number of the target that is taken ("-": none
 * fits), and the features. */

#include <stdio.h>

#include "tenon_cpu.h"

static void print_choice(const struct tn_cpu *cpu, const char *text)
{
    struct tn_error err;
    struct tn_cpu_targets *targets;
    struct tn_cpu_parse_options options = {.size = sizeof options, .native = cpu};
    size_t chosen;
    if (tn_cpu_parse_targets(text, &options, &targets, &err)) {
        puts(err.text);
        return;
    }
    if (tn_cpu_choose(cpu, targets, NULL, &chosen, &err))
        printf("-");
    else
        printf("%zu", chosen);
    tn_cpu_targets_destroy(targets);
}

int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_cpu cpu = {.size = sizeof cpu};
    char features[8192];
    if (argc != 2 || tn_cpu_host(&cpu, &err))
        return 1;
    tn_cpu_format(cpu.arch, &cpu.features, features, sizeof features);
    printf("%s ", cpu.name);
    print_choice(&cpu, argv[1]);
    printf(" %s\n", features);
    return 0;
}
