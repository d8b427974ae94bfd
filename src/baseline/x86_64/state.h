/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One compilation for x86-64: where values are, and the code so far.
 *
 * A value is in a register, in a slot of the frame, or both; an address of stack memory is in neither, but known. Where
 * a block begins, all values that live there are in slots, unless the block has one predecessor and follows it: a value
 * that another block uses is stored to its slot when it is defined. In a block, registers are given up as others are
 * needed, and before calls. The code on edges moves values into the slots of phis, by r11 and xmm15, which hold no
 * values; so an edge leaves all registers as they are. */

#ifndef TENON_BASELINE_X86_64_STATE_H
#define TENON_BASELINE_X86_64_STATE_H

#include "baseline/code.h"
#include "baseline/x86_64/encode.h"

#pragma GCC visibility push(hidden)

enum { TN__X64_NO_VALUE = UINT32_MAX, TN__X64_NO_LABEL = UINT32_MAX };

enum tn__x64_place { TN__X64_IN_REGISTER_ONLY = 0, TN__X64_IN_SLOT, TN__X64_IS_FRAME };

struct tn__x64_value {
    uint8_t reg;            /* or TN__NO_REGISTER */
    uint8_t place;          /* enum tn__x64_place: whether its slot has it as well, or it is the address of its slot */
    bool has_slot, is_wide; /* its slot has 16 bytes, not 8 */
    int32_t slot;           /* from rbp */
    uint32_t uses;          /* that are still to come in the order of code */
    uint32_t next;          /* of those whose slots end at the same block */
};

/* The 32 bits at `at` become the distance from `from` to the label. */
struct tn__x64_fixup {
    uint32_t at, label, from;
};

/* A value that has to get into a register, together with others. */
struct tn__x64_move {
    uint32_t operand;
    uint8_t type, kind, target;
    uint8_t source; /* the register that it is in, or TN__NO_REGISTER */
    bool done;
    uint32_t readers; /* of a phi: moves to come that read its slot */
};

/* To a block: the label of the code on it, if a switch at hand has it; and where the last edge's values are among the
 * operands of the block's phis. */
struct tn__x64_edge {
    uint32_t stub, source;
};

/* Of a value: the last safepoint that has listed it, counted from 1, and its number among the references there. */
struct tn__x64_root {
    uint32_t safepoint, number;
};

struct tn__x64_case {
    uint64_t value;
    uint32_t label;
};

/* Arrays that are kept from one function to the next. */
struct tn__x64_scratch {
    struct tn__x64_value *values;
    uint32_t *ending;           /* of each position: the first value whose slot ends there */
    int32_t *free_slots[2];     /* of 8 and of 16 bytes */
    uint32_t *labels;           /* offsets: of blocks, and then of other places */
    struct tn__x64_edge *edges; /* of each block */
    struct tn__x64_fixup *fixups;
    struct tn__x64_move *moves; /* of phis, arguments and results */
    struct tn__x64_case *cases;
    struct tn__code_site *sites;
    struct tn__code_types types;
    struct tn__code_map map;
    struct tn__x64_root *roots; /* of each value, in functions with safepoints */
    size_t site_room, root_room;
    size_t value_room, ending_room, slot_room[2], label_room, edge_room, fixup_room, move_room, case_room;
};

/* Registers that hold values. */
enum {
    TN__X64_CALLER_SAVED = 1 << TN__RAX | 1 << TN__RCX | 1 << TN__RDX | 1 << TN__RSI | 1 << TN__RDI | 1 << TN__R8 |
                           1 << TN__R9 | 1 << TN__R10,
    TN__X64_CALLEE_SAVED = 1 << TN__RBX | 1 << TN__R12 | 1 << TN__R13 | 1 << TN__R14 | 1 << TN__R15,
    TN__X64_GENERAL = TN__X64_CALLER_SAVED | TN__X64_CALLEE_SAVED,
    TN__X64_FLOAT = 0x7fff << TN__XMM0,
    TN__X64_CLOBBERED = TN__X64_CALLER_SAVED | TN__X64_FLOAT
};

struct tn__x64 {
    const struct tn__flat *flat;
    const struct tn__flat_analysis *analysis;
    const struct tn__code_symbol *symbols;
    struct tn__x64_scratch *s;
    struct tn__code *code;
    struct tn_error *err;
    int failed; /* an error, after which what is written does not matter */

    uint8_t *at, *limit; /* in code->bytes */

    uint32_t held[TN__X64_REGISTERS]; /* the value in each register */
    uint32_t free;                    /* registers, as a set */
    uint32_t pinned;                  /* not to be given up in this instruction */
    uint32_t borrowed;                /* by this instruction, and free at its end */
    uint32_t saved;                   /* callee-saved ones that the function uses */

    uint32_t position, block; /* of the block at hand */
    uint32_t inst;            /* the instruction at hand */
    uint32_t deferred;        /* an address that the next instruction computes; TN__X64_NO_VALUE: none */
    uint32_t fused;           /* a comparison whose flags the next instruction uses */
    unsigned fused_cc;

    int32_t frame;     /* bytes below rbp */
    uint32_t outgoing; /* bytes of the largest list of arguments in memory */
    bool allocates;    /* memory of any size, above `outgoing` */
    uint32_t returned; /* the value of a pointer that the function returns (sret) */
    size_t free_slots[2], labels, fixups;
    int32_t spare;                                 /* 16 bytes, for the instruction or the edge at hand; 0: none yet */
    uint32_t epilogue;                             /* its label */
    uint32_t above_arguments;                      /* a label: the distance from rsp to the end of `outgoing` */
    int32_t saved_arguments;                       /* of a variadic function: from rbp */
    uint32_t va_registers, va_floats, va_overflow; /* the numbers in a va_list, and where further arguments begin */
    size_t sites;                                  /* calls that exceptions may leave */
    uint32_t call, call_end;                       /* the last call: its offset, and that of what follows */
};

static inline unsigned tn__x64_bank(unsigned type)
{
    return tn__flat_is_float(type) ? TN__X64_FLOAT : TN__X64_GENERAL;
}

static inline const struct tn__flat_inst *tn__x64_inst(const struct tn__x64 *c)
{
    return &c->flat->insts[c->inst];
}

static inline uint32_t tn__x64_number(const struct tn__x64 *c, uint32_t inst)
{
    return (uint32_t)c->flat->argument_count + inst;
}

static inline const uint32_t *tn__x64_operands(const struct tn__x64 *c)
{
    return c->flat->operands + tn__x64_inst(c)->first;
}

static inline uint32_t tn__x64_offset(const struct tn__x64 *c)
{
    return (uint32_t)(c->at - c->code->bytes);
}

/* ---- writing (write.c) ---- */

/* Makes space for so many bytes of code. False: the compilation has failed, and nothing more is to be written. */
bool tn__x64_reserve(struct tn__x64 *c, size_t bytes);
void tn__x64_fail(struct tn__x64 *c, int code, const char *why);
/* As tn__grow; false: the compilation has failed, out of memory. */
bool tn__x64_grow(struct tn__x64 *c, void *items, size_t *room, size_t need, size_t size);

void tn__x64_emit(struct tn__x64 *c, enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm);
void tn__x64_emit_immediate(struct tn__x64 *c, enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm,
                            int32_t immediate);
void tn__x64_emit_constant(struct tn__x64 *c, unsigned reg, uint64_t value); /* general; leaves the flags alone */
/* A move between registers of one bank, if they differ. */
void tn__x64_emit_move(struct tn__x64 *c, unsigned to, unsigned from);
void tn__x64_emit_byte(struct tn__x64 *c, unsigned byte);
/* Loads and stores of registers of either bank. */
void tn__x64_emit_load(struct tn__x64 *c, unsigned type, unsigned reg, struct tn__x64_rm rm);
void tn__x64_emit_store(struct tn__x64 *c, unsigned type, unsigned reg, struct tn__x64_rm rm);
/* Puts the address of a symbol into a general register. */
void tn__x64_emit_address(struct tn__x64 *c, unsigned reg, const struct tn__flat_address *address);
void tn__x64_relocate(struct tn__x64 *c, uint32_t offset, uint32_t type, uint32_t symbol, int64_t addend);

/* Labels. The first ones are the blocks'. */
uint32_t tn__x64_new_label(struct tn__x64 *c);
void tn__x64_place_label(struct tn__x64 *c, uint32_t label);
void tn__x64_refer(struct tn__x64 *c, uint32_t at, uint32_t label, uint32_t from);
void tn__x64_jump(struct tn__x64 *c, uint32_t label);
void tn__x64_jump_if(struct tn__x64 *c, unsigned cc, uint32_t label);
void tn__x64_resolve(struct tn__x64 *c);

/* ---- where values are (allocate.c) ---- */

/* A register of a bank that nothing else needs until the instruction ends. */
unsigned tn__x64_take(struct tn__x64 *c, uint32_t bank);
/* Frees one register, and borrows it. */
void tn__x64_claim(struct tn__x64 *c, unsigned reg);
/* The operand in a register, which is not to be written. */
unsigned tn__x64_in_register(struct tn__x64 *c, uint32_t operand, unsigned type);
/* The operand in a register, which the instruction may write. */
unsigned tn__x64_own(struct tn__x64 *c, uint32_t operand, unsigned type);
/* The operand in a register, or in its slot if it is not there and this is its last use. */
struct tn__x64_rm tn__x64_in_either(struct tn__x64 *c, uint32_t operand, unsigned type);
/* Puts the operand into a register that was claimed, whatever else it is in. Changes no flags. */
void tn__x64_copy_to(struct tn__x64 *c, unsigned reg, uint32_t operand, unsigned type);
/* The memory at an address. */
struct tn__x64_rm tn__x64_at_address(struct tn__x64 *c, uint32_t operand);

/* Whether an operand is a number that an instruction of this size can have in it. */
bool tn__x64_is_immediate(const struct tn__x64 *c, uint32_t operand, unsigned size, int32_t *immediate);

/* The value is in a register that was borrowed. */
void tn__x64_define(struct tn__x64 *c, uint32_t value, unsigned reg);
/* The value is the address so many bytes from rbp. */
void tn__x64_define_frame(struct tn__x64 *c, uint32_t value, int32_t offset);
/* A slot for the value, until its last use. */
int32_t tn__x64_slot(struct tn__x64 *c, uint32_t value);
/* Memory in the frame, for good; returns where it is from rbp. */
int32_t tn__x64_frame(struct tn__x64 *c, uint32_t bytes, uint32_t alignment);
/* 16 bytes of the frame, which nothing else needs until the instruction or the edge ends; where they are from rbp. */
int32_t tn__x64_spare(struct tn__x64 *c);
/* Stores a value to its slot, unless it is there. */
void tn__x64_spill(struct tn__x64 *c, uint32_t value);

/* A use has been compiled: the register is free after the last one. */
void tn__x64_used(struct tn__x64 *c, uint32_t operand);
void tn__x64_give_back(struct tn__x64 *c); /* what was borrowed */
/* Forgets what is in these registers. */
void tn__x64_forget(struct tn__x64 *c, uint32_t registers);
/* Slots of values that live no longer than the block at hand become free. */
void tn__x64_end_block(struct tn__x64 *c);

/* ---- values of 80 bits (x87.c) ----
 *
 * They are in slots, and never in registers: the stack of the x87 is empty between instructions. */

/* Pushes an operand, and pops a value. */
void tn__x64_push(struct tn__x64 *c, uint32_t operand);
void tn__x64_pop(struct tn__x64 *c, uint32_t value);
/* Stores an operand to 16 aligned bytes, by r11 and xmm15. */
void tn__x64_store_wide(struct tn__x64 *c, uint32_t operand, struct tn__x64_rm to);
/* Sets the flags as ucomisd does. */
void tn__x64_compare_x87(struct tn__x64 *c, uint32_t left, uint32_t right);
/* An instruction with such a value, except those that have one of any type in their list of operands. */
void tn__x64_compile_x87(struct tn__x64 *c);

/* ---- operations ---- */

void tn__x64_compile_integer(struct tn__x64 *c); /* integer.c */
void tn__x64_compile_float(struct tn__x64 *c);   /* float.c */
void tn__x64_compile_cast(struct tn__x64 *c);    /* cast.c */
/* The operand of a conversion, extended to `size` bytes, in a register that the instruction may write. */
unsigned tn__x64_extended(struct tn__x64 *c, unsigned from, bool is_signed, unsigned size);
void tn__x64_compile_memory(struct tn__x64 *c);  /* memory.c */
void tn__x64_compile_compare(struct tn__x64 *c); /* compare.c */
void tn__x64_compile_call(struct tn__x64 *c);    /* call.c */
void tn__x64_compile_return(struct tn__x64 *c);
void tn__x64_compile_thread(struct tn__x64 *c);
void tn__x64_compile_entry(struct tn__x64 *c);
void tn__x64_compile_va_start(struct tn__x64 *c);
void tn__x64_compile_control(struct tn__x64 *c); /* control.c */
void tn__x64_compile_managed(struct tn__x64 *c); /* managed.c */
void tn__x64_end_safepoint(struct tn__x64 *c);   /* behind its call */

/* A condition for the next instruction, if it is the only one that needs it, or else in a register. */
void tn__x64_define_flags(struct tn__x64 *c, uint32_t value, unsigned cc);
/* Makes the flags those of an operand of type i1, and returns for which condition it is true. */
unsigned tn__x64_test(struct tn__x64 *c, uint32_t operand);

#pragma GCC visibility pop
#endif
