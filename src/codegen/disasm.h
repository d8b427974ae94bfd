/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's disassembler, one instruction at a time. Its tables weigh as much as a tenth of the code generator, so it is part of
 * a program only where one of these functions is named. */

#ifndef TENON_CODEGEN_DISASM_H
#define TENON_CODEGEN_DISASM_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Who knows what numbers in instructions stand for. Names last until the next question. */
struct tn__namer {
    void *context;
    /* What a relocation puts into the field at `at`, of an instruction that ends at `end`: *name + *offset. False if there is
     * none. */
    bool (*field)(void *context, uint64_t at, uint64_t end, const char **name, int64_t *offset);
    /* What a branch to an address leads to, or NULL. */
    const char *(*target)(void *context, uint64_t address);
    /* Told of data that an instruction refers to by its distance. */
    void (*mention)(void *context, uint64_t address);
};

struct tn__disasm;

/* For the architecture of an ELF machine number. `namer` is borrowed. TN_ENOTSUP (it is not built in), TN_ENOMEM. */
int tn__disasm_open(uint16_t elf_machine, const struct tn__namer *namer, bool intel_syntax, struct tn__disasm **out,
                    struct tn_error *err);
/* Writes the instruction at `bytes`, which runs at `address`, as text; returns its size, or 0 if it is none. */
size_t tn__disasm_next(struct tn__disasm *disasm, const void *bytes, size_t size, uint64_t address, char *text,
                       size_t text_size);
void tn__disasm_close(struct tn__disasm *disasm);

#pragma GCC visibility pop
#endif
