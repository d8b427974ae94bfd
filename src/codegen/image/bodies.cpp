/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which bodies and constants of a module others may copy, and their digests (bodies.h). A digest is the checksum of a
 * text that contains everything that optimisation may see of a body. Constants stand in it by their own digests: so
 * each is walked through once, however many bodies use it. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/raw_ostream.h"

#include "codegen/image/bodies.h"
#include "codegen/llvm/ir.h"
#include "image/format/format.h"

using namespace llvm;

enum { LARGEST_CONSTANT = 1024 }; /* bytes */

/* ---- references ---- */

void tn__add_references(const Value &value, SmallPtrSetImpl<const Constant *> &seen, tn__references &out)
{
    SmallVector<const Constant *, 16> work;
    auto add = [&](const Value *operand) {
        auto *constant = dyn_cast<Constant>(operand);
        if (constant && !isa<ConstantData>(constant) && seen.insert(constant).second)
            work.push_back(constant);
    };
    for (add(&value); !work.empty();) {
        const Constant *constant = work.pop_back_val();
        if (auto *global = dyn_cast<GlobalValue>(constant))
            out.insert(global);
        else
            for_each(constant->operand_values(), add);
    }
}

static void add_all(const GlobalObject &global, SmallPtrSetImpl<const Constant *> &seen, tn__references &out)
{
    for (const Value *operand : global.operand_values()) /* an initial value; a personality and the like */
        tn__add_references(*operand, seen, out);
    if (auto *function = dyn_cast<Function>(&global))
        for (const Instruction &instruction : instructions(*function))
            for (const Value *operand : instruction.operand_values())
                tn__add_references(*operand, seen, out);
}

tn__references tn__references_of(const GlobalObject &global)
{
    SmallPtrSet<const Constant *, 32> seen;
    tn__references out;
    add_all(global, seen, out);
    return out;
}

/* ---- what may be copied ---- */

/* A private constant whose address means nothing. */
static bool is_plain(const GlobalValue &global)
{
    auto *variable = dyn_cast<GlobalVariable>(&global);
    return variable && variable->hasLocalLinkage() && variable->isConstant() && variable->hasInitializer() &&
           variable->hasGlobalUnnamedAddr() && !variable->isThreadLocal() && !variable->hasSection();
}

static bool has_public_name(const GlobalValue &global)
{
    return !global.hasLocalLinkage() && !global.hasHiddenVisibility() && !global.isThreadLocal() &&
           !global.hasExternalWeakLinkage() && global.hasName();
}

/* Text of the assembler may name anything. */
static bool is_bound(const Instruction &instruction)
{
    auto *call = dyn_cast<CallBase>(&instruction);
    auto *text = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
    return text && !text->getAsmString().empty();
}

/* What is larger is not copied, so nothing need depend on it. */
static bool is_small(const Function &function)
{
    return function.hasFnAttribute(Attribute::AlwaysInline) || function.getInstructionCount() <= TN__MV_INLINE_SIZE;
}

static bool is_small(const GlobalVariable &variable)
{
    return variable.getParent()->getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue() <=
           LARGEST_CONSTANT;
}

static bool is_candidate(const Function &function)
{
    static const Attribute::AttrKind kept[] = {Attribute::NoInline, Attribute::OptimizeNone, Attribute::Naked};
    return tn__is_public(function) && !function.isInterposable() && !function.isVarArg() && is_small(function) &&
           none_of(kept, [&](Attribute::AttrKind kind) { return function.hasFnAttribute(kind); }) &&
           !function.hasFnAttribute("tenon.mv.replaceable") && !function.hasGC() && !function.hasPrefixData() &&
           !function.hasPrologueData() && !function.callsFunctionThatReturnsTwice() &&
           none_of(function, [](const BasicBlock &block) { return block.hasAddressTaken(); }) &&
           none_of(instructions(function), is_bound) &&
           none_of(function.users(), [](const User *user) { return isa<GlobalIFunc>(user); });
}

static bool is_candidate(const GlobalVariable &variable)
{
    return tn__is_offered(variable) && variable.isConstant() && variable.hasDefinitiveInitializer() &&
           !variable.hasSection() && is_small(variable);
}

bool tn__may_be_copied(const GlobalObject &global, tn__references &out)
{
    auto *function = dyn_cast<Function>(&global);
    auto *variable = dyn_cast<GlobalVariable>(&global);
    if (!(function ? is_candidate(*function) : variable && is_candidate(*variable)))
        return false;
    SmallPtrSet<const Constant *, 32> seen;
    tn__references all;
    add_all(global, seen, all);
    for (size_t at = 0; at < all.size(); at++) {
        const GlobalValue *used = all[at];
        if (is_plain(*used)) {
            add_all(*cast<GlobalVariable>(used), seen, all);
        } else if (!has_public_name(*used)) {
            return false;
        } else if (!tn__is_llvms(*used)) {
            out.insert(used);
        }
    }
    /* Where a function is only declared, it has no labels. */
    return none_of(seen, [](const Constant *constant) { return isa<BlockAddress>(constant); });
}

/* ---- digests ---- */

namespace {

/* The text of one function. */
struct body_text {
    tn__digests &digests;
    std::string text{};
    raw_string_ostream out{text};
    DenseMap<const Value *, size_t> numbers{}; /* of arguments, blocks and instructions */
    DenseMap<const Metadata *, size_t> nodes{};

    void print(uint64_t number)
    {
        out << number << ' ';
    }
    void print(StringRef string)
    {
        print(string.size());
        out << string;
    }
    void print(Type *type)
    {
        tn__print_type(out, type);
        out << ' ';
    }

    void print(const Metadata *metadata)
    {
        if (!metadata || isa<DINode>(metadata) || isa<DILocation>(metadata) || isa<DIExpression>(metadata)) {
            out << '-';
        } else if (auto *string = dyn_cast<MDString>(metadata)) {
            print(string->getString());
        } else if (auto *value = dyn_cast<ValueAsMetadata>(metadata)) {
            print(value->getValue());
        } else if (auto *node = dyn_cast<MDNode>(metadata)) {
            auto [found, is_new] = nodes.try_emplace(node, nodes.size());
            out << (node->isDistinct() ? "!d" : "!");
            print(found->second);
            print(is_new ? node->getNumOperands() : 0);
            for (unsigned i = 0; is_new && i < node->getNumOperands(); i++)
                print(node->getOperand(i).get());
        }
    }
    void print(ArrayRef<std::pair<unsigned, MDNode *>> attachments, LLVMContext &context)
    {
        static const char *const left_out[] = {"dbg", "srcloc", "heapallocsite", "DIAssignID", "annotation"};
        SmallVector<StringRef, 64> names;
        if (!attachments.empty())
            context.getMDKindNames(names);
        for (auto &[kind, node] : attachments)
            if (!is_contained(left_out, names[kind])) {
                print(names[kind]);
                print(node);
            }
    }

    void print(const Attribute &attribute)
    {
        if (!attribute.isTypeAttribute())
            return print(attribute.getAsString());
        print(Attribute::getNameFromAttrKind(attribute.getKindAsEnum()));
        print(attribute.getValueAsType());
    }
    void print(const AttributeList &list)
    {
        for (unsigned index : list.indexes()) {
            out << '@';
            print(uint64_t(index));
            for (const Attribute &attribute : list.getAttributes(index))
                print(attribute);
        }
    }

    void print(const Value *value)
    {
        if (auto *constant = dyn_cast<Constant>(value)) {
            out << 'c';
            print(digests.of_constant(*constant));
        } else if (auto *metadata = dyn_cast<MetadataAsValue>(value)) {
            print(metadata->getMetadata());
        } else if (auto *text = dyn_cast<InlineAsm>(value)) {
            print(text->getConstraintString());
            print(uint64_t(text->hasSideEffects()) | text->isAlignStack() << 1 | text->canThrow() << 2);
        } else {
            out << '%';
            print(numbers.lookup(value));
        }
    }

    void print_access(const Instruction &instruction, Align align, AtomicOrdering order, AtomicOrdering failure,
                      SyncScope::ID scope)
    {
        SmallVector<StringRef, 8> scopes;
        instruction.getContext().getSyncScopeNames(scopes);
        print(align.value());
        print(uint64_t(instruction.isVolatile()));
        print(uint64_t(order));
        print(uint64_t(failure));
        print(scopes[scope]);
    }

    void print_call(const CallBase &call)
    {
        print(call.getFunctionType());
        print(uint64_t(call.getCallingConv()));
        print(call.getAttributes());
        if (auto *plain = dyn_cast<CallInst>(&call))
            print(uint64_t(plain->getTailCallKind()));
        for (unsigned i = 0; i < call.getNumOperandBundles(); i++) {
            OperandBundleUse bundle = call.getOperandBundleAt(i);
            print(bundle.getTagName());
            print(bundle.Inputs.size());
        }
    }

    /* What is neither the kind of instruction nor an operand. */
    void print_details(const Instruction &instruction)
    {
        const AtomicOrdering none = AtomicOrdering::NotAtomic;
        if (auto *place = dyn_cast<AllocaInst>(&instruction)) {
            print(place->getAllocatedType());
            print(place->getAlign().value());
            print(uint64_t(place->isUsedWithInAlloca()) | place->isSwiftError() << 1);
        } else if (auto *load = dyn_cast<LoadInst>(&instruction)) {
            print_access(*load, load->getAlign(), load->getOrdering(), none, load->getSyncScopeID());
        } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
            print_access(*store, store->getAlign(), store->getOrdering(), none, store->getSyncScopeID());
        } else if (auto *fence = dyn_cast<FenceInst>(&instruction)) {
            print_access(*fence, Align(1), fence->getOrdering(), none, fence->getSyncScopeID());
        } else if (auto *change = dyn_cast<AtomicRMWInst>(&instruction)) {
            print(uint64_t(change->getOperation()));
            print_access(*change, change->getAlign(), change->getOrdering(), none, change->getSyncScopeID());
        } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
            print(uint64_t(exchange->isWeak()));
            print_access(*exchange, exchange->getAlign(), exchange->getSuccessOrdering(),
                         exchange->getFailureOrdering(), exchange->getSyncScopeID());
        } else if (auto *element = dyn_cast<GetElementPtrInst>(&instruction)) {
            print(element->getSourceElementType());
        } else if (auto *compare = dyn_cast<CmpInst>(&instruction)) {
            print(uint64_t(compare->getPredicate()));
        } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
            print_call(*call);
        } else if (auto *extract = dyn_cast<ExtractValueInst>(&instruction)) {
            for_each(extract->indices(), [&](unsigned index) { print(uint64_t(index)); });
        } else if (auto *insert = dyn_cast<InsertValueInst>(&instruction)) {
            for_each(insert->indices(), [&](unsigned index) { print(uint64_t(index)); });
        } else if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction)) {
            for_each(shuffle->getShuffleMask(), [&](int index) { print(uint64_t(index)); });
        } else if (auto *phi = dyn_cast<PHINode>(&instruction)) {
            for_each(phi->blocks(), [&](const BasicBlock *block) { print(block); });
        } else if (auto *pad = dyn_cast<LandingPadInst>(&instruction)) {
            print(uint64_t(pad->isCleanup()));
            for (unsigned i = 0; i < pad->getNumClauses(); i++)
                print(uint64_t(pad->isCatch(i)));
        }
    }

    void print(const Instruction &instruction)
    {
        SmallVector<std::pair<unsigned, MDNode *>, 4> attachments;
        out << '\n';
        print(StringRef(instruction.getOpcodeName()));
        print(instruction.getType());
        print(uint64_t(instruction.getRawSubclassOptionalData())); /* nsw, inbounds, fast and the like */
        print_details(instruction);
        for (const Value *operand : instruction.operand_values())
            print(operand);
        instruction.getAllMetadataOtherThanDebugLoc(attachments);
        print(attachments, instruction.getContext());
    }

    void print(const Function &function)
    {
        SmallVector<std::pair<unsigned, MDNode *>, 4> attachments;
        for (const Argument &argument : function.args())
            numbers.try_emplace(&argument, numbers.size());
        for (const BasicBlock &block : function) {
            numbers.try_emplace(&block, numbers.size());
            for (const Instruction &instruction : block)
                if (!isa<DbgInfoIntrinsic>(instruction))
                    numbers.try_emplace(&instruction, numbers.size());
        }
        print(function.getFunctionType());
        print(uint64_t(function.getCallingConv()));
        print(function.getAttributes());
        if (function.hasPersonalityFn())
            print(function.getPersonalityFn());
        function.getAllMetadata(attachments);
        print(attachments, function.getContext());
        for (const BasicBlock &block : function) {
            out << '\n';
            print(&block);
            for (const Instruction &instruction : block)
                if (!isa<DbgInfoIntrinsic>(instruction))
                    print(instruction);
        }
    }
};

} // namespace

static uint64_t checksum(const std::string &text)
{
    uint64_t sum = tn__image_checksum(text.data(), text.size(), 0);
    return sum ? sum : 1;
}

/* The text of a constant that is neither a global nor only a word of bits. */
static void print_compound(raw_ostream &out, const Constant &constant, tn__digests &digests)
{
    if (auto *expression = dyn_cast<ConstantExpr>(&constant))
        out << expression->getOpcodeName() << ' ' << unsigned(expression->getRawSubclassOptionalData()) << ' ';
    if (auto *element = dyn_cast<GEPOperator>(&constant)) {
        tn__print_type(out, element->getSourceElementType());
        if (auto range = element->getInRange())
            range->print(out);
    }
    for (const Value *operand : constant.operand_values())
        out << ' ' << digests.of_constant(*cast<Constant>(operand));
}

uint64_t tn__digests::of_constant(const Constant &constant)
{
    auto found = known.find(&constant);
    if (found != known.end())
        return found->second;
    std::string text;
    raw_string_ostream out(text);
    auto *variable = dyn_cast<GlobalVariable>(&constant);
    out << constant.getValueID() << ' ';
    tn__print_type(out, constant.getType());
    if (variable && is_plain(*variable)) {
        is_circular |= !begun.insert(variable).second;
        out << variable->getAlign().valueOrOne().value() << ' '
            << (is_circular ? 0 : of_constant(*variable->getInitializer()));
        begun.erase(variable);
    } else if (auto *global = dyn_cast<GlobalValue>(&constant)) {
        text = "@" + GlobalValue::dropLLVMManglingEscape(global->getName()).str(); /* defined here or not */
    } else if (auto *number = dyn_cast<ConstantInt>(&constant)) {
        number->getValue().print(out, false);
    } else if (auto *floating = dyn_cast<ConstantFP>(&constant)) {
        floating->getValueAPF().bitcastToAPInt().print(out, false);
    } else if (auto *data = dyn_cast<ConstantDataSequential>(&constant)) {
        out << data->getRawDataValues();
    } else {
        print_compound(out, constant, *this);
    }
    uint64_t sum = checksum(out.str());
    if (!is_circular)
        known[&constant] = sum;
    return sum;
}

uint64_t tn__digests::of(const GlobalObject &global)
{
    is_circular = false;
    body_text body{*this};
    if (auto *variable = dyn_cast<GlobalVariable>(&global)) {
        body.print(uint64_t(variable->getAlign().valueOrOne().value()));
        body.print(static_cast<const Value *>(variable->getInitializer()));
    } else {
        body.print(version);
        body.print(cast<Function>(global));
    }
    return is_circular ? 0 : checksum(body.out.str());
}

/* ---- offers ---- */

bool tn__mv_each_body(LLVMModuleRef module, const char *version, tn__mv_visit_body *visit, void *context)
{
    tn__digests digests(version);
    for (const GlobalObject &global : unwrap(module)->global_objects()) {
        tn__references unused;
        uint64_t digest = !tn__is_llvms(global) && tn__may_be_copied(global, unused) ? digests.of(global) : 0;
        std::string name = GlobalValue::dropLLVMManglingEscape(global.getName()).str();
        if (digest && !visit(context, name.c_str(), isa<GlobalVariable>(global), digest))
            return false;
    }
    return true;
}
