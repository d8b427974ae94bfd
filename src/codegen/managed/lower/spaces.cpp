/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The pass remove-addrspaces, for IR that other tools are to read: spaces 10 to 13 become 0 in every type. Functions
 * and globals whose types change are made anew; instructions keep their places, names and metadata. */

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

#include "codegen/managed/lower/lower.h"
#include "codegen/llvm/llvm_compat.h"

using namespace llvm;

namespace {

class remover {
    Module &module;
    LLVMContext &context;
    DenseMap<Type *, Type *> types;

    static bool is_managed(unsigned space)
    {
        return space >= TRACKED && space <= LOADED;
    }

    Type *make(Type *type)
    {
        if (auto *pointer = dyn_cast<PointerType>(type))
            return is_managed(pointer->getAddressSpace()) ? PointerType::get(context, 0) : type;
        if (auto *array = dyn_cast<ArrayType>(type))
            return ArrayType::get(map(array->getElementType()), array->getNumElements());
        if (auto *vector = dyn_cast<VectorType>(type))
            return VectorType::get(map(vector->getElementType()), vector->getElementCount());
        SmallVector<Type *, 8> parts;
        if (auto *function = dyn_cast<FunctionType>(type)) {
            for (Type *parameter : function->params())
                parts.push_back(map(parameter));
            return FunctionType::get(map(function->getReturnType()), parts, function->isVarArg());
        }
        auto *structure = dyn_cast<StructType>(type);
        if (!structure || structure->isOpaque())
            return type;
        for (Type *element : structure->elements())
            parts.push_back(map(element));
        if (structure->isLiteral())
            return StructType::get(context, parts, structure->isPacked());
        if (structure->elements() == ArrayRef<Type *>(parts))
            return type;
        std::string name = structure->getName().str(); /* the new one takes it over */
        structure->setName("");
        return StructType::create(context, parts, name, structure->isPacked());
    }

    Type *map(Type *type)
    {
        Type *known = types.lookup(type);
        if (known)
            return known;
        Type *made = make(type); /* types do not contain themselves: pointers are opaque */
        types[type] = made;
        return made;
    }

    /* Constants other than globals, which have been replaced already. */
    Constant *map(Constant *constant)
    {
        if (isa<GlobalValue>(constant) || isa<BlockAddress>(constant))
            return constant;
        Type *type = map(constant->getType());
        if (isa<PoisonValue>(constant))
            return PoisonValue::get(type);
        if (isa<UndefValue>(constant))
            return UndefValue::get(type);
        if (constant->isNullValue())
            return Constant::getNullValue(type);
        SmallVector<Constant *, 8> operands;
        bool same = type == constant->getType();
        for (Use &operand : constant->operands()) {
            operands.push_back(map(cast<Constant>(&operand)));
            same &= operands.back() == operand;
        }
        if (same)
            return constant;
        if (auto *expression = dyn_cast<ConstantExpr>(constant)) {
            if (expression->getOpcode() == Instruction::AddrSpaceCast && operands[0]->getType() == type)
                return operands[0];
            Type *source = nullptr;
            if (auto *gep = dyn_cast<GEPOperator>(expression))
                source = map(gep->getSourceElementType());
            return expression->getWithOperands(operands, type, false, source);
        }
        if (auto *structure = dyn_cast<StructType>(type))
            return ConstantStruct::get(structure, operands);
        if (auto *array = dyn_cast<ArrayType>(type))
            return ConstantArray::get(array, operands);
        return type->isVectorTy() ? ConstantVector::get(operands) : constant;
    }

    AttributeList map(AttributeList attributes)
    {
        for (unsigned index : attributes.indexes())
            for (Attribute attribute : attributes.getAttributes(index))
                if (attribute.isTypeAttribute() && attribute.getValueAsType())
                    attributes = attributes.replaceAttributeTypeAtIndex(context, index, attribute.getKindAsEnum(),
                                                                        map(attribute.getValueAsType()));
        return attributes;
    }

    void replace(Function &old)
    {
        auto *type = cast<FunctionType>(map(static_cast<Type *>(old.getFunctionType())));
        old.setAttributes(map(old.getAttributes()));
        if (type == old.getFunctionType())
            return;
        SmallVector<Type *, 4> overloads;
        if (old.isIntrinsic() && Intrinsic::getIntrinsicSignature(old.getIntrinsicID(), type, overloads)) {
            old.replaceAllUsesWith(TN_DECLARE_INTRINSIC(&module, old.getIntrinsicID(), overloads));
            old.eraseFromParent();
            return;
        }
        Function *made = Function::Create(type, old.getLinkage(), old.getAddressSpace());
        module.getFunctionList().insert(old.getIterator(), made);
        made->takeName(&old);
        made->copyAttributesFrom(&old);
        made->setComdat(old.getComdat());
        made->copyMetadata(&old, 0);
        made->splice(made->begin(), &old);
        for (auto [from, to] : zip(old.args(), made->args())) {
            to.takeName(&from);
            from.mutateType(to.getType());
            from.replaceAllUsesWith(&to);
        }
        old.replaceAllUsesWith(made);
        old.eraseFromParent();
    }

    void replace(GlobalVariable &old)
    {
        Type *type = map(old.getValueType());
        unsigned space = is_managed(old.getAddressSpace()) ? 0 : old.getAddressSpace();
        if (type == old.getValueType() && space == old.getAddressSpace())
            return;
        auto *made = new GlobalVariable(module, type, old.isConstant(), old.getLinkage(), nullptr, "", &old,
                                        old.getThreadLocalMode(), space, old.isExternallyInitialized());
        made->takeName(&old);
        made->copyAttributesFrom(&old);
        made->setComdat(old.getComdat());
        made->copyMetadata(&old, 0);
        if (old.hasInitializer())
            made->setInitializer(map(old.getInitializer()));
        old.mutateType(made->getType());
        old.replaceAllUsesWith(made);
        old.eraseFromParent();
    }

    void change(Instruction &instruction)
    {
        for (Use &operand : instruction.operands())
            if (auto *constant = dyn_cast<Constant>(&operand))
                operand.set(map(constant));
        instruction.mutateType(map(instruction.getType()));
        if (auto *variable = dyn_cast<AllocaInst>(&instruction)) {
            variable->setAllocatedType(map(variable->getAllocatedType()));
        } else if (auto *gep = dyn_cast<GetElementPtrInst>(&instruction)) {
            gep->setSourceElementType(map(gep->getSourceElementType()));
            gep->setResultElementType(map(gep->getResultElementType()));
        } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
            call->mutateFunctionType(cast<FunctionType>(map(static_cast<Type *>(call->getFunctionType()))));
            call->setAttributes(map(call->getAttributes()));
        }
    }

  public:
    explicit remover(Module &module) : module(module), context(module.getContext())
    {
    }

    void run()
    {
        for (Function &function : module) /* before operands are looked at: constants name functions */
            for (Instruction &instruction : instructions(function))
                change(instruction);
        for (GlobalVariable &global : make_early_inc_range(module.globals()))
            replace(global);
        for (Function &function : make_early_inc_range(module))
            replace(function);
        for (Function &function : module)
            for (Instruction &instruction : make_early_inc_range(instructions(function)))
                if (auto *cast = dyn_cast<AddrSpaceCastInst>(&instruction);
                    cast && cast->getSrcTy() == cast->getDestTy()) {
                    cast->replaceAllUsesWith(cast->getOperand(0));
                    cast->eraseFromParent();
                }
    }
};

} // namespace

void tn__remove_spaces(struct tn__gc *gc)
{
    remover(*unwrap(gc->module)).run();
}
