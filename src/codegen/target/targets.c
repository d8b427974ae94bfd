/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* From triple, CPU and features to a target machine. LLVM prints a warning for each CPU or feature it does not know and
 * goes on without it, so every name, also those in the module's function attributes, is looked up before LLVM sees it.
 * Only the target that is asked for is initialised: registering the passes of one costs about as much as starting. */

#include <stdio.h>

#include "codegen/llvm/arguments.h"
#include "codegen/llvm/fatal.h"
#include "codegen/target/rows.h"
#include "codegen/target/target.h"
#include "cpu/cpu.h"

/* LLVM's allocation, for the rest of the process. */
static char *host_triple;

/* The next target that is there, from *at on; NULL: there are no more. */
static struct tn__target_row *next_row(size_t *at)
{
    struct tn__target_row *row = NULL;
    while (!row && *at < TN__MOST_TARGETS)
        row = tn__targets[(*at)++];
    return row;
}

static const char *names[TN__MOST_TARGETS + 1]; /* up to NULL */

static bool init_names(void)
{
    size_t at = 0, count = 0;
    for (const struct tn__target_row *row; (row = next_row(&at));)
        names[count++] = row->name;
    return true;
}

static bool init_host(void)
{
    size_t at = 0;
    for (const struct tn__target_row *row; (row = next_row(&at));)
        row->init_info();
    char *triple = LLVMGetDefaultTargetTriple();
    host_triple = triple ? LLVMNormalizeTargetTriple(triple) : NULL;
    LLVMDisposeMessage(triple);
    return host_triple != NULL;
}

static struct tn__once host = TN__ONCE(init_host);

const char *const *tn_codegen_targets(void)
{
    static struct tn__once named = TN__ONCE(init_names);
    tn__once(&named);
    return names;
}

const char *tn_codegen_host_triple(void)
{
    return tn__once(&host) ? host_triple : "unknown";
}

/* ---- lookup ---- */

static int out_of_memory(struct tn_error *err)
{
    return tn__fail(err, TN_ENOMEM, "out of memory while setting up the target");
}

LLVMTargetRef tn__find_llvm_target(const char *triple)
{
    LLVMTargetRef found = NULL;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(triple, &found, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    return found;
}

static struct tn__target_row *row_of(LLVMTargetRef llvm)
{
    const char *name = LLVMGetTargetName(llvm);
    size_t at = 0;
    struct tn__target_row *row;
    while ((row = next_row(&at)) && strncmp(name, row->prefix, strlen(row->prefix)) != 0)
        ;
    return row;
}

static int unknown_triple(const char *triple, struct tn_error *err)
{
    int code = tn__fail(err, TN_EINVAL, "unknown target triple '%s'; built in:", triple);
    size_t at = 0;
    for (const struct tn__target_row *row; (row = next_row(&at));)
        tn__append(err, " %s", row->name);
    return code;
}

static int check_names(const struct tn__target *target, struct tn_error *err)
{
    size_t length;
    const char *unknown = tn__llvm_unknown_feature(target->names, target->features, &length);
    if (unknown)
        return tn__fail(err, TN_EINVAL, "unknown feature '%.*s' for target triple '%s' (want +name or -name)",
                        (int)length, unknown, target->triple);
    if (strcmp(target->cpu, "generic") != 0 && !tn__llvm_has_cpu(target->names, target->cpu))
        return tn__fail(err, TN_EINVAL, "unknown CPU '%s' for target triple '%s'", target->cpu, target->triple);
    return 0;
}

/* ---- opening ---- */

/* Decides which CPU is meant, and by which features. */
static int choose_cpu(struct tn__target *target, const struct tn__target_row *row, LLVMTargetRef llvm,
                      const struct tn_compile_options *options, struct tn_error *err)
{
    const struct tn_cpu_arch *arch = options->native ? options->native->arch : tn_cpu_arch_host();
    bool native_arch = tn__find_llvm_target(arch->triple) == llvm;
    bool wanted = options->cpu ? strcmp(options->cpu, "native") == 0 : native_arch;
    target->cpu_given = options->cpu != NULL;
    target->features = options->features ? options->features : "";
    if (!wanted) {
        target->cpu = options->cpu ? options->cpu : "generic";
        target->cpu_features = options->cpu ? "" : row->baseline;
        return 0;
    }
    if (!native_arch)
        return tn__fail(err, TN_EINVAL, "CPU 'native' is one of %s, but the target triple is '%s'", arch->name,
                        target->triple);
    const struct tn_cpu *native = options->native ? options->native : tn__native_host();
    return native && tn__native_describe(native, target, llvm) ? 0 : out_of_memory(err);
}

/* Both lists of features as one; NULL when memory is out. */
static char *join_features(const struct tn__target *target)
{
    size_t size = strlen(target->cpu_features) + strlen(target->features) + 2;
    char *joined = tn__alloc(NULL, size);
    if (joined)
        snprintf(joined, size, "%s%s%s", target->cpu_features, *target->cpu_features && *target->features ? "," : "",
                 target->features);
    return joined;
}

static LLVMTargetMachineRef create_machine(const struct tn__target *target, LLVMTargetRef llvm, const char *features,
                                           const struct tn_compile_options *options)
{
    static const LLVMCodeModel models[] = {LLVMCodeModelSmall, LLVMCodeModelMedium, LLVMCodeModelLarge};
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        llvm, target->triple, target->cpu, features, (LLVMCodeGenOptLevel)options->opt_level,
        options->reloc_model == TN_RELOC_PIC ? LLVMRelocPIC : LLVMRelocStatic, models[options->code_model]);
    if (!machine)
        return NULL;
    /* AArch64 would take GlobalISel at level 0; FastISel is what level 0 means on every target. */
    LLVMSetTargetMachineGlobalISel(machine, 0);
    tn__llvm_set_sections(machine, options->function_sections != 0);
    if (options->any_threads)
        tn__llvm_use_descriptors(machine);
    return machine;
}

int tn__target_open(struct tn__target *target, const struct tn_compile_options *options, const char *module_triple,
                    struct tn_error *err)
{
    tn__llvm_arguments_settle();
    if (!tn__once(&host))
        return out_of_memory(err);
    const char *wanted = options->triple ? options->triple : *module_triple ? module_triple : host_triple;
    target->triple = LLVMNormalizeTargetTriple(wanted);
    if (!target->triple)
        return out_of_memory(err);
    LLVMTargetRef llvm = tn__find_llvm_target(target->triple);
    struct tn__target_row *row = llvm ? row_of(llvm) : NULL;
    if (!row)
        return unknown_triple(wanted, err);
    if (options->code_model == TN_CODE_MEDIUM && !row->medium)
        return tn__fail(err, TN_EINVAL, "%s has no medium code model", row->name);
    if (!tn__once(&row->init))
        return out_of_memory(err);

    target->names = tn__llvm_subtarget(llvm, target->triple, "");
    if (!target->names)
        return unknown_triple(wanted, err);
    int code = choose_cpu(target, row, llvm, options, err);
    if (!code)
        code = check_names(target, err);
    if (code)
        return code;

    char *features = join_features(target);
    if (!features)
        return out_of_memory(err);
    if (!options->assembly_files)
        llvm = target->closed = tn__llvm_closed_target(llvm);
    target->machine = create_machine(target, llvm, features, options);
    tn__free(NULL, features);
    if (!target->machine)
        return unknown_triple(wanted, err);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(target->machine);
    target->layout = LLVMCopyStringRepOfTargetData(data);
    LLVMDisposeTargetData(data);
    return 0;
}

void tn__target_close(struct tn__target *target)
{
    tn__llvm_emitter_free(&target->emitter);
    if (target->machine)
        LLVMDisposeTargetMachine(target->machine);
    tn__llvm_closed_target_free(target->closed);
    if (target->names)
        tn__llvm_subtarget_free(target->names);
    tn__free(NULL, target->native_features);
    LLVMDisposeMessage(target->layout);
    LLVMDisposeMessage(target->triple);
}
