/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One pass over the instructions of a function, in the order of its blocks: each becomes code at once. The beginning of
 * the function, which depends on the size of the frame, is written last. */

#include "baseline/x86_64/state.h"

typedef void compile_one(struct tn__x64 *c);

static void compile_nothing(struct tn__x64 *c)
{
    (void)c; /* the block's beginning, or the instruction before, has done it */
}

/* Rows of one kind follow each other in ops.def. */
static compile_one *const operations[TN__FLAT_OPS] = {
    [TN__FLAT_ADD... TN__FLAT_CTLZ] = tn__x64_compile_integer,
    [TN__FLAT_FADD... TN__FLAT_SQRT] = tn__x64_compile_float,
    [TN__FLAT_ICMP... TN__FLAT_SELECT] = tn__x64_compile_compare,
    [TN__FLAT_COPY... TN__FLAT_UITOFP] = tn__x64_compile_cast,
    [TN__FLAT_ALLOCA... TN__FLAT_SET_STACK] = tn__x64_compile_memory,
    [TN__FLAT_FRAME] = tn__x64_compile_managed,
    [TN__FLAT_LOAD... TN__FLAT_FENCE] = tn__x64_compile_memory,
    [TN__FLAT_THREAD] = tn__x64_compile_thread,
    [TN__FLAT_VA_START] = tn__x64_compile_va_start,
    [TN__FLAT_PHI] = compile_nothing,
    [TN__FLAT_SAFEPOINT] = tn__x64_compile_managed,
    [TN__FLAT_CALL] = tn__x64_compile_call,
    [TN__FLAT_RESULT] = compile_nothing,
    [TN__FLAT_TYPE_ID... TN__FLAT_LANDING] = tn__x64_compile_control,
    [TN__FLAT_OVERFLOW] = tn__x64_compile_integer,
    [TN__FLAT_JUMP... TN__FLAT_TRAP] = tn__x64_compile_control,
};

/* ---- instructions ---- */

static void use_up(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    for (TN__FLAT_EACH(inst, k))
        tn__x64_used(c, c->flat->operands[inst->first + k]);
}

static void note_place(struct tn__x64 *c)
{
    struct tn__code *code = c->code;
    if (tn__x64_grow(c, &code->places, &code->place_room, code->place_count + 1, sizeof *code->places))
        code->places[code->place_count++] = (struct tn__code_place){tn__x64_offset(c), c->inst};
}

/* The operands of a deferred address are used by the instruction that has it; those of calls and phis are used up
 * elsewhere. */
static void compile_instruction(struct tn__x64 *c)
{
    enum { LONGEST = 48 * TN__X64_LONGEST };
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    uint32_t deferred = c->deferred;
    if (!tn__x64_reserve(c, LONGEST))
        return;
    if (c->code->keeps_places)
        note_place(c);
    operations[inst->op](c);
    if (c->failed)
        return;
    if (inst->op != TN__FLAT_CALL && inst->op != TN__FLAT_PHI && c->deferred != c->inst)
        use_up(c, inst);
    if (deferred != TN__X64_NO_VALUE) {
        use_up(c, &c->flat->insts[deferred]);
        c->deferred = c->deferred == deferred ? TN__X64_NO_VALUE : c->deferred;
    }
    tn__x64_give_back(c);
}

/* ---- blocks ---- */

/* Whether all registers are here as the block before leaves them. */
static bool keeps_registers(const struct tn__x64 *c)
{
    if (!c->position || c->analysis->predecessors[c->block] != 1)
        return false;
    const struct tn__flat_block *before = &c->flat->blocks[c->analysis->order[c->position - 1]];
    unsigned op = c->flat->insts[before->end - 1].op;
    const uint32_t *to = c->flat->successors + before->first_successor;
    if (op == TN__FLAT_JUMP || op == TN__FLAT_INVOKED)
        return to[0] == c->block;
    return op == TN__FLAT_BRANCH && (to[0] == c->block || to[1] == c->block);
}

static void begin_block(struct tn__x64 *c)
{
    const struct tn__flat_block *block = &c->flat->blocks[c->block];
    if (c->position && !keeps_registers(c))
        tn__x64_forget(c, TN__X64_GENERAL | TN__X64_FLOAT);
    tn__x64_place_label(c, c->block);
    for (uint32_t i = block->first; c->flat->insts[i].op == TN__FLAT_PHI; i++) {
        uint32_t value = tn__x64_number(c, i);
        tn__x64_slot(c, value);
        c->s->values[value].place = TN__X64_IN_SLOT;
    }
}

static void compile_blocks(struct tn__x64 *c)
{
    for (c->position = 0; c->position < c->analysis->reached && !c->failed; c->position++) {
        c->block = c->analysis->order[c->position];
        const struct tn__flat_block *block = &c->flat->blocks[c->block];
        if (c->position == 0)
            tn__x64_compile_entry(c);
        begin_block(c);
        for (c->inst = block->first; c->inst < block->end && !c->failed; c->inst++)
            compile_instruction(c);
        tn__x64_end_block(c);
    }
}

/* ---- the beginning, the end and the frame ---- */

enum { LONGEST_BEGINNING = 64, SAVED = 5, ALIGNMENT = 16, PUSH_SIZE = 1, MOVE_SIZE = 3, DATA_FACTOR = 8 };

/* Numbers of registers in DWARF, which are others for the first eight. */
static const uint8_t dwarf_numbers[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

static int32_t saved_at(const struct tn__x64 *c, unsigned which)
{
    return -c->frame - 8 * (int32_t)(which + 1);
}

/* Restores and stores differ in the instruction only. */
static void transfer_saved(struct tn__x64 *c, enum tn__x64_op op)
{
    unsigned which = 0;
    for (uint32_t left = c->saved; left; left &= left - 1)
        tn__x64_emit(c, op, 8, (unsigned)__builtin_ctz(left), tn__x64_memory(TN__RBP, saved_at(c, which++)));
}

/* What is saved follows the variables, where the unwinder's rules count in words. */
static void emit_end(struct tn__x64 *c)
{
    tn__x64_frame(c, 0, DATA_FACTOR);
    if (c->failed || !tn__x64_reserve(c, (SAVED + 2) * TN__X64_LONGEST))
        return;
    tn__x64_place_label(c, c->epilogue);
    transfer_saved(c, TN__X64_MOV_RM);
    tn__x64_emit_byte(c, 0xc9); /* leave */
    tn__x64_emit_byte(c, 0xc3); /* ret */
}

/* Memory of any size lies above what `outgoing` is rounded up to: nothing else of the frame may lie there. */
static uint32_t frame_size(const struct tn__x64 *c)
{
    uint64_t bytes = (uint64_t)c->frame + 8 * (uint64_t)__builtin_popcount(c->saved);
    if (c->allocates)
        bytes = tn__align_up(bytes, ALIGNMENT);
    return (uint32_t)tn__align_up(bytes + c->outgoing, ALIGNMENT);
}

/* push rbp; mov rbp, rsp; sub rsp, the frame; and what is saved. */
static void emit_beginning(struct tn__x64 *c)
{
    tn__x64_emit_byte(c, 0x55);
    tn__x64_emit_move(c, TN__RBP, TN__RSP);
    if (frame_size(c))
        tn__x64_emit_immediate(c, TN__X64_SUB_MI, 8, 0, tn__x64_register(TN__RSP), (int32_t)frame_size(c));
    transfer_saved(c, TN__X64_MOV_MR);
}

/* The body moves to the end of the beginning: only relocations say where in the code they are. Returns the size of the
 * beginning. */
static uint32_t write_beginning(struct tn__x64 *c, uint32_t start, size_t first_reloc)
{
    uint8_t *body = c->code->bytes + start + LONGEST_BEGINNING, *end = c->at;
    c->at = c->code->bytes + start;
    emit_beginning(c);
    size_t gap = (size_t)(body - c->at);
    uint32_t beginning = tn__x64_offset(c) - start;
    memmove(c->at, body, (size_t)(end - body));
    c->at = end - gap;
    for (size_t i = first_reloc; i < c->code->reloc_count; i++)
        c->code->relocs[i].offset -= (uint32_t)gap;
    for (size_t i = 0; i < c->code->place_count; i++)
        c->code->places[i].offset -= (uint32_t)gap + start;
    return beginning;
}

/* ---- unwinding: DWARF 5, 6.4 ---- */

enum {
    CFA_ADVANCE = 0x40,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET = 0x80,
    CFA_DEF = 0x0c,
    CFA_DEF_REGISTER = 0x0d,
    CFA_DEF_OFFSET = 0x0e,
    HEAD = TN__CODE_FRAME_TABLE, /* length, pointer to the common head, start, size, no augmentation */
    TABLE_SIZE = 4,
    LONGEST_FRAME = HEAD + TABLE_SIZE + 16 + SAVED * 6 + 16
};

static uint8_t *put_unsigned(uint8_t *at, uint32_t value)
{
    for (; value > 0x7f; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_advance(uint8_t *at, uint32_t bytes)
{
    if (bytes < CFA_ADVANCE) {
        *at++ = (uint8_t)(CFA_ADVANCE | bytes);
        return at;
    }
    *at++ = CFA_ADVANCE4;
    tn__put32(at, bytes);
    return at + 4;
}

static uint8_t *put_rules(const struct tn__x64 *c, uint8_t *at, uint32_t size, uint32_t beginning)
{
    unsigned which = 0;
    at = put_advance(at, PUSH_SIZE);
    *at++ = CFA_DEF_OFFSET;
    *at++ = 16;
    *at++ = CFA_OFFSET | 6; /* rbp */
    *at++ = 16 / DATA_FACTOR;
    at = put_advance(at, MOVE_SIZE);
    *at++ = CFA_DEF_REGISTER;
    *at++ = 6;
    if (c->saved)
        at = put_advance(at, beginning - PUSH_SIZE - MOVE_SIZE);
    for (uint32_t left = c->saved; left; left &= left - 1) {
        *at++ = (uint8_t)(CFA_OFFSET | dwarf_numbers[__builtin_ctz(left)]);
        at = put_unsigned(at, (uint32_t)(16 - saved_at(c, which++)) / DATA_FACTOR);
    }
    /* Before the last byte, ret, the frame is gone. */
    at = put_advance(at, size - 1 - (c->saved ? beginning : PUSH_SIZE + MOVE_SIZE));
    *at++ = CFA_DEF;
    *at++ = 7; /* rsp */
    *at++ = 8;
    return at;
}

/* The table of exceptions. So far, offsets are those before the body was moved. Returns where it is. */
static uint32_t write_table(struct tn__x64 *c, uint32_t start, uint32_t beginning)
{
    uint32_t table = (uint32_t)c->code->tables_size, base = start + LONGEST_BEGINNING - beginning;
    if (!c->sites)
        return TN__CODE_NO_TABLE;
    for (size_t i = 0; i < c->sites; i++) {
        struct tn__code_site *site = &c->s->sites[i];
        site->start -= base;
        site->end -= base;
        site->landing = c->s->labels[site->landing] - base;
    }
    c->code->personality = c->flat->addresses[tn__flat_index(c->flat->personality)].symbol;
    if (!tn__code_add_table(c->code, c->flat, &c->s->types, c->s->sites, c->sites, tn__x64_offset(c) - start))
        tn__x64_fail(c, TN_ENOMEM, NULL);
    return table;
}

/* The stack map. So far, places are offsets in the code, before the body was moved. */
static void write_map(struct tn__x64 *c, uint32_t start, uint32_t beginning)
{
    struct tn__code_map *map = &c->s->map;
    uint32_t base = start + LONGEST_BEGINNING - beginning;
    for (size_t i = 0; i < map->count; i++)
        map->safepoints[i].place -= base;
    if (map->count && !c->failed)
        c->failed = tn__code_add_map(c->code, map, c->err);
}

static bool write_frame(struct tn__x64 *c, uint32_t start, uint32_t beginning)
{
    struct tn__code *code = c->code;
    uint32_t size = tn__x64_offset(c) - start, table = write_table(c, start, beginning);
    uint32_t of_table = table == TN__CODE_NO_TABLE ? 0 : TABLE_SIZE, map = (uint32_t)code->maps_size;
    write_map(c, start, beginning);
    if (c->failed || !tn__grow(NULL, &code->frames, &code->frames_room, code->frames_size + LONGEST_FRAME, 1) ||
        !tn__grow(NULL, &code->functions, &code->function_room, code->function_count + 1, sizeof *code->functions))
        return false;
    uint8_t *frame = code->frames + code->frames_size, *at;
    memset(frame, 0, LONGEST_FRAME);
    tn__put32(frame + TN__CODE_FRAME_START + 4, size);
    frame[HEAD - 1] = (uint8_t)of_table;
    at = put_rules(c, frame + HEAD + of_table, size, beginning);
    size_t length = (size_t)tn__align_up((uint64_t)(at - frame), 8); /* what follows are zeros: no operation */
    tn__put32(frame, (uint32_t)length - 4);
    code->functions[code->function_count++] = (struct tn__code_function){
        start, size, (uint32_t)code->frames_size, (uint32_t)length, table, map, (uint32_t)code->maps_size - map};
    code->frames_size += length;
    return true;
}

/* ---- functions ---- */

static bool provide(struct tn__x64 *c)
{
    struct tn__x64_scratch *s = c->s;
    size_t values = tn__flat_values(c->flat), blocks = c->flat->block_count;
    if (!tn__grow(NULL, &s->values, &s->value_room, values + 1, sizeof *s->values) ||
        !tn__grow(NULL, &s->ending, &s->ending_room, c->analysis->reached, sizeof *s->ending) ||
        !tn__grow(NULL, &s->edges, &s->edge_room, blocks, sizeof *s->edges) ||
        !tn__grow(NULL, &s->labels, &s->label_room, blocks + 2, sizeof *s->labels))
        return false;
    for (size_t i = 0; i < blocks; i++)
        s->edges[i] = (struct tn__x64_edge){.stub = TN__X64_NO_LABEL};
    for (size_t i = 0; i < values; i++)
        s->values[i] = (struct tn__x64_value){.reg = TN__NO_REGISTER, .uses = c->analysis->uses[i]};
    memset(s->ending, 0xff, c->analysis->reached * sizeof *s->ending);
    memset(s->labels, 0xff, (blocks + 2) * sizeof *s->labels);
    tn__code_begin_types(&s->types);
    s->map.count = s->map.slot_count = 0;
    c->epilogue = (uint32_t)blocks;
    c->above_arguments = c->epilogue + 1;
    c->labels = blocks + 2;
    memset(c->held, 0xff, sizeof c->held);
    c->free = TN__X64_GENERAL | TN__X64_FLOAT;
    return true;
}

static void compile_function(struct tn__x64 *c)
{
    struct tn__code *code = c->code;
    uint32_t start = (uint32_t)tn__align_up(code->size, ALIGNMENT);
    size_t first_reloc = code->reloc_count;
    code->place_count = 0;
    c->at = c->limit = code->bytes + code->size;
    if (!tn__x64_reserve(c, ALIGNMENT + LONGEST_BEGINNING))
        return;
    memset(c->at, 0xcc, start - code->size);
    c->at = code->bytes + start + LONGEST_BEGINNING;
    compile_blocks(c);
    if (!c->failed)
        emit_end(c);
    if (c->failed)
        return;
    c->s->labels[c->above_arguments] = (uint32_t)tn__align_up(c->outgoing, ALIGNMENT);
    tn__x64_resolve(c);
    if (write_frame(c, start, write_beginning(c, start, first_reloc)))
        code->size = tn__x64_offset(c);
    else
        tn__x64_fail(c, TN_ENOMEM, NULL);
}

int tn__x64_compile(const struct tn__flat *flat, const struct tn__flat_analysis *analysis,
                    const struct tn__code_symbol *symbols, struct tn__x64_scratch **scratch, struct tn__code *code,
                    struct tn_error *err)
{
    size_t relocs = code->reloc_count, tables = code->tables_size, type_relocs = code->type_reloc_count;
    size_t maps = code->maps_size;
    if (!*scratch)
        *scratch = tn__alloc_zeroed(NULL, 1, sizeof **scratch);
    if (!*scratch)
        return tn__no_memory(err, NULL);
    struct tn__x64 c = {.flat = flat,
                        .analysis = analysis,
                        .symbols = symbols,
                        .s = *scratch,
                        .code = code,
                        .err = err,
                        .deferred = TN__X64_NO_VALUE,
                        .fused = TN__X64_NO_VALUE,
                        .returned = TN__X64_NO_VALUE};
    if (provide(&c))
        compile_function(&c);
    else
        tn__x64_fail(&c, TN_ENOMEM, NULL);
    if (c.failed) {
        code->reloc_count = relocs;
        code->tables_size = tables;
        code->type_reloc_count = type_relocs;
        code->maps_size = maps;
    }
    return c.failed;
}

void tn__x64_scratch_free(struct tn__x64_scratch *s)
{
    if (!s)
        return;
    void *const arrays[] = {s->values,         s->ending,       s->free_slots[0],  s->free_slots[1], s->labels,
                            s->edges,          s->fixups,       s->moves,          s->cases,         s->sites,
                            s->types.operands, s->types.places, s->map.safepoints, s->map.slots,     s->roots};
    for (size_t i = 0; i < TN_COUNT(arrays); i++)
        tn__free(NULL, arrays[i]);
    tn__free(NULL, s);
}
