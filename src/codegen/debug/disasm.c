/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include "codegen/debug/disasm.h"
#include "codegen/llvm/fatal.h"

struct tn__disasm {
    LLVMDisasmContextRef llvm;
    const struct tn__namer *namer;
};

/* ---- architectures: those whose objects the linker reads ---- */

/* The targets that src/codegen/libs.mk names. */
#define INIT(Target)                                                                                                   \
    static bool init_##Target(void)                                                                                    \
    {                                                                                                                  \
        LLVMInitialize##Target##TargetInfo();                                                                          \
        LLVMInitialize##Target##TargetMC();                                                                            \
        LLVMInitialize##Target##Disassembler();                                                                        \
        return true;                                                                                                   \
    }
#if TN_DISASM_X86
INIT(X86)
#endif
#if TN_DISASM_AArch64
INIT(AArch64)
#endif

static struct row {
    uint16_t elf_machine;
    const char *triple;
    struct tn__once init;
} rows[] = {
#if TN_DISASM_X86
    {62, "x86_64-linux-gnu", TN__ONCE(init_X86)},
#endif
#if TN_DISASM_AArch64
    {183, "aarch64-linux-gnu", TN__ONCE(init_AArch64)},
#endif
    {0, NULL, TN__ONCE(NULL)},
};

/* ---- what LLVM asks ---- */

/* `offset` and `size` are those of a field of the instruction at `address`. */
static int name_field(void *context, uint64_t address, uint64_t offset, uint64_t field_size, uint64_t size, int type,
                      void *buffer)
{
    struct tn__disasm *disasm = context;
    struct LLVMOpInfo1 *info = buffer;
    const char *name;
    int64_t addend;
    (void)field_size;
    if (type != 1 || !disasm->namer->field(disasm->namer->context, address + offset, address + size, &name, &addend))
        return 0;
    *info = (struct LLVMOpInfo1){.AddSymbol = {.Present = 1, .Name = name}, .Value = (uint64_t)addend};
    return 1;
}

static const char *name_target(void *context, uint64_t value, uint64_t *type, uint64_t address, const char **comment)
{
    struct tn__disasm *disasm = context;
    uint64_t asked = *type;
    (void)address;
    *type = LLVMDisassembler_ReferenceType_InOut_None;
    *comment = NULL;
    if (asked == LLVMDisassembler_ReferenceType_In_Branch)
        return disasm->namer->target(disasm->namer->context, value);
    if (asked == LLVMDisassembler_ReferenceType_In_PCrel_Load)
        disasm->namer->mention(disasm->namer->context, value);
    return NULL;
}

/* ---- the whole ---- */

struct opening {
    struct tn__disasm *disasm;
    const struct row *row;
    bool intel_syntax;
};

static int open_llvm(void *user)
{
    struct opening *o = user;
    o->disasm->llvm = LLVMCreateDisasm(o->row->triple, o->disasm, 1, name_field, name_target);
    if (o->disasm->llvm)
        LLVMSetDisasmOptions(o->disasm->llvm, LLVMDisassembler_Option_PrintImmHex |
                                                  (o->intel_syntax ? LLVMDisassembler_Option_AsmPrinterVariant : 0));
    return 0;
}

int tn__disasm_open(uint16_t elf_machine, const struct tn__namer *namer, bool intel_syntax, struct tn__disasm **out,
                    struct tn_error *err)
{
    struct row *row = rows;
    while (row->triple && row->elf_machine != elf_machine)
        row++;
    if (!row->triple)
        return tn__fail(err, TN_ENOTSUP, "no disassembler for machine %u is built in", elf_machine);
    struct tn__disasm *disasm = tn__once(&row->init) ? tn__alloc_zeroed(NULL, 1, sizeof *disasm) : NULL;
    if (!disasm)
        return tn__no_memory(err, NULL);
    disasm->namer = namer;
    int code = tn__contain_here(open_llvm, &(struct opening){disasm, row, intel_syntax}, err);
    if (!code && !disasm->llvm)
        code = tn__fail(err, TN_ENOMEM, "LLVM could not set up its disassembler");
    if (code)
        tn__free(NULL, disasm);
    else
        *out = disasm;
    return code;
}

struct instruction {
    struct tn__disasm *disasm;
    const void *bytes;
    size_t size, text_size, found;
    uint64_t address;
    char *text;
};

static int next(void *user)
{
    struct instruction *i = user;
    i->found = LLVMDisasmInstruction(i->disasm->llvm, (uint8_t *)(uintptr_t)i->bytes, i->size, i->address, i->text,
                                     i->text_size);
    return 0;
}

size_t tn__disasm_next(struct tn__disasm *disasm, const void *bytes, size_t size, uint64_t address, char *text,
                       size_t text_size)
{
    struct instruction instruction = {
        .disasm = disasm, .bytes = bytes, .size = size, .text_size = text_size, .address = address, .text = text};
    return tn__contain_here(next, &instruction, NULL) ? 0 : instruction.found;
}

static int close_llvm(void *user)
{
    LLVMDisasmDispose(user);
    return 0;
}

void tn__disasm_close(struct tn__disasm *disasm)
{
    tn__contain_here(close_llvm, disasm->llvm, NULL);
    tn__free(NULL, disasm);
}
