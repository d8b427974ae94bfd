/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The peer of jit.c: LLVM's LLJIT and LLLazyJIT as they are, no passes over the IR, codegen of -O2 or of LEVEL.
 *
 *     orc small COUNT [LEVEL]          one-function modules, each added, looked up and called before the next
 *     orc query MODE BITCODE [LEVEL]   SQLite, lazy (LLLazyJIT) or eager (LLJIT): until it has answered a first query
 *     orc kept FILE BITCODE            the same by LLJIT with an ObjectCache that keeps the object in a file
 *     orc reoptimize CALLS BITCODE ROUNDS
 *                                      SQLite lazily at -O0, below a ReOptimizeLayer that compiles functions again at
 *                                      -O2 after so many calls: a first query, then rounds of others; 0: no such layer
 */

#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/ObjectCache.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITLinkRedirectableSymbolManager.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/ReOptimizeLayer.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdlib>

extern "C" {
#include "measure.h"
}

#include "query.h"
#include "resident.h"

using namespace llvm;
using namespace llvm::orc;

static ExitOnError check("orc: ");

static void *find(void *context, const char *name)
{
    return check(static_cast<LLJIT *>(context)->lookup(name)).toPtr<void *>();
}

static void see_process(LLJIT &jit)
{
    jit.getMainJITDylib().addGenerator(
        check(DynamicLibrarySearchGenerator::GetForCurrentProcess(jit.getDataLayout().getGlobalPrefix())));
}

static double small_one(LLJIT &jit, unsigned number)
{
    std::string name = "f" + std::to_string(number);
    std::string ir =
        "define i64 @" + name + "(i64 %x) {\n  %y = add i64 %x, " + std::to_string(number) + "\n  ret i64 %y\n}\n";
    uint64_t start = now_ns();
    auto context = std::make_unique<LLVMContext>();
    SMDiagnostic problem;
    auto module = parseAssemblyString(ir, problem, *context);
    check(jit.addIRModule(ThreadSafeModule(std::move(module), std::move(context))));
    auto function = check(jit.lookup(name)).toPtr<long (*)(long)>();
    if (function(1) != static_cast<long>(number) + 1)
        abort();
    return static_cast<double>(now_ns() - start) / 1e3;
}

static JITTargetMachineBuilder machine(const char *level)
{
    auto builder = check(JITTargetMachineBuilder::detectHost());
    builder.setCodeGenOptLevel(level ? static_cast<CodeGenOptLevel>(atoi(level)) : CodeGenOptLevel::Default);
    return builder;
}

static void measure_small(unsigned count, const char *level)
{
    auto jit = check(LLJITBuilder().setJITTargetMachineBuilder(machine(level)).create());
    std::vector<double> us(count, 1.0);
    for (unsigned i = 0; i < 200; i++)
        small_one(*jit, count + i);
    long before = resident_kb();
    for (unsigned i = 0; i < count; i++)
        us[i] = small_one(*jit, i);
    printf("small bytes %.0f\n", static_cast<double>(resident_kb() - before) * 1024 / count);
    printf("small us %.1f\n", median(us.data(), count));
}

template <typename Builder, typename Add>
static void measure_query(const char *path, const char *level, Builder builder, Add add)
{
    builder.setJITTargetMachineBuilder(machine(level));
    size_t size;
    auto *bytes = static_cast<const char *>(read_touched(path, &size));
    uint64_t start = now_ns();
    auto jit = check(builder.create());
    see_process(*jit);
    auto context = std::make_unique<LLVMContext>();
    auto module = check(parseBitcodeFile(MemoryBufferRef(StringRef(bytes, size), path), *context));
    add(*jit, ThreadSafeModule(std::move(module), std::move(context)));
    if (!run_query(find, jit.get()))
        abort();
    printf("query_ms %.1f\n", static_cast<double>(now_ns() - start) / 1e6);
    fflush(stdout);
    _Exit(0);
}

/* For one module. */
struct FileCache : ObjectCache {
    std::string path;
    void notifyObjectCompiled(const Module *, MemoryBufferRef object) override
    {
        std::error_code error;
        raw_fd_ostream(path, error) << object.getBuffer();
    }
    std::unique_ptr<MemoryBuffer> getObject(const Module *) override
    {
        auto file = MemoryBuffer::getFile(path);
        return file ? std::move(*file) : nullptr;
    }
};

static void measure_kept(const char *file, const char *bitcode)
{
    static FileCache cache;
    cache.path = file;
    LLJITBuilder builder;
    builder.setCompileFunctionCreator(
        [](JITTargetMachineBuilder machine) -> Expected<std::unique_ptr<IRCompileLayer::IRCompiler>> {
            return std::make_unique<TMOwningSimpleCompiler>(check(machine.createTargetMachine()), &cache);
        });
    measure_query(bitcode, nullptr, std::move(builder),
                  [](LLJIT &jit, ThreadSafeModule module) { check(jit.addIRModule(std::move(module))); });
}

/* ---- reoptimize ---- */

static const char raised[] = "raised"; /* the flag of modules that are compiled again */
static unsigned raised_count;

/* Code generation of -O0, of -O2 for modules that are compiled again. */
class LevelCompiler : public IRCompileLayer::IRCompiler {
    TMOwningSimpleCompiler low, high;

  public:
    LevelCompiler(std::unique_ptr<TargetMachine> at_0, std::unique_ptr<TargetMachine> at_2)
        : IRCompiler(irManglingOptionsFromTargetOptions(at_0->Options)), low(std::move(at_0)), high(std::move(at_2))
    {
    }
    Expected<std::unique_ptr<MemoryBuffer>> operator()(Module &module) override
    {
        return module.getModuleFlag(raised) ? high(module) : low(module);
    }
};

static Error optimize(ReOptimizeLayer &, ReOptimizeLayer::ReOptMaterializationUnitID, unsigned, ResourceTrackerSP,
                      ThreadSafeModule &module)
{
    raised_count++;
    return module.withModuleDo([](Module &ir) -> Error {
        static auto target = check(machine("2").createTargetMachine());
        LoopAnalysisManager loops;
        FunctionAnalysisManager functions;
        CGSCCAnalysisManager groups;
        ModuleAnalysisManager modules;
        PassBuilder builder(target.get());
        builder.registerModuleAnalyses(modules);
        builder.registerCGSCCAnalyses(groups);
        builder.registerFunctionAnalyses(functions);
        builder.registerLoopAnalyses(loops);
        builder.crossRegisterProxies(loops, functions, groups, modules);
        builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(ir, modules);
        ir.addModuleFlag(Module::Warning, raised, 1);
        return Error::success();
    });
}

/* As ReOptimizeLayer::reoptimizeIfCallFrequent, with a count of calls that can be chosen. */
static Error count_calls(unsigned calls, ReOptimizeLayer::ReOptMaterializationUnitID unit, unsigned version, Module &ir)
{
    auto *type = Type::getInt64Ty(ir.getContext());
    auto *counter = new GlobalVariable(ir, type, false, GlobalValue::InternalLinkage, Constant::getNullValue(type),
                                       "__orc_reopt_counter");
    for (auto &function : ir) {
        if (function.isDeclaration())
            continue;
        auto *at = &*function.getEntryBlock().getFirstInsertionPt();
        IRBuilder<> builder(at);
        auto *count = builder.CreateLoad(type, counter);
        auto *is_hot = builder.CreateICmpEQ(count, ConstantInt::get(type, calls));
        builder.CreateStore(builder.CreateAdd(count, ConstantInt::get(type, 1)), counter);
        ReOptimizeLayer::createReoptimizeCall(ir, *SplitBlockAndInsertIfThen(is_hot, at, false), unit, version);
    }
    return Error::success();
}

/* LLLazyJIT has no place for a layer, so its stack of layers is built here: whole modules, parts of them on demand, one
 * function each, compiled again, compiled. */
static void measure_reoptimize(unsigned calls, const char *path, size_t rounds)
{
    LLJITBuilder builder;
    builder.setJITTargetMachineBuilder(machine("0"));
    builder.setCompileFunctionCreator(
        [](JITTargetMachineBuilder low) -> Expected<std::unique_ptr<IRCompileLayer::IRCompiler>> {
            return std::make_unique<LevelCompiler>(check(low.createTargetMachine()),
                                                   check(machine("2").createTargetMachine()));
        });
    size_t size;
    auto *bytes = static_cast<const char *>(read_touched(path, &size));
    uint64_t start = now_ns();
    auto jit = check(builder.create());
    auto &session = jit->getExecutionSession();
    auto &library = jit->getMainJITDylib();
    auto layout = jit->getDataLayout();
    see_process(*jit);
    auto stubs =
        check(JITLinkRedirectableSymbolManager::Create(static_cast<ObjectLinkingLayer &>(jit->getObjLinkingLayer())));
    ReOptimizeLayer again(session, layout, jit->getIRTransformLayer(), *stubs);
    check(again.addOrcRTLiteSupport(library, layout));
    check(again.registerRuntimeFunctions(library));
    again.setAddProfilerFunc([calls](ReOptimizeLayer &, uint64_t unit, unsigned version, ThreadSafeModule &module) {
        return module.withModuleDo([&](Module &ir) { return count_calls(calls, unit, version, ir); });
    });
    again.setReoptimizeFunc(optimize);
    IRLayer *below = &again;
    if (!calls)
        below = &jit->getIRTransformLayer();
    IRPartitionLayer parts(session, *below);
    auto triple = jit->getTargetTriple();
    auto first_calls = check(createLocalLazyCallThroughManager(triple, session, ExecutorAddr()));
    CompileOnDemandLayer on_demand(session, parts, *first_calls, createLocalIndirectStubsManagerBuilder(triple));
    auto context = std::make_unique<LLVMContext>();
    auto module = check(parseBitcodeFile(MemoryBufferRef(StringRef(bytes, size), path), *context));
    module->setDataLayout(layout);
    check(on_demand.add(library, ThreadSafeModule(std::move(module), std::move(context))));
    if (!measure_rounds(find, jit.get(), start, rounds, nullptr))
        abort();
    printf("tiers raised %u\n", raised_count);
    fflush(stdout);
    _Exit(0);
}

int main(int argc, char **argv)
{
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    std::string mode = argc > 2 ? argv[1] : "";
    bool is_query = mode == "query" && (argc == 4 || argc == 5);
    if (mode == "small" && argc <= 4)
        measure_small(static_cast<unsigned>(atoi(argv[2])), argv[3]);
    else if (is_query && std::string(argv[2]) == "lazy")
        measure_query(argv[3], argv[4], LLLazyJITBuilder(), [](LLLazyJIT &jit, ThreadSafeModule module) {
            jit.setPartitionFunction(IRPartitionLayer::compileRequested);
            check(jit.addLazyIRModule(std::move(module)));
        });
    else if (is_query)
        measure_query(argv[3], argv[4], LLJITBuilder(),
                      [](LLJIT &jit, ThreadSafeModule module) { check(jit.addIRModule(std::move(module))); });
    else if (mode == "kept" && argc == 4)
        measure_kept(argv[2], argv[3]);
    else if (mode == "reoptimize" && argc == 5)
        measure_reoptimize(static_cast<unsigned>(atoi(argv[2])), argv[3], static_cast<size_t>(atoi(argv[4])));
    else
        return 1;
    fflush(stdout);
    _Exit(0);
}
