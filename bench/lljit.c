/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* lljit OBJECT SYMBOL: the same work by LLVM's own means, ORC's LLJIT over JITLink, through LLVM's C API. Prints
 * `create_us` (targets and LLJIT), `link_us` (add the object, look the symbol up) and `total_us`. lljit --small
 * OBJECT: many one-function objects, one by one, as in small.c. As in link.c the object lies in memory when the
 * clock starts and undefined symbols are all answered with one address. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#include "measure.h"
#include "resident.h"
#include "template.h"

enum { SMALL = 10000 };

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

/* Adds an object that stays where it is and looks a symbol up; returns its address. */
static LLVMOrcExecutorAddress link_object(LLVMOrcLLJITRef jit, LLVMMemoryBufferRef buffer, const char *symbol)
{
    LLVMOrcExecutorAddress address;
    check(LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), buffer));
    check(LLVMOrcLLJITLookup(jit, &address, symbol));
    return address;
}

static int measure_one(const char *path, const char *symbol)
{
    size_t size;
    const void *bytes = read_touched(path, &size);
    if (!bytes)
        return 1;
    uint64_t start = now_ns();
    LLVMOrcLLJITRef jit = create();
    uint64_t created = now_ns();
    link_object(jit, LLVMCreateMemoryBufferWithMemoryRange(bytes, size, path, 0), symbol);
    uint64_t end = now_ns();
    printf("create_us %.1f\nlink_us %.1f\ntotal_us %.1f\n", (double)(created - start) / 1e3,
           (double)(end - created) / 1e3, (double)(end - start) / 1e3);
    return 0;
}

static int measure_small(const char *path)
{
    static double times[SMALL];
    struct template t;
    char name[NAME_SIZE];
    if (!load_template(&t, path))
        return 1;
    LLVMOrcLLJITRef jit = create();
    memset(times, 0, sizeof times);
    long before = resident_kb();
    for (unsigned i = 0; i < SMALL; i++) {
        make_object(&t, i, name);
        uint64_t start = now_ns();
        LLVMOrcExecutorAddress address =
            link_object(jit, LLVMCreateMemoryBufferWithMemoryRange((const char *)t.bytes, t.size, name, 0), name);
        times[i] = (double)(now_ns() - start) / 1e3;
        unsigned (*function)(unsigned);
        memcpy(&function, &address, sizeof function);
        if (function(1) != i + 1)
            return 1;
    }
    printf("small_bytes_per_object %.0f\n", (double)(resident_kb() - before) * 1024 / SMALL);
    printf("small_median_us %.2f\n", median(times, SMALL));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 1;
    int code = strcmp(argv[1], "--small") == 0 ? measure_small(argv[2]) : measure_one(argv[1], argv[2]);
    fflush(stdout);
    _Exit(code); /* taking everything down again is nobody's figure */
}
