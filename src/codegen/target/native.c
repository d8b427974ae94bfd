/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The meaning of "native" for LLVM. The host is examined by src/cpu and not by LLVM, so that code is compiled by the
 * same rules by which a version of an image is chosen: features that all cores have, that the system supports and that
 * a client has not removed. */

#include "codegen/llvm/fatal.h"
#include "codegen/target/target.h"
#include "cpu/cpu.h"

static struct tn_cpu host = {.size = sizeof host};

static bool look_at_host(void)
{
    return tn_cpu_host(&host, NULL) == 0;
}

static struct tn__once once = TN__ONCE(look_at_host);

const struct tn_cpu *tn__native_host(void)
{
    return tn__once(&once) ? &host : NULL;
}

/* True if LLVM has to be told about a feature: it has a name for it, and the CPU's name implies the opposite. Groups
 * only stand for other features; features that programs cannot detect are left as the name implies. */
static bool differs(const struct tn_cpu *cpu, size_t feature, const struct tn__subtarget *name)
{
    const struct tn__feature_row *row = &cpu->arch->features[feature];
    bool has = tn__cpu_has(&cpu->features, feature);
    if (row->kind == TN_CPU_GROUP || (!has && row->word == TN__CPU_NOWHERE))
        return false;
    bool on;
    return tn__llvm_ask_feature(name, row->name, &on) && on != has;
}

/* Writes the differing features to `text`, unless that is NULL, and returns the length. LLVM reads from left to right
 * and removes what depends on a feature along with it, so removals come first. */
static size_t list_features(const struct tn_cpu *cpu, const struct tn_cpu_set *different, char *text)
{
    size_t length = 0;
    for (int has = 0; has < 2; has++)
        for (size_t f = 1; f < cpu->arch->feature_end; f++) {
            if (!tn__cpu_has(different, f) || tn__cpu_has(&cpu->features, f) != has)
                continue;
            const char *name = cpu->arch->features[f].name;
            if (text) {
                text[length] = ',';
                text[length + 1] = has ? '+' : '-';
                memcpy(text + length + 2, name, strlen(name));
            }
            length += strlen(name) + 2;
        }
    return length;
}

bool tn__native_describe(const struct tn_cpu *cpu, struct tn__target *target, LLVMTargetRef llvm)
{
    /* A CPU that this LLVM has no name for still has features that it can name. */
    target->cpu = tn__llvm_has_cpu(target->names, cpu->name) ? cpu->name : "generic";
    struct tn__subtarget *name = tn__llvm_subtarget(llvm, target->triple, target->cpu);
    struct tn_cpu_set different = {{0}};
    for (size_t f = 1; name && f < cpu->arch->feature_end; f++)
        if (differs(cpu, f, name))
            tn__cpu_add(&different, f);
    tn__llvm_subtarget_free(name);
    char *list = target->native_features = tn__alloc_zeroed(NULL, list_features(cpu, &different, NULL) + 1, 1);
    if (!list || !name)
        return false;
    list_features(cpu, &different, list);
    target->cpu_features = *list ? list + 1 : list;
    return true;
}

const char *tn_codegen_host_cpu(void)
{
    const struct tn_cpu *cpu = tn__native_host();
    return cpu ? cpu->name : "unknown";
}
