/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The walk over one function: flatten.cpp has its instructions, calls.cpp calls and what is returned, intrinsics.cpp
 * LLVM's intrinsic functions, lanes.cpp vectors, widths.cpp integers of other widths, wide.cpp those of 128 bits. */

#ifndef TENON_CODEGEN_FLATTEN_WALK_H
#define TENON_CODEGEN_FLATTEN_WALK_H

#include "llvm/IR/Statepoint.h"

#include "codegen/flatten/flattener.h"

#pragma GCC visibility push(hidden)

struct tn__walk {
    tn__flattener &f;
    tn__flat &flat;
    llvm::Function &function;
    tn__flat_inst nowhere; /* when memory is out */
    bool saves_stack;      /* somewhere before */
    struct {
        uint32_t number, first, first_successor;
    } open = {};                              /* the block that is being written */
    llvm::SmallVector<uint32_t, 0> ends = {}; /* of each of LLVM's blocks: its last part; empty: none was divided */

    bool refuse(const char *why)
    {
        return f.refuse(why);
    }

    /* ---- writing ---- */

    uint32_t next_number() const
    {
        return uint32_t(flat.argument_count + flat.inst_count);
    }
    /* The next flat instruction's value is that of LLVM's. */
    void own(const llvm::Instruction &instruction);
    void own_at(const llvm::Instruction &instruction, uint32_t number);
    bool is_numbered(const llvm::Instruction &instruction) const;
    /* A flat instruction, whose operands follow. */
    tn__flat_inst *add(unsigned op, unsigned type);
    void put(uint32_t operand);
    /* An instruction with operands that are known; returns its value. */
    uint32_t combine(unsigned op, unsigned type, std::initializer_list<uint32_t> operands, unsigned sub = 0);
    /* One with the operands of LLVM's. */
    void simple(const llvm::Instruction &instruction, unsigned op, unsigned type, unsigned count);
    void add_successor(const llvm::BasicBlock *to);
    void add_successor(uint32_t to);

    /* ---- operands ---- */

    /* A value, or the scalar of that number in an aggregate. Where it is not there yet, it is put in later, as operand
     * number `at`. */
    uint32_t operand_at(const llvm::Value *value, uint32_t at, unsigned part);
    /* Whether values of a type are several scalars, or none. */
    static bool is_split(const llvm::Type *type)
    {
        return type->isAggregateType() || type->isVectorTy() || type->isIntegerTy(128);
    }
    void put(const llvm::Value *value, unsigned part = 0)
    {
        put(operand_at(value, uint32_t(flat.operand_count), part));
    }
    /* The same for an operand of an instruction that is not begun: a value that is there. */
    uint32_t part_of(const llvm::Value *value, unsigned part, unsigned type);
    /* For operands of instructions that are not begun. */
    uint32_t copied(const llvm::Value *value, unsigned type);
    uint32_t block_number(const llvm::BasicBlock *of) const;

    /* ---- instructions ---- */

    void flatten_binary(const llvm::BinaryOperator &);
    void flatten_compare(const llvm::CmpInst &);
    void flatten_cast(const llvm::CastInst &);
    void cast_pointer(const llvm::CastInst &, unsigned from, unsigned to);
    bool is_aligned(llvm::Type *type, llvm::Align align);
    bool find_access(const llvm::Value *pointer, llvm::Type *type, bool is_atomic, llvm::Align align,
                     tn__leaves &leaves);
    void flatten_load(const llvm::LoadInst &);
    void flatten_store(const llvm::StoreInst &);
    void flatten_alloca(const llvm::AllocaInst &);
    void allocate(const llvm::AllocaInst &, uint64_t size);
    uint32_t lane_of(const llvm::Value *value, unsigned part, unsigned type);
    uint32_t address_of_lane(const llvm::GetElementPtrInst &, unsigned part);
    void flatten_address(const llvm::GetElementPtrInst &);
    void flatten_exchange(const llvm::AtomicRMWInst &);
    void flatten_compare_exchange(const llvm::AtomicCmpXchgInst &);
    bool find_member(llvm::Type *type, llvm::ArrayRef<unsigned> indices, unsigned &first, tn__leaves &member);
    void copy(unsigned type, const llvm::Value *value, unsigned part);
    void flatten_freeze(const llvm::FreezeInst &);
    void flatten_select(const llvm::SelectInst &);
    void flatten_extract(const llvm::ExtractValueInst &);
    void flatten_insert(const llvm::InsertValueInst &);
    void flatten_phi(const llvm::PHINode &);
    void flatten_branch(const llvm::BranchInst &);
    void flatten_switch(const llvm::SwitchInst &);
    void flatten_one(const llvm::Instruction &);
    void flatten_odd(const llvm::Instruction &);
    void flatten_any(const llvm::Instruction &);
    bool flatten_personality();
    bool flatten_arguments();
    void note_end(uint32_t block);
    bool flatten_blocks();
    bool resolve();

    /* ---- calls (calls.cpp) ---- */

    void flatten_call(const llvm::CallBase &);
    void call_here(const llvm::CallBase &); /* whatever else it stands for */
    /* A call, with so many of the instruction's arguments, from one of them on. */
    void flatten_callee(const llvm::CallBase &, const llvm::Value *callee, llvm::Type *result, unsigned first,
                        unsigned count);
    void flatten_any_call(const llvm::CallInst &);
    void flatten_invoke(const llvm::InvokeInst &);
    void flatten_landing(const llvm::LandingPadInst &);
    void flatten_resume(const llvm::ResumeInst &);
    void flatten_return(const llvm::ReturnInst &);
    /* A call of a C function whose arguments and result have one type. */
    uint32_t call_library(const char *name, unsigned type, llvm::ArrayRef<uint32_t> operands);
    void call_memory(const llvm::MemIntrinsic &, const char *name);
    void copy_list(const llvm::IntrinsicInst &);
    /* How a scalar is passed: its type, and TN__FLAT_ZERO_EXTEND and so on. */
    unsigned kind_of(const llvm::AttributeSet &attributes, const tn__leaf &leaf, bool is_argument);
    /* The bytes of an argument that is copied to memory. */
    bool find_bytes(const llvm::AttributeSet &attributes, uint32_t &bytes);
    /* The scalars that an argument is passed as. */
    bool find_passed(llvm::Type *type, tn__leaves &leaves);

    /* ---- managed code (managed.cpp) ---- */

    /* Whether the call is a safepoint that says what lives behind it. */
    bool has_live(const llvm::CallBase &) const;
    void flatten_safepoint(const llvm::CallBase &);
    void flatten_statepoint(const llvm::GCStatepointInst &);
    void flatten_result(const llvm::GCResultInst &);
    void flatten_relocate(const llvm::GCRelocateInst &);
    void flatten_frame(const llvm::IntrinsicInst &);

    /* ---- what one call stands for (expand.cpp) ---- */

    void begin_block(uint32_t number);
    void end_block();
    uint32_t new_block(); /* one that is not LLVM's */
    void number_blocks();
    /* False: the call is one like others. */
    bool expand(const llvm::CallBase &);
    void expand_barrier(const llvm::CallBase &);
    void expand_allocation(const llvm::CallBase &, const llvm::OperandBundleUse &row);
    void expand_poll(const llvm::CallBase &, const llvm::OperandBundleUse &row);

    /* ---- intrinsic functions (intrinsics.cpp) ---- */

    void flatten_intrinsic(const llvm::IntrinsicInst &);
    void save_stack(const llvm::IntrinsicInst &);
    void flatten_row(const llvm::IntrinsicInst &, const void *row);
    void flatten_reduction(const llvm::IntrinsicInst &, unsigned operation);
    void flatten_signs(const llvm::IntrinsicInst &);
    void flatten_thread_local(const llvm::IntrinsicInst &);
    uint32_t thread_local_address(const llvm::GlobalVariable &);
    void flatten_overflow(const llvm::IntrinsicInst &, unsigned kind);

    /* ---- integers of other widths than registers (widths.cpp) ---- */

    uint32_t extended(const llvm::Value *value, unsigned type, bool is_signed);
    void flatten_odd_binary(const llvm::BinaryOperator &, unsigned op);
    void flatten_odd_compare(const llvm::ICmpInst &, unsigned condition);
    void flatten_odd_cast(const llvm::CastInst &, unsigned op);
    void flatten_odd_load(const llvm::LoadInst &);
    void flatten_odd_store(const llvm::StoreInst &);
    void flatten_odd_switch(const llvm::SwitchInst &);

    /* ---- integers of 128 bits (wide.cpp) ---- */

    void flatten_wide(const llvm::Instruction &);
    void flatten_wide_compare(const llvm::ICmpInst &, unsigned condition);

    /* ---- vectors (lanes.cpp) ---- */

    /* Makes these values the scalars of an instruction. */
    void give(const llvm::Instruction &, const tn__leaves &leaves, llvm::ArrayRef<uint32_t> values);
    void flatten_vector_operation(const llvm::Instruction &, unsigned op, unsigned sub, unsigned operands);
    void flatten_lanes(const llvm::Instruction &, unsigned op, unsigned sub, unsigned operands);
    void flatten_bits(const llvm::CastInst &);
    void flatten_mask(const llvm::CastInst &);
    void flatten_extract_element(const llvm::ExtractElementInst &);
    void flatten_insert_element(const llvm::InsertElementInst &);
    void flatten_shuffle(const llvm::ShuffleVectorInst &);
};

#pragma GCC visibility pop
#endif
