/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The CPU and feature attributes of functions. For LLVM they override the target machine, so a CPU that the client
 * names would have no effect on IR from clang; here both are combined, per function. Values of attributes are unique
 * within a context, so remembering one pointer saves most of the work: in practice all functions of a module have the
 * same lists. */

#include "codegen/target/target.h"

#define ATTRIBUTE(name) name, sizeof name - 1

struct job {
    const struct tn__target *target;
    LLVMContextRef context;
    const char *input;
    struct tn_error *err;
    const char *cpu_checked;   /* known CPU, as attribute value */
    const char *list_checked;  /* last list of features seen, as attribute value ... */
    bool list_overridden;      /* ... whether the CPU's features were added ... */
    LLVMAttributeRef list_new; /* ... and what replaces it; NULL: it stays */
};

/* The attribute's value, or NULL. */
static const char *get(LLVMValueRef function, const char *key, unsigned length)
{
    LLVMAttributeRef attribute =
        LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, key, length);
    unsigned value_length;
    return attribute ? LLVMGetStringAttributeValue(attribute, &value_length) : NULL;
}

static void set(LLVMValueRef function, LLVMAttributeRef attribute)
{
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

static int fail(struct job *job, LLVMValueRef function, const char *what, size_t length, const char *name)
{
    size_t name_length;
    const char *function_name = LLVMGetValueName2(function, &name_length);
    return tn__fail(job->err, TN_ECOMPILE,
                    "%s: error: function '%.*s' asks for the %s '%.*s', unknown for target triple '%s'", job->input,
                    (int)name_length, function_name, what, (int)length, name, job->target->triple);
}

static int check_cpu(struct job *job, LLVMValueRef function, const char *cpu)
{
    if (!cpu || cpu == job->cpu_checked)
        return 0;
    if (strcmp(cpu, "generic") != 0 && !tn__llvm_has_cpu(job->target->names, cpu))
        return fail(job, function, "CPU", strlen(cpu), cpu);
    job->cpu_checked = cpu;
    return 0;
}

/* Appends `list` without each "-name" that the target does not know: compilers of other versions list many, and LLVM
 * does not emit what it has no name for. Returns an unknown "+name", or NULL. */
static const char *append_known(const struct tn__subtarget *names, char *joined, const char *list, size_t *length)
{
    char *end = joined + strlen(joined);
    for (const char *at = list; *at; at += *length + (at[*length] == ',')) {
        *length = strcspn(at, ",");
        if (*length && !tn__llvm_has_feature(names, at + 1, *length - 1)) {
            if (*at != '-')
                return at;
            continue;
        }
        if (*length && end != joined)
            *end++ = ',';
        memcpy(end, at, *length);
        end += *length;
        *end = 0;
    }
    return NULL;
}

/* Makes the list that replaces `own` (may be NULL): the CPU's features if `override`, the function's own, the
 * client's. */
static int join_features(struct job *job, LLVMValueRef function, const char *own, bool override)
{
    const struct tn__target *target = job->target;
    const char *parts[] = {override ? target->cpu_features : "", own ? own : "", target->features};
    size_t size = 1;
    for (size_t i = 0; i < TN_COUNT(parts); i++)
        size += strlen(parts[i]) + 1;
    char *joined = tn__alloc_zeroed(NULL, size, 1);
    if (!joined)
        return tn__fail(job->err, TN_ENOMEM, "out of memory");

    int code = 0;
    size_t length;
    for (size_t i = 0; !code && i < TN_COUNT(parts); i++) {
        const char *unknown = append_known(target->names, joined, parts[i], &length);
        if (unknown)
            code = fail(job, function, "feature", length, unknown);
    }
    if (!code)
        job->list_new =
            LLVMCreateStringAttribute(job->context, ATTRIBUTE("target-features"), joined, (unsigned)strlen(joined));
    tn__free(NULL, joined);
    return code;
}

static int apply(struct job *job, LLVMValueRef function)
{
    const struct tn__target *target = job->target;
    const char *cpu = get(function, ATTRIBUTE("target-cpu"));
    const char *features = get(function, ATTRIBUTE("target-features"));
    bool override = target->cpu_given || !cpu;

    int code = override ? 0 : check_cpu(job, function, cpu);
    if (!code)
        code = check_cpu(job, function, get(function, ATTRIBUTE("tune-cpu")));
    if (code || (!cpu && !features)) /* without either, the machine's apply */
        return code;

    if (features != job->list_checked || override != job->list_overridden || !job->list_new)
        code = join_features(job, function, features, override);
    if (code)
        return code;
    job->list_checked = features;
    job->list_overridden = override;
    set(function, job->list_new);
    if (override)
        set(function, LLVMCreateStringAttribute(job->context, ATTRIBUTE("target-cpu"), target->cpu,
                                                (unsigned)strlen(target->cpu)));
    return 0;
}

int tn__target_apply(const struct tn__target *target, LLVMModuleRef module, const char *name, struct tn_error *err)
{
    struct job job = {.target = target, .context = LLVMGetModuleContext(module), .input = name, .err = err};
    int code = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f && !code; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            code = apply(&job, f);
    return code;
}
