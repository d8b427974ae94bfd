/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Writing code: space, instructions with what they refer to, labels. */

#include <elf.h>

#include "baseline/x86_64/state.h"

enum { LARGEST_CODE = 1 << 30 };

/* ---- space ---- */

void tn__x64_fail(struct tn__x64 *c, int code, const char *why)
{
    if (!c->failed)
        c->failed = code == TN_ENOMEM ? tn__no_memory(c->err, NULL) : tn__fail(c->err, code, "%s", why);
}

bool tn__x64_grow(struct tn__x64 *c, void *items, size_t *room, size_t need, size_t size)
{
    bool good = tn__grow(NULL, items, room, need, size);
    if (!good)
        tn__x64_fail(c, TN_ENOMEM, NULL);
    return good;
}

bool tn__x64_reserve(struct tn__x64 *c, size_t bytes)
{
    size_t used = (size_t)(c->at - c->code->bytes);
    if (c->failed || (size_t)(c->limit - c->at) >= bytes)
        return !c->failed;
    if (used + bytes > LARGEST_CODE) {
        tn__x64_fail(c, TN_ENOTSUP, "it has too much code");
        return false;
    }
    if (!tn__x64_grow(c, &c->code->bytes, &c->code->room, used + bytes, 1))
        return false;
    c->at = c->code->bytes + used;
    c->limit = c->code->bytes + c->code->room;
    return true;
}

/* ---- instructions ---- */

void tn__x64_relocate(struct tn__x64 *c, uint32_t offset, uint32_t type, uint32_t symbol, int64_t addend)
{
    struct tn__code *code = c->code;
    if (!tn__x64_grow(c, &code->relocs, &code->reloc_room, code->reloc_count + 1, sizeof *code->relocs))
        return;
    code->relocs[code->reloc_count++] = (struct tn__code_reloc){offset, type, symbol, addend};
}

void tn__x64_emit_immediate(struct tn__x64 *c, enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm,
                            int32_t immediate)
{
    uint8_t *field = NULL;
    c->at = tn__x64_put(c->at, op, size, reg, rm, immediate, &field);
    if (field)
        tn__x64_relocate(c, (uint32_t)(field - c->code->bytes), R_X86_64_PC32, rm.symbol,
                         (int64_t)rm.disp - (c->at - field));
}

void tn__x64_emit(struct tn__x64 *c, enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm)
{
    tn__x64_emit_immediate(c, op, size, reg, rm, 0);
}

void tn__x64_emit_constant(struct tn__x64 *c, unsigned reg, uint64_t value)
{
    c->at = tn__x64_put_constant(c->at, reg, value);
}

void tn__x64_emit_byte(struct tn__x64 *c, unsigned byte)
{
    *c->at++ = (uint8_t)byte;
}

void tn__x64_emit_move(struct tn__x64 *c, unsigned to, unsigned from)
{
    if (to == from)
        return;
    if (to >= TN__XMM0)
        tn__x64_emit(c, TN__X64_MOVAPS, 4, to, tn__x64_register(from));
    else
        tn__x64_emit(c, TN__X64_MOV_MR, 8, from, tn__x64_register(to));
}

/* Narrow integers are loaded as 32 bits. */
void tn__x64_emit_load(struct tn__x64 *c, unsigned type, unsigned reg, struct tn__x64_rm rm)
{
    static const uint8_t rows[TN__FLAT_TYPES] = {
        [TN__FLAT_I1] = TN__X64_MOVZX8,    [TN__FLAT_I8] = TN__X64_MOVZX8,   [TN__FLAT_I16] = TN__X64_MOVZX16,
        [TN__FLAT_I32] = TN__X64_MOV_RM,   [TN__FLAT_I64] = TN__X64_MOV_RM,  [TN__FLAT_PTR] = TN__X64_MOV_RM,
        [TN__FLAT_F32] = TN__X64_MOVSS_RM, [TN__FLAT_F64] = TN__X64_MOVSD_RM};
    tn__x64_emit(c, rows[type], type == TN__FLAT_I64 || type == TN__FLAT_PTR ? 8 : 4, reg, rm);
}

void tn__x64_emit_store(struct tn__x64 *c, unsigned type, unsigned reg, struct tn__x64_rm rm)
{
    enum tn__x64_op op = type == TN__FLAT_F32   ? TN__X64_MOVSS_MR
                         : type == TN__FLAT_F64 ? TN__X64_MOVSD_MR
                                                : TN__X64_MOV_MR;
    tn__x64_emit(c, op, op == TN__X64_MOV_MR ? tn__flat_size(type) : 4, reg, rm);
}

void tn__x64_emit_address(struct tn__x64 *c, unsigned reg, const struct tn__flat_address *address)
{
    struct tn__x64_rm rm = {.is_memory = true, .base = TN__NO_REGISTER, .index = TN__NO_REGISTER};
    rm.symbol = address->symbol;
    if (c->symbols[address->symbol].direct) {
        rm.disp = address->addend;
        tn__x64_emit(c, TN__X64_LEA, 8, reg, rm);
        return;
    }
    uint8_t *field = NULL;
    c->at = tn__x64_put(c->at, TN__X64_MOV_RM, 8, reg, rm, 0, &field);
    tn__x64_relocate(c, (uint32_t)(field - c->code->bytes), R_X86_64_REX_GOTPCRELX, rm.symbol, -4);
    if (address->addend)
        tn__x64_emit(c, TN__X64_LEA, 8, reg, tn__x64_memory(reg, address->addend));
}

/* ---- labels ---- */

uint32_t tn__x64_new_label(struct tn__x64 *c)
{
    if (!tn__x64_grow(c, &c->s->labels, &c->s->label_room, c->labels + 1, sizeof *c->s->labels))
        return 0;
    c->s->labels[c->labels] = TN__X64_NO_LABEL;
    return (uint32_t)c->labels++;
}

void tn__x64_place_label(struct tn__x64 *c, uint32_t label)
{
    c->s->labels[label] = tn__x64_offset(c);
}

void tn__x64_refer(struct tn__x64 *c, uint32_t at, uint32_t label, uint32_t from)
{
    if (!tn__x64_grow(c, &c->s->fixups, &c->s->fixup_room, c->fixups + 1, sizeof *c->s->fixups))
        return;
    c->s->fixups[c->fixups++] = (struct tn__x64_fixup){at, label, from};
}

static void put_distance(struct tn__x64 *c, uint32_t label)
{
    uint32_t at = tn__x64_offset(c);
    tn__put32(c->at, 0);
    c->at += 4;
    tn__x64_refer(c, at, label, at + 4);
}

void tn__x64_jump(struct tn__x64 *c, uint32_t label)
{
    *c->at++ = 0xe9;
    put_distance(c, label);
}

void tn__x64_jump_if(struct tn__x64 *c, unsigned cc, uint32_t label)
{
    *c->at++ = 0x0f;
    *c->at++ = (uint8_t)(0x80 | cc);
    put_distance(c, label);
}

void tn__x64_resolve(struct tn__x64 *c)
{
    for (size_t i = 0; i < c->fixups; i++) {
        const struct tn__x64_fixup *fixup = &c->s->fixups[i];
        tn__put32(c->code->bytes + fixup->at, c->s->labels[fixup->label] - fixup->from);
    }
}
