/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the tool leaves out of LLVM to stay small: 3 MB of machine code that is linked only because something that few
 * ask for could lead there. Each row defines a symbol weakly, so that the linker does not take the member of LLVM's
 * archive that defines it; where a member comes along for another reason, its own definition wins. A name that another
 * release of LLVM spells differently does no harm: its row has no effect.
 *
 * What reaches a part that is left out ends as any failure of LLVM does, in TN_EFATAL, and the message names the part.
 * Everything else does what LLVM does. tests/build/absent.sh reaches the parts and runs what has to do without.
 * This file is linked into the tool and the tests of the code generator, before LLVM's archives. It is not part of
 * libtenon_codegen.a, because a product may use these parts of LLVM for purposes of its own. */

#include <exception>
#include <new>

#include "llvm/Object/IRSymtab.h"
#include "llvm/Support/ErrorHandling.h"

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {

HIDDEN void tn__llvm_nothing();
HIDDEN uintptr_t tn__llvm_zero();
HIDDEN void tn__llvm_stand_in(void *place);
HIDDEN void tn__llvm_anchored_stand_in(void *place);

void tn__llvm_nothing()
{
}

uintptr_t tn__llvm_zero()
{
    return 0;
}
}

namespace {
/* LLVM made room for something larger, so the size is not ours to tell. */
struct sizeless {
    static void operator delete(void *place)
    {
        ::operator delete(place);
    }
};

/* An object that is made, kept and destroyed, but not used. */
struct stand_in : sizeless {
    virtual ~stand_in() = default;
};

/* The same for a class whose first virtual function is not its destructor. */
struct anchored_stand_in : sizeless {
    virtual void anchor()
    {
    }
    virtual ~anchored_stand_in() = default;
};
} // namespace

void tn__llvm_stand_in(void *place)
{
    new (place) stand_in;
}

void tn__llvm_anchored_stand_in(void *place)
{
    new (place) anchored_stand_in;
}

#define ROW(symbol, stub) __asm__(".weak " #symbol "\n.set " #symbol ", " #stub);
#define NOTHING(symbol)   ROW(symbol, tn__llvm_nothing)  /* reached; there is nothing to do: the pass is not there */
#define ZERO(symbol)      ROW(symbol, tn__llvm_zero)     /* reached; returns null */
#define STAND_IN(symbol)  ROW(symbol, tn__llvm_stand_in) /* a constructor */
#define ANCHORED(symbol)  ROW(symbol, tn__llvm_anchored_stand_in)

/* A part that is left out, and a symbol that leads to it. */
#define PART(part, name)                                                                                               \
    extern "C" [[noreturn]] HIDDEN void tn__without_##part();                                                          \
    void tn__without_##part()                                                                                          \
    {                                                                                                                  \
        llvm::report_fatal_error(name " is not in this program; 'make SMALL=0' builds one with all of LLVM");          \
    }
#define ABSENT(part, symbol) ROW(symbol, tn__without_##part)

/* GlobalISel: FastISel and SelectionDAG select everything. X86's subtarget makes these objects all the same, which used
 * to take a tenth of the time from start to a first function. */
STAND_IN(_ZN4llvm16X86LegalizerInfoC1ERKNS_12X86SubtargetERKNS_16X86TargetMachineE)
ANCHORED(_ZN4llvm15X86CallLoweringC1ERKNS_17X86TargetLoweringE)
ZERO(_ZN4llvm28createX86InstructionSelectorERKNS_16X86TargetMachineERKNS_12X86SubtargetERKNS_19X86RegisterBankInfoE)
PART(global_isel, "GlobalISel")
ABSENT(global_isel, _ZN4llvm29createX86PreLegalizerCombinerEv)
ABSENT(global_isel, _ZN4llvm12IRTranslatorC1ENS_15CodeGenOptLevelE)
ABSENT(global_isel, _ZN4llvm13RegBankSelectC1ENS0_4ModeE)
ABSENT(global_isel, _ZN4llvm17InstructionSelectC1ENS_15CodeGenOptLevelERc)
ABSENT(global_isel, _ZN4llvm9LegalizerC1Ev)
NOTHING(_ZN4llvm37initializeX86PreLegalizerCombinerPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm20initializeGlobalISelERNS_12PassRegistryE)

/* Machine code through the new pass manager. */
PART(new_pipeline, "machine code through the new pass manager")
ABSENT(
    new_pipeline,
    _ZN4llvm16X86TargetMachine20buildCodeGenPipelineERNS_11PassManagerINS_6ModuleENS_15AnalysisManagerIS2_JEEEJEEERNS_17raw_pwrite_streamEPS7_NS_15CodeGenFileTypeERKNS_19CGPassBuilderOptionEPNS_28PassInstrumentationCallbacksE)
ABSENT(new_pipeline, _ZN4llvm16X86TargetMachine28registerPassBuilderCallbacksERNS_11PassBuilderE)

/* Profiles of samples. */
PART(sampled_profile, "the loader of sampled profiles")
ABSENT(
    sampled_profile,
    _ZN4llvm26createMIRProfileLoaderPassENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES5_NS_10sampleprof19FSDiscriminatorPassENS_18IntrusiveRefCntPtrINS_3vfs10FileSystemEEE)
NOTHING(_ZN4llvm34initializeMIRProfileLoaderPassPassERNS_12PassRegistryE)

/* Passes that no built-in target asks for unless an option of LLVM does, once the outliner is turned off: software
 * pipelining, outlining, merging by profile. Registering a pass is what keeps it; a target that asks for one names more
 * of its member than this, and has the pass. */
NOTHING(_ZN4llvm30initializeMachinePipelinerPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm29initializeMachineOutlinerPassERNS_12PassRegistryE)
PART(outliner, "the machine outliner")
ABSENT(outliner, _ZN4llvm25createMachineOutlinerPassENS_11RunOutlinerE)
NOTHING(_ZN4llvm40initializeGlobalMergeFuncPassWrapperPassERNS_12PassRegistryE)
PART(global_merge_functions, "the merging of functions by profile")
ABSENT(global_merge_functions, _ZN4llvm25createGlobalMergeFuncPassEv)
NOTHING(_ZN4llvm21initializeRABasicPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm25initializeIfConverterPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm33initializeHardwareLoopsLegacyPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm33initializeTypePromotionLegacyPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm35initializeMachineRegionInfoPassPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm36initializeBranchRelaxationLegacyPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm36initializeInterleavedLoadCombinePassERNS_12PassRegistryE)
NOTHING(_ZN4llvm42initializePostRAHazardRecognizerLegacyPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm43initializeMachineUniformityAnalysisPassPassERNS_12PassRegistryE)

/* Decisions of trained models. */
PART(inlining_model, "the trained model of inlining")
ABSENT(inlining_model,
       _ZN4llvm21getReleaseModeAdvisorERNS_6ModuleERNS_15AnalysisManagerIS0_JEEESt8functionIFbRNS_8CallBaseEEE)

/* Printing, checking and renaming machine instructions: for LLVM's developers. */
NOTHING(_ZN4llvm22initializeMIRNamerPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm30initializeMIRCanonicalizerPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm31initializeMachineCFGPrinterPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm32initializeModuloScheduleTestPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm38initializeMIR2VecPrinterLegacyPassPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm40initializeMIR2VecVocabLegacyAnalysisPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm43initializeMIR2VecVocabPrinterLegacyPassPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm46initializeMachineUniformityInfoPrinterPassPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm39initializeMachineVerifierLegacyPassPassERNS_12PassRegistryE)
NOTHING(_ZN4llvm35initializeDebugifyMachineModulePassERNS_12PassRegistryE)
PART(debugify, "the test of debug information in machine code")
ABSENT(debugify, _ZN4llvm31createDebugifyMachineModulePassEv)
NOTHING(_ZN4llvm37initializeStripDebugMachineModulePassERNS_12PassRegistryE)
ABSENT(debugify, _ZN4llvm33createStripDebugMachineModulePassEb)
NOTHING(_ZN4llvm37initializeCheckDebugMachineModulePassERNS_12PassRegistryE)
ABSENT(debugify, _ZN4llvm33createCheckDebugMachineModulePassEv)
NOTHING(_ZN4llvm29initializeMIRPrintingPassPassERNS_12PassRegistryE)
PART(mir, "the writer of machine IR")
ABSENT(mir, _ZN4llvm18createPrintMIRPassERNS_11raw_ostreamE)
PART(machine_verifier, "the verifier of machine code")
ABSENT(machine_verifier, _ZN4llvm25createMachineVerifierPassERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE)
ABSENT(machine_verifier, _ZNK4llvm15MachineFunction6verifyEPNS_4PassEPKcPNS_11raw_ostreamEb)
ABSENT(machine_verifier, _ZNK4llvm15MachineFunction6verifyERNS_15AnalysisManagerIS0_JEEEPKcPNS_11raw_ostreamEb)
ABSENT(machine_verifier, _ZNK4llvm15MachineFunction6verifyEPNS_13LiveIntervalsEPNS_11SlotIndexesEPKcPNS_11raw_ostreamEb)

/* Object formats of no target of ours. */
PART(other_formats, "this object format")
ABSENT(
    other_formats,
    _ZN4llvm18createGOFFStreamerERNS_9MCContextEOSt10unique_ptrINS_12MCAsmBackendESt14default_deleteIS3_EEOS2_INS_14MCObjectWriterES4_IS8_EEOS2_INS_13MCCodeEmitterES4_ISC_EE)
ABSENT(
    other_formats,
    _ZN4llvm18createWasmStreamerERNS_9MCContextEOSt10unique_ptrINS_12MCAsmBackendESt14default_deleteIS3_EEOS2_INS_14MCObjectWriterES4_IS8_EEOS2_INS_13MCCodeEmitterES4_ISC_EE)
ABSENT(
    other_formats,
    _ZN4llvm19createSPIRVStreamerERNS_9MCContextEOSt10unique_ptrINS_12MCAsmBackendESt14default_deleteIS3_EEOS2_INS_14MCObjectWriterES4_IS8_EEOS2_INS_13MCCodeEmitterES4_ISC_EE)
ABSENT(
    other_formats,
    _ZN4llvm25createDXContainerStreamerERNS_9MCContextEOSt10unique_ptrINS_12MCAsmBackendESt14default_deleteIS3_EEOS2_INS_14MCObjectWriterES4_IS8_EEOS2_INS_13MCCodeEmitterES4_ISC_EE)
ABSENT(other_formats, _ZN4llvm19createGOFFAsmParserEv)
ABSENT(other_formats, _ZN4llvm19createWasmAsmParserEv)
ABSENT(other_formats, _ZN4llvm20createXCOFFAsmParserEv)
ABSENT(
    other_formats,
    _ZN4llvm22createGOFFObjectWriterESt10unique_ptrINS_24MCGOFFObjectTargetWriterESt14default_deleteIS1_EERNS_17raw_pwrite_streamE)
ABSENT(
    other_formats,
    _ZN4llvm22createWasmObjectWriterESt10unique_ptrINS_24MCWasmObjectTargetWriterESt14default_deleteIS1_EERNS_17raw_pwrite_streamE)
ABSENT(
    other_formats,
    _ZN4llvm25createWasmDwoObjectWriterESt10unique_ptrINS_24MCWasmObjectTargetWriterESt14default_deleteIS1_EERNS_17raw_pwrite_streamES6_)
ABSENT(
    other_formats,
    _ZN4llvm23createSPIRVObjectWriterESt10unique_ptrINS_25MCSPIRVObjectTargetWriterESt14default_deleteIS1_EERNS_17raw_pwrite_streamE)
ABSENT(
    other_formats,
    _ZN4llvm23createXCOFFObjectWriterESt10unique_ptrINS_25MCXCOFFObjectTargetWriterESt14default_deleteIS1_EERNS_17raw_pwrite_streamE)

/* The table of symbols in bitcode. It spares linkers of bitcode a look at the module; LLVM itself leaves it out where
 * it does not know the module's target. */
__attribute__((weak)) llvm::Error llvm::irsymtab::build(ArrayRef<Module *>, SmallVector<char, 0> &,
                                                        StringTableBuilder &, BumpPtrAllocator &)
{
    return errorCodeToError(std::make_error_code(std::errc::not_supported));
}

/* An exception that nobody catches ends the program; libstdc++ would print its demangled name first. */
namespace __cxxabiv1 {
extern std::terminate_handler __terminate_handler;
__attribute__((weak)) std::terminate_handler __terminate_handler = abort;
} // namespace __cxxabiv1

/* What makes zstd's files. LLVM calls it for compressed debug sections, which are read here and not written. libelf may
 * call it too, so callers get errors, of the numbers that zstd has for them. */
extern "C" {
#define WEAK __attribute__((weak))
WEAK size_t ZSTD_compressBound(size_t size);
WEAK void *ZSTD_createCCtx();
WEAK size_t ZSTD_freeCCtx(void *);
WEAK size_t ZSTD_CCtx_setParameter(void *, int, int);
WEAK size_t ZSTD_compress2(void *, void *, size_t, const void *, size_t);

size_t ZSTD_compressBound(size_t size)
{
    return size;
}

void *ZSTD_createCCtx()
{
    return nullptr;
}

size_t ZSTD_freeCCtx(void *)
{
    return 0;
}

size_t ZSTD_CCtx_setParameter(void *, int, int)
{
    return ~size_t(0);
}

size_t ZSTD_compress2(void *, void *, size_t, const void *, size_t)
{
    return ~size_t(0);
}
}
