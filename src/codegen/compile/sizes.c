/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How large functions are before and after the passes, for observers. */

#include "codegen/compile/sizes.h"
#include "codegen/llvm/diagnostics.h"

static struct tn_function_size size_of(struct tn__arena *arena, LLVMValueRef function)
{
    const char *name = tn__module_name(function);
    struct tn_function_size size = {.name = tn__arena_text(arena, name, strlen(name))};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b), size.blocks++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            size.instructions++;
    return size;
}

struct tn__sizes tn__sizes_of(struct tn__arena *arena, LLVMModuleRef module)
{
    struct tn__sizes sizes = {0};
    size_t most = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        most++;
    sizes.list = tn__arena_array(arena, most + 1, sizeof *sizes.list);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f && sizes.list; f = LLVMGetNextFunction(f)) {
        if (!tn__is_defined(f) || !*tn__module_name(f))
            continue;
        struct tn_function_size size = size_of(arena, f);
        if (size.name)
            sizes.list[sizes.count++] = size;
    }
    return sizes;
}

bool tn__is_defined(LLVMValueRef function)
{
    return !LLVMIsDeclaration(function) && LLVMGetLinkage(function) != LLVMAvailableExternallyLinkage;
}
