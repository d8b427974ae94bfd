/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* lljit OBJECT SYMBOL: the same work by LLVM's own means, ORC's LLJIT over JITLink, through LLVM's C API. Prints
 * `create_us` (targets and LLJIT), `link_us` (add the object, look the symbol up) and `total_us`.
 * As in link.c the object lies in memory when the clock starts and undefined symbols are all answered with one address. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#include "measure.h"

static void check(LLVMErrorRef error)
{
    if (!error)
        return;
    fprintf(stderr, "lljit: %s\n", LLVMGetErrorMessage(error));
    exit(1);
}

static void stand_in(void)
{
    exit(1);
}

static LLVMErrorRef answer_anything(LLVMOrcDefinitionGeneratorRef generator, void *unused, LLVMOrcLookupStateRef *state,
                                    LLVMOrcLookupKind kind, LLVMOrcJITDylibRef library,
                                    LLVMOrcJITDylibLookupFlags flags, LLVMOrcCLookupSet names, size_t count)
{
    (void)generator, (void)unused, (void)state, (void)kind, (void)flags;
    LLVMOrcCSymbolMapPair *answers = calloc(count, sizeof *answers);
    if (!answers)
        abort();
    for (size_t i = 0; i < count; i++) {
        LLVMOrcRetainSymbolStringPoolEntry(names[i].Name);
        answers[i].Name = names[i].Name;
        answers[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)stand_in;
        answers[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
    }
    LLVMErrorRef error = LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(answers, count));
    free(answers);
    return error;
}

static LLVMOrcLLJITRef create(void)
{
    LLVMOrcLLJITRef jit;
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    check(LLVMOrcCreateLLJIT(&jit, NULL));
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit),
                                LLVMOrcCreateCustomCAPIDefinitionGenerator(answer_anything, NULL, NULL));
    return jit;
}

int main(int argc, char **argv)
{
    size_t size;
    const void *bytes = argc == 3 ? read_touched(argv[1], &size) : NULL;
    if (!bytes)
        return 1;
    uint64_t start = now_ns();
    LLVMOrcLLJITRef jit = create();
    uint64_t created = now_ns();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(bytes, size, argv[1], 0);
    check(LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), buffer));
    LLVMOrcExecutorAddress address;
    check(LLVMOrcLLJITLookup(jit, &address, argv[2]));
    uint64_t end = now_ns();
    int (*function)(void);
    memcpy(&function, &address, sizeof function);
    printf("create_us %.1f\nlink_us %.1f\ntotal_us %.1f\nanswer %d\n", (double)(created - start) / 1e3,
           (double)(end - created) / 1e3, (double)(end - start) / 1e3, function());
    fflush(stdout);
    _Exit(0); /* taking everything down again is nobody's figure */
}
