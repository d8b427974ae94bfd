/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's disassembler, one instruction at a time. Its tables are a tenth of the size of the code generator, so a
 * program contains them only if it uses one of these functions. */

#ifndef TENON_CODEGEN_DISASM_H
#define TENON_CODEGEN_DISASM_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Provides names for numbers in instructions. A name is valid until the next call. */
struct tn__namer {
    void *context;
    /* What a relocation stores in the field at `at`, of an instruction that ends at `end`: *name + *offset. False:
     * there is none. */
    bool (*field)(void *context, uint64_t at, uint64_t end, const char **name, int64_t *offset);
    /* The target of a branch to this address, or NULL. */
    const char *(*target)(void *context, uint64_t address);
    /* Called for data that an instruction refers to relative to the program counter. */
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
