/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which managed values are needed behind each safepoint. From every use the way back to the definition is marked, block
 * by block; a derived pointer takes its base along, for without it the collector could not find the object. */

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"

#include "codegen/managed/roots/roots.h"

using namespace llvm;

/* ---- variables ---- */

static bool is_managed_pointer(const Value *value)
{
    auto *type = dyn_cast<PointerType>(value->getType());
    return type && type->getAddressSpace() >= TRACKED && type->getAddressSpace() <= LOADED;
}

uint32_t tn__variable_of(const tn__roots *roots, LLVMValueRef value)
{
    const uint32_t *number = tn__map_find(&roots->numbers, value);
    return number ? *number - 1 : uint32_t(NO_VARIABLE);
}

template <typename Item> static void append(tn__roots *roots, Item *&items, uint32_t &count, Item item)
{
    items = static_cast<Item *>(tn__gc_space(roots->gc, items, count, sizeof item));
    items[count++] = item;
}

static void add_variable(tn__roots *roots, Value *value, uint32_t block)
{
    auto *cast = dyn_cast<AddrSpaceCastInst>(value);
    /* A cast from space 0 names an object outside the heap, which stays where it is. */
    if (isa<IntToPtrInst>(value) || (cast && cast->getSrcAddressSpace() == 0))
        return;
    tn__variable variable = {};
    variable.value = wrap(value);
    variable.block = block;
    append(roots, roots->variables, roots->variable_count, variable);
    *tn__map_add(roots->gc, &roots->numbers, wrap(value)) = roots->variable_count;
}

/* What `visit` inserts behind a value is visited, too. */
template <typename Visit> static void each_managed(tn__roots *roots, Visit visit)
{
    for (Argument &argument : unwrap<Function>(roots->function)->args())
        if (is_managed_pointer(&argument))
            visit(&argument, 0);
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (Instruction &instruction : *unwrap(roots->cfg->blocks[b].block))
            if (is_managed_pointer(&instruction))
                visit(&instruction, b);
}

void tn__find_variables(tn__roots *roots)
{
    roots->variables = nullptr;
    roots->variable_count = 0;
    roots->numbers = {};
    each_managed(roots, [=](Value *value, uint32_t) { tn__base_of(roots->bases, wrap(value)); });
    tn__bases_simplify(roots->bases);
    each_managed(roots, [=](Value *value, uint32_t block) { add_variable(roots, value, block); });
    for (uint32_t v = 0; v < roots->variable_count; v++) {
        tn__variable *variable = &roots->variables[v];
        LLVMValueRef base = tn__base_of(roots->bases, variable->value);
        variable->base = base ? tn__variable_of(roots, base) : uint32_t(NO_VARIABLE);
        if (variable->base != NO_VARIABLE && variable->base != v)
            variable->is_fixed = tn__constant_distance(variable->value, base, &variable->distance);
    }
}

bool tn__is_reference(const tn__roots *roots, uint32_t variable)
{
    return roots->variables[variable].base == variable;
}

/* ---- where they live ---- */

namespace {

struct walk {
    tn__roots *roots;
    SmallVector<uint32_t, 16> blocks = {};

    void enter_block(const tn__variable &variable, uint32_t number, uint32_t block)
    {
        if (block == variable.block || tn__bit(roots->live_in[block], number))
            return;
        tn__set_bit(roots->live_in[block], number);
        blocks.push_back(block);
    }

    void mark_live(uint32_t number, uint32_t block)
    {
        const tn__variable &variable = roots->variables[number];
        enter_block(variable, number, block);
        while (!blocks.empty()) {
            const auto &at = roots->cfg->blocks[blocks.pop_back_val()];
            for (uint32_t predecessor : ArrayRef(at.predecessors, at.predecessor_count)) {
                tn__set_bit(roots->live_out[predecessor], number);
                enter_block(variable, number, predecessor);
            }
        }
    }

    void mark_with_base(uint32_t number, uint32_t block, bool at_end)
    {
        uint32_t base = roots->variables[number].base;
        for (uint32_t each : {number, base == number ? uint32_t(NO_VARIABLE) : base}) {
            if (each == NO_VARIABLE)
                continue;
            if (at_end)
                tn__set_bit(roots->live_out[block], each);
            mark_live(each, block);
        }
    }

    void mark_uses(uint32_t number)
    {
        for (const Use &use : unwrap(roots->variables[number].value)->uses()) {
            auto *user = cast<Instruction>(use.getUser());
            auto *phi = dyn_cast<PHINode>(user);
            const BasicBlock *block = phi ? phi->getIncomingBlock(use) : user->getParent();
            mark_with_base(number, tn__cfg_number(roots->cfg, wrap(block)), phi);
        }
    }
};

} // namespace

/* ---- at the safepoints ---- */

static void set_live(tn__roots *roots, uint64_t *live, const Value *value)
{
    uint32_t number = is_managed_pointer(value) ? tn__variable_of(roots, wrap(value)) : uint32_t(NO_VARIABLE);
    if (number == NO_VARIABLE)
        return;
    tn__set_bit(live, number);
    if (roots->variables[number].base != NO_VARIABLE)
        tn__set_bit(live, roots->variables[number].base);
}

static void record(tn__roots *roots, tn__safepoint *safepoint, const uint64_t *live)
{
    for (uint32_t word = 0; 64 * word < roots->variable_count; word++)
        for (uint64_t left = live[word]; left; left &= left - 1)
            append(roots, safepoint->live, safepoint->live_count, 64 * word + uint32_t(__builtin_ctzll(left)));
}

/* Goes through a block backwards; its safepoints are the last ones before `next`. */
static void scan(tn__roots *roots, uint32_t block, uint64_t *live, uint32_t &next)
{
    for (Instruction &instruction : reverse(*unwrap(roots->cfg->blocks[block].block))) {
        uint32_t own =
            is_managed_pointer(&instruction) ? tn__variable_of(roots, wrap(&instruction)) : uint32_t(NO_VARIABLE);
        if (own != NO_VARIABLE)
            tn__clear_bit(live, own);
        tn__safepoint *safepoint = next ? &roots->safepoints[next - 1] : nullptr;
        if (safepoint && safepoint->call == wrap(&instruction)) {
            record(roots, safepoint, live);
            for (LLVMValueRef pinned : ArrayRef(safepoint->pinned, safepoint->pinned_count))
                set_live(roots, live, unwrap(pinned));
            next--;
        }
        if (!isa<PHINode>(instruction))
            for (const Value *operand : instruction.operand_values())
                set_live(roots, live, operand);
    }
}

/* Sets for all blocks, that live in them and that live at their ends. */
static void provide_sets(tn__roots *roots, size_t words)
{
    size_t blocks = roots->cfg->count;
    auto *all = static_cast<uint64_t *>(tn__gc_array(roots->gc, 2 * blocks * words, sizeof(uint64_t)));
    roots->live_in = static_cast<uint64_t **>(tn__gc_array(roots->gc, 2 * blocks, sizeof *roots->live_in));
    roots->live_out = roots->live_in + blocks;
    for (size_t b = 0; b < 2 * blocks; b++)
        roots->live_in[b] = all + b * words;
}

void tn__find_liveness(tn__roots *roots)
{
    size_t words = (roots->variable_count + 63) / 64;
    walk walk = {roots};
    provide_sets(roots, words);
    for (uint32_t v = 0; v < roots->variable_count; v++)
        walk.mark_uses(v);
    for (const tn__safepoint &safepoint : ArrayRef(roots->safepoints, roots->safepoint_count))
        for (LLVMValueRef value : ArrayRef(safepoint.pinned, safepoint.pinned_count)) {
            uint32_t pinned = tn__variable_of(roots, value);
            if (pinned != NO_VARIABLE)
                walk.mark_with_base(pinned, safepoint.block, false);
        }
    auto *live = static_cast<uint64_t *>(tn__gc_array(roots->gc, words, sizeof(uint64_t)));
    uint32_t next = roots->safepoint_count;
    while (next) {
        uint32_t block = roots->safepoints[next - 1].block;
        memcpy(live, roots->live_out[block], words * sizeof *live);
        scan(roots, block, live, next);
    }
}

/* ---- one walk for all that is looked for ---- */

void tn__find_instructions(tn__roots *roots)
{
    roots->safepoints = nullptr;
    roots->wholes = nullptr;
    roots->safepoint_count = roots->whole_count = 0;
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (Instruction &instruction : *unwrap(roots->cfg->blocks[b].block)) {
            const Type *type = instruction.getType();
            if (isa<CallBase>(instruction) && tn__is_safepoint(wrap(&instruction))) {
                tn__safepoint safepoint = {};
                safepoint.call = wrap(&instruction);
                safepoint.block = b;
                append(roots, roots->safepoints, roots->safepoint_count, safepoint);
            }
            if ((type->isAggregateType() || type->isVectorTy()) &&
                tn__type_holds(wrap(const_cast<Type *>(type)), IN_MANAGED))
                append(roots, roots->wholes, roots->whole_count, wrap(&instruction));
        }
}
