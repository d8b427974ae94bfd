/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The GC strategy, which tells LLVM which pointers are managed, and the printer of stack maps in the format of
 * tenon_gc.h, in place of LLVM's: a third of the size, and position-independent. LLVM gives locations as register and
 * offset; what makes slots of the frame pointer of them is known only while a function is printed, so it is noted
 * then. */

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/GCMetadataPrinter.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/StackMaps.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GCStrategy.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCSectionELF.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSymbolELF.h"
#include "llvm/Target/TargetMachine.h"

#include "codegen/managed/roots/roots.h"
#include "tenon_gc.h"

using namespace llvm;

namespace {

struct strategy : GCStrategy {
    strategy()
    {
        UseStatepoints = true;
        UsesMetadata = true;
    }

    std::optional<bool> isGCManagedPointer(const Type *type) const override
    {
        auto *pointer = dyn_cast<PointerType>(type);
        return pointer && pointer->getAddressSpace() >= TRACKED && pointer->getAddressSpace() <= LOADED;
    }
};

/* A variable in the frame: what the collector has to know of it. */
struct variable {
    SmallVector<int64_t, 2> references;
    bool pinned;
};

struct frame {
    unsigned fp_register = 0, sp_register = 0;
    int64_t sp_minus_fp = 0;
    bool sp_is_fixed = false; /* the stack pointer is the same at every call */
    const MCSection *text = nullptr;
    /* Where the function begins: a local label, because the function's own symbol may be bound to another module's
     * definition, while the map describes this one. */
    const MCSymbol *start = nullptr;
    std::string function;
    DenseMap<int64_t, variable> variables; /* by offset from the frame pointer */
};

using frames = DenseMap<const MCSymbol *, frame>;

/* How far the frame pointer is from the canonical frame address. */
std::optional<int64_t> fp_from_cfa(const MachineFunction &function, Register fp)
{
    const Triple &triple = function.getTarget().getTargetTriple();
    if (triple.getArch() == Triple::x86_64)
        return -16;
    if (triple.isRISCV())
        return 0;
    for (const CalleeSavedInfo &saved : function.getFrameInfo().getCalleeSavedInfo()) /* AArch64: in the frame record */
        if (Register(saved.getReg()) == fp)
            return function.getFrameInfo().getObjectOffset(saved.getFrameIdx());
    return std::nullopt;
}

void note_variables(const MachineFunction &function, int64_t fp_offset, frame &frame)
{
    const MachineFrameInfo &info = function.getFrameInfo();
    const DataLayout &layout = function.getDataLayout();
    for (int i = 0; i < info.getObjectIndexEnd(); i++) {
        const AllocaInst *made = info.isDeadObjectIndex(i) ? nullptr : info.getObjectAllocation(i);
        if (!made || info.isVariableSizedObjectIndex(i) || !info.getObjectSize(i))
            continue;
        variable &noted = frame.variables[info.getObjectOffset(i) - fp_offset];
        noted.pinned = made->hasMetadata(TN__PINNED);
        tn__each_reference(
            wrap(&layout), wrap(made->getAllocatedType()), 0,
            [](void *list, uint64_t offset) { static_cast<decltype(&noted.references)>(list)->push_back(offset); },
            &noted.references);
    }
}

struct handler : AsmPrinterHandler {
    AsmPrinter &printer;
    frames &known;
    MCSymbol *start = nullptr; /* of the function that is being printed */

    handler(AsmPrinter &printer, frames &known) : printer(printer), known(known)
    {
    }

    void endModule() override
    {
    }

    static bool is_managed(const MachineFunction &function)
    {
        return function.getFunction().hasGC() && function.getFunction().getGC() == TN__GC_STRATEGY;
    }

    /* Called between the function's symbol and its first instruction. */
    void beginFunction(const MachineFunction *function) override
    {
        if (!is_managed(*function))
            return;
        start = printer.OutContext.createTempSymbol();
        printer.OutStreamer->emitLabel(start);
    }

    void endFunction(const MachineFunction *function) override
    {
        if (!is_managed(*function))
            return;
        const MachineFrameInfo &info = function->getFrameInfo();
        const TargetRegisterInfo &registers = *function->getSubtarget().getRegisterInfo();
        const TargetFrameLowering &lowering = *function->getSubtarget().getFrameLowering();
        const Triple &triple = printer.TM.getTargetTriple();
        Register fp = registers.getFrameRegister(*function);
        std::optional<int64_t> fp_offset = fp_from_cfa(*function, fp);
        if (!lowering.hasFP(*function) || !fp_offset)
            return; /* without safepoints it is not missed */
        frame &frame = known[printer.CurrentFnSym];
        int64_t sp_offset =
            -(int64_t)info.getStackSize() - (triple.isX86() ? 8 : 0); /* the return address is not part */
        frame.fp_register = registers.getDwarfRegNum(fp, false);
        frame.sp_register = triple.isX86() ? 7 : triple.isRISCV() ? 2 : 31; /* in DWARF */
        frame.sp_minus_fp = sp_offset - *fp_offset;
        frame.sp_is_fixed = lowering.hasReservedCallFrame(*function) && !info.hasVarSizedObjects() &&
                            !registers.hasStackRealignment(*function);
        frame.text = printer.getCurrentSection();
        frame.start = start;
        frame.function = function->getName().str();
        note_variables(*function, *fp_offset, frame);
    }
};

struct safepoint {
    const MCExpr *place;
    uint32_t flags = 0;
    SmallVector<int64_t, 8> bases, pinned, variables;
    SmallVector<std::pair<int64_t, unsigned>, 4> derived;
};

/* One function's records, first collected, then written. */
class function_map {
    const frame &in;
    LLVMContext &context;
    std::vector<safepoint> safepoints;
    bool failed = false;

    void fail(const char *what)
    {
        if (!failed)
            context.emitError("in function '" + in.function + "': the stack map cannot describe " + what);
        failed = true;
    }

    /* In words from the frame pointer. */
    int64_t slot(const StackMaps::Location &location)
    {
        int64_t offset = location.Offset;
        if (location.Reg == in.sp_register && in.sp_is_fixed)
            offset += in.sp_minus_fp;
        else if (location.Reg != in.fp_register)
            fail("a place that is not in the frame");
        return word(offset);
    }

    int64_t word(int64_t offset)
    {
        if (offset % 8)
            fail("a reference that is not aligned");
        return offset / 8;
    }

    static bool is_constant(const StackMaps::Location &location)
    {
        return location.Type == StackMaps::Location::Constant || location.Type == StackMaps::Location::ConstantIndex;
    }

    void add_variable(safepoint &record, const StackMaps::Location &location)
    {
        auto found = in.variables.find(slot(location) * 8);
        if (found == in.variables.end()) {
            fail("memory that is no variable");
            return;
        }
        auto &list = found->second.pinned ? record.pinned : record.variables;
        for (int64_t offset : found->second.references)
            list.push_back(word(found->first + offset));
    }

    void add_pair(safepoint &record, const StackMaps::Location &base, const StackMaps::Location &derived)
    {
        if (is_constant(base)) /* null, or permanent: nothing moves */
            return;
        if (base.Type != StackMaps::Location::Indirect ||
            (derived.Type != StackMaps::Location::Indirect && !is_constant(derived))) {
            fail("a reference in a register");
            return;
        }
        int64_t at = slot(base);
        auto found = find(record.bases, at);
        unsigned index = found - record.bases.begin();
        if (found == record.bases.end())
            record.bases.push_back(at);
        if (!is_constant(derived) && slot(derived) != at)
            record.derived.push_back({slot(derived), index});
    }

    bool is_wide() const
    {
        auto far = [](int64_t slot) { return !isInt<16>(slot); };
        return any_of(safepoints,
                      [&](const safepoint &s) {
                          return s.bases.size() > UINT8_MAX || s.derived.size() > UINT8_MAX || any_of(s.bases, far) ||
                                 any_of(s.pinned, far) ||
                                 any_of(s.derived, [&](auto &pair) { return far(pair.first); });
                      }) ||
               any_of(safepoints.front().variables, far);
    }

    /* Variables are named by every safepoint: then the function lists them once. */
    void share_variables()
    {
        auto &first = safepoints.front().variables;
        if (first.size() <= TN_GC_MAP_MAX_ROOTS &&
            all_of(safepoints, [&](const safepoint &s) { return s.variables == first; }))
            return;
        for (safepoint &s : safepoints) {
            s.bases.append(s.variables);
            s.variables.clear();
        }
    }

    void check_counts()
    {
        if (safepoints.size() > TN_GC_MAP_MAX_SAFEPOINTS)
            fail("so many safepoints");
        for (const safepoint &s : safepoints)
            if (s.bases.size() > UINT16_MAX || s.derived.size() > UINT16_MAX || s.pinned.size() > UINT16_MAX)
                fail("so many references");
    }

  public:
    function_map(const frame &in, LLVMContext &context) : in(in), context(context)
    {
    }

    void add(const StackMaps::CallsiteInfo &site)
    {
        safepoint record = {site.CSOffsetExpr, site.ID == TN__GC_ENTRY ? TN_GC_MAP_ENTRY : 0, {}, {}, {}, {}};
        auto &locations = site.Locations;
        size_t i = 3 + locations[2].Offset; /* convention, flags, number of deopt values, and those */
        while (i < locations.size())
            if (locations[i].Type == StackMaps::Location::Direct) {
                add_variable(record, locations[i++]);
            } else {
                add_pair(record, locations[i], locations[i + 1]);
                i += 2;
            }
        if (!record.pinned.empty())
            record.flags |= TN_GC_MAP_PINNED;
        safepoints.push_back(std::move(record));
    }

    /* Nothing after an error, which was reported. */
    void emit(MCStreamer &out, MCContext &mc)
    {
        share_variables();
        check_counts();
        if (failed)
            return;
        bool wide = is_wide();
        unsigned slot_size = wide ? 4 : 2, count_size = wide ? 2 : 1;
        auto number = [&](int64_t value, unsigned size) {
            out.emitIntValue((uint64_t)value & maskTrailingOnes<uint64_t>(8 * size), size);
        };
        out.emitValueToAlignment(Align(2));
        MCSymbol *here = mc.createTempSymbol();
        out.emitLabel(here);
        out.emitValue(
            MCBinaryExpr::createSub(MCSymbolRefExpr::create(in.start, mc), MCSymbolRefExpr::create(here, mc), mc), 4);
        auto &roots = safepoints.front().variables;
        number(safepoints.size() | roots.size() << 20 | (wide ? TN_GC_MAP_WIDE : 0), 4);
        for (int64_t slot : roots)
            number(slot, slot_size);
        for (const safepoint &s : safepoints) {
            out.emitValue(MCBinaryExpr::createAdd(s.place, MCConstantExpr::create(s.flags, mc), mc), 4);
            number(s.bases.size(), count_size);
            number(s.derived.size(), count_size);
            for (int64_t slot : s.bases)
                number(slot, slot_size);
            for (auto [slot, base] : s.derived) {
                number(slot, slot_size);
                number(base, slot_size);
            }
            if (s.pinned.empty())
                continue;
            number(s.pinned.size(), 2);
            for (int64_t slot : s.pinned)
                number(slot, slot_size);
        }
    }
};

/* Lives as long as the list of passes, and so through many modules. */
class printer : public GCMetadataPrinter {
    frames known;
    Module *module = nullptr; /* the present one; the first comes with the handler */

    /* The section of maps that belongs to a section of code. */
    static MCSection *section_for(const frame &frame, const MCSymbol *function,
                                  DenseMap<const MCSection *, MCSection *> &made, MCContext &mc)
    {
        MCSection *&section = made[frame.text];
        if (section)
            return section;
        auto *text = static_cast<const MCSectionELF *>(frame.text);
        unsigned flags = ELF::SHF_ALLOC | ELF::SHF_LINK_ORDER;
        if (text->getGroup())
            flags |= ELF::SHF_GROUP;
        section = mc.getELFSection("tenon_maps", ELF::SHT_PROGBITS, flags, 0,
                                   text->getGroup() ? text->getGroup()->getName() : StringRef(), text->isComdat(),
                                   made.size(), static_cast<const MCSymbolELF *>(function));
        return section;
    }

  public:
    void beginAssembly(Module &of, GCModuleInfo &, AsmPrinter &asm_printer) override
    {
        known.clear();
        if (!module)
            asm_printer.addAsmPrinterHandler(std::make_unique<handler>(asm_printer, known));
        module = &of;
    }

    bool emitStackMaps(StackMaps &maps, AsmPrinter &asm_printer) override
    {
        MCStreamer &out = *asm_printer.OutStreamer;
        MCContext &mc = asm_printer.OutContext;
        if (!asm_printer.TM.getTargetTriple().isOSBinFormatELF()) {
            module->getContext().emitError("managed code is compiled for ELF only");
            return true;
        }
        DenseMap<const MCSection *, MCSection *> sections;
        auto site = maps.getCSInfos().begin();
        for (auto &[symbol, info] : maps.getFnInfos()) {
            auto found = known.find(symbol);
            if (found == known.end()) {
                module->getContext().emitError("function '" + symbol->getName() +
                                               "' has safepoints and no frame pointer");
                break;
            }
            function_map map(found->second, module->getContext());
            for (uint64_t i = 0; i < info.RecordCount; i++)
                map.add(*site++);
            out.switchSection(section_for(found->second, symbol, sections, mc));
            map.emit(out, mc);
        }
        maps.reset();
        return true;
    }
};

GCRegistry::Add<strategy> add_strategy(TN__GC_STRATEGY, "references in address spaces 10 to 13");
GCMetadataPrinterRegistry::Add<printer> add_printer(TN__GC_STRATEGY, "compact stack maps");

} // namespace

void tn__llvm_use_strategy()
{
}
