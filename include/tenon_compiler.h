/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a JIT asks of a compiler, without one: options, counts, observers, and struct tn_compiler. LLVM in this process
 * is one (tenon_codegen.h); a cache in front of another compiler is one too (tenon_cache.h). Errors as in tenon.h. */

#ifndef TENON_COMPILER_H
#define TENON_COMPILER_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* TN_EMIT_FLAT: a flat file (doc/BASELINE.md), for compilers without LLVM; TN_ENOTSUP if it cannot hold the module. */
enum tn_emit { TN_EMIT_OBJECT = 0, TN_EMIT_ASM, TN_EMIT_LLVM, TN_EMIT_BITCODE, TN_EMIT_FLAT };
enum tn_reloc_model { TN_RELOC_PIC = 0, TN_RELOC_STATIC };
enum tn_code_model { TN_CODE_SMALL = 0, TN_CODE_MEDIUM, TN_CODE_LARGE };

struct tn_compile_observer; /* see below */

/* Where a client's own passes run. */
enum tn_hook {
    TN_HOOK_BEGIN = 0, /* before all stages (doc/PASSES.md); of managed code, before the preparation */
    /* After LLVM's stages. Until here, managed code has to keep the contract of doc/IR.md. */
    TN_HOOK_OPTIMIZED,
    /* Managed code only, before root placement: allocations, barriers and polls are ordinary code. References have to
     * stay in their spaces, and calls that may collect must not become others, nor be added: TN_ECOMPILE. */
    TN_HOOK_LOWERED,
};
struct tn_cpu; /* tenon_cpu.h */

/* A zeroed struct with `size` set selects the defaults. */
struct tn_compile_options {
    size_t size;        /* sizeof(struct tn_compile_options) */
    const char *triple; /* NULL: the module's own, or the host's where it has none */
    /* LLVM's name, "generic" or "native". NULL: the native CPU for its architecture, else the baseline of its Linux
     * distributions, except that functions with a "target-cpu" attribute keep theirs. A CPU named here applies to every
     * function. Features enabled by a function's own "target-features" stay enabled in any case. */
    const char *cpu;
    const char *features; /* "+avx2,-fma", LLVM's names, added to `cpu` and to each function's own; NULL: none */
    int opt_level;        /* 0..3: 0 only inlines what must be; 2 and 3 inline and vectorise */
    enum tn_reloc_model reloc_model;
    enum tn_code_model code_model;
    enum tn_emit emit;
    int function_sections; /* nonzero: one section per function and datum */
    int polls; /* managed code (doc/IR.md): where threads check for stop requests, besides allocations; TN_POLL_... */
    /* The pipeline (doc/PASSES.md): "tenon<level=2;no_cleanup>", or names of passes and stages, separated by commas and
     * run in this order; NULL: all stages, at `opt_level`. */
    const char *passes;
    const struct tn_compile_observer *observer; /* NULL: none */
    const struct tn_cpu *native; /* what "native" and no `cpu` mean, as after tn_cpu_limit; NULL: tn_cpu_host's */
    /* Not 0: LLVM's verifier examines managed code again after the passes over it. What it finds is a mistake of
     * Tenon's, and TN_ECOMPILE. */
    int verify_ir;
    /* Not 0: assembly in the module (`module asm`, inline assembly) may read files, by .include and .incbin; otherwise
     * these are TN_ECOMPILE. */
    int assembly_files;
    /* A client's own passes, NULL: none. Called on the compiling thread, on several at once if several compile, with
     * the module (an LLVMModuleRef of this program's LLVM), which it may change through LLVM's C API; functions that
     * other modules may refer to must stay. Called in the order of enum tn_hook, for each part that a JIT compiles. If
     * `verify_ir`, and in builds with sanitizers, LLVM's verifier examines the module afterwards. Not 0: TN_ECOMPILE,
     * with the text that it has put into *err. So are another triple or layout, and managed code where none was. */
    int (*hook)(void *context, enum tn_hook when, void *llvm_module, struct tn_error *err);
    void *hook_context;
    /* Not 0: threads that run the code may be older than its link, and not attached. So it asks for the place of its
     * thread-local variables, by TLS descriptors where the format has them, even if it was compiled for a program
     * (-fPIE). A JIT sets it for itself, unless its session has TN_SESSION_OWN_THREADS. */
    int any_threads;
    /* Not 0: at level 0, functions are compiled by the baseline compiler (doc/BASELINE.md), and by LLVM only where that
     * does not cover them. The code does the same; objects differ. For other targets than x86-64 it has no effect. */
    uint64_t baseline;
};

enum { TN_POLL_ENTRIES = 1, TN_POLL_LOOPS = 2 };

/* Times in ns. */
struct tn_compile_stats {
    size_t size; /* in: sizeof(struct tn_compile_stats) as the caller knows it */
    uint64_t parse_ns, optimize_ns, emit_ns;
    uint64_t functions, instructions; /* defined in the module, before optimisation */
    /* Managed code: calls at which a collection may happen, references and derived pointers live across them, and what
     * was inserted or omitted. */
    uint64_t safepoints, live_references, live_derived, base_phis, stack_roots, pinned, barriers, barriers_skipped;
    uint64_t inline_allocations, polls;
    uint64_t free_ns; /* giving LLVM's memory back */
    /* Allocations that alloc-opt deleted, made variables of their fields, or put into stack memory. */
    uint64_t removed_allocations, split_allocations, stack_allocations;
    /* Of barriers_skipped, those that needed an analysis: permanent values, words that were logged, objects that are
     * new on all ways; polls that were left out of loops; allocations that were made part of another one. */
    uint64_t removed_barriers, removed_polls, merged_allocations;
    /* Regions and allocations moved out of loops; accesses that turned out to be of no object; calls that name their
     * callee; calls that began a handler. */
    uint64_t hoisted, unmanaged_accesses, devirtualized_calls, handlers;
    uint64_t spaced_polls;  /* of polls, those that come once in many turns of their loops */
    uint64_t split_choices; /* phis and selects of objects that became phis and selects of their fields */
    uint64_t extract_ns;    /* of a part: copying it out of its module */
    /* Sums and products in loops that may be computed in any order, products that may be fused with the sum they are
     * part of, operations on small floating-point numbers that are computed in float. */
    uint64_t reordered_reductions, fused_products, demoted_operations;
    /* Calls that became atomic operations or loops of them; allocations whose memory elsewhere is zeroed; tests of the
     * CPU that were answered. */
    uint64_t expanded_modifications, zeroed_indirectly, answered_tests;
    /* Functions that the baseline compiler has compiled, and those that it has left to LLVM; its time, which is a part
     * of emit_ns. */
    uint64_t baseline_functions, baseline_left, baseline_ns;
};

/* ---- watching a compilation ---- */

enum tn_phase { TN_PHASE_PARSE = 0, TN_PHASE_OPTIMIZE, TN_PHASE_EMIT };

/* A module at some point: as IR text, as assembly, as an object. */
enum tn_stage { TN_STAGE_UNOPTIMIZED = 0, TN_STAGE_OPTIMIZED, TN_STAGE_ASSEMBLY, TN_STAGE_OBJECT };

/* A running pass. */
struct tn_pass {
    size_t size;               /* of this struct */
    const char *name;          /* LLVM's class name, such as "InstCombinePass" */
    const char *function;      /* NULL: the pass works on the whole module */
    uint64_t ns;               /* after the pass: how long it took */
    const void *unit;          /* for tn_pass_text */
    const char *pipeline_name; /* its name in pipelines, such as "instcombine"; that of a marker is `name` */
};

struct tn_compiled {
    size_t size;      /* of this struct */
    const char *name; /* as in the module */
    /* Of the instance whose code it is (tenon_jit.h), or the value of its attribute "tenon.signature"; NULL: none. */
    const char *signature;
    int opt_level;
    uint64_t ns; /* time of its module from IR to object */
};

/* What an optimisation has done (passed), or why it has not (missed, failure, of which the program had asked for one),
 * or what it found out. */
enum tn_remark_kind { TN_REMARK_PASSED = 0, TN_REMARK_MISSED, TN_REMARK_ANALYSIS, TN_REMARK_FAILURE };

struct tn_remark {
    size_t size; /* of this struct */
    enum tn_remark_kind kind;
    const char *pass; /* as LLVM's remarks name it: "inline", "alloc-opt" */
    const char *name; /* of the remark, such as "NotInlined" */
    const char *function;
    const char *file; /* NULL without debug information; line and column are 0 then */
    unsigned line, column;
    const char *text; /* for people */
    const char *yaml; /* all of it, as a document of YAML in LLVM's format, for its tools */
};

/* How large a function is. */
struct tn_function_size {
    const char *name; /* as in the module */
    uint64_t instructions, blocks;
};

struct tn_optimized {
    size_t size;        /* of this struct */
    const char *module; /* or the part of one that is compiled */
    int opt_level;
    uint64_t ns; /* what all passes took */
    /* The functions that the module defines, before and after. */
    const struct tn_function_size *before, *after;
    size_t before_count, after_count;
};

/* Called on the compiling thread. Any function may be NULL. */
struct tn_compile_observer {
    size_t size; /* sizeof(struct tn_compile_observer) */
    void *context;
    /* A phase has ended; times on CLOCK_MONOTONIC. */
    void (*phase)(void *context, const char *module, enum tn_phase phase, uint64_t begin_ns, uint64_t end_ns);
    /* An object was made that defines this function. */
    void (*compiled)(void *context, const struct tn_compiled *function);
    /* The module as it is at a stage; called for the stages whose bit (1 << TN_STAGE_...) is set in `stages`. */
    void (*stage)(void *context, const char *module, enum tn_stage stage, const void *bytes, size_t length);
    unsigned stages;
    /* A pass of the optimiser is about to run; if the result is not 0, this pass and all later ones are skipped. Passes
     * that must always run, such as inlining of always-inline functions, still do. */
    int (*before_pass)(void *context, const struct tn_pass *pass);
    void (*after_pass)(void *context, const struct tn_pass *pass);
    /* A remark of a pass, LLVM's (those over machine code too) or ours. Some passes take longer to have remarks. */
    void (*remark)(void *context, const struct tn_remark *remark);
    /* What LLVM warns of, as one line: debug information that is left out, a loop that was not vectorised as wanted. */
    void (*warning)(void *context, const char *text);
    /* All passes have run. */
    void (*optimized)(void *context, const struct tn_optimized *optimized);
    /* A pass of LLVM's code generation has run over a function, or, as "baseline", the baseline compiler has compiled
     * it. The pass has no `unit`; both of its names are the one that LLVM prints. Only objects are watched. */
    void (*after_emit_pass)(void *context, const struct tn_pass *pass);
};

/* ---- compilers ---- */

/* A module of IR. All of it is borrowed for the call of tn_compiler.open. */
struct tn_ir {
    size_t size;       /* of this struct */
    const char *name;  /* for diagnostics; objects do not depend on it */
    const void *bytes; /* text or bitcode */
    size_t length;
    int whole;                   /* not 0: compiled in one piece */
    const unsigned char *digest; /* the 32 bytes of the IR's SHA-256, or of the client's key for it */
    uint64_t copy;               /* not 0: the number of a further module of the same digest in one library, which has
                                  * other names for what is local, so that its objects are of no use elsewhere */
    int stays;                   /* not 0: `bytes` are there until the module is closed */
};

/* A symbol of a module. */
struct tn_module_symbol {
    uint32_t part; /* the part that defines it */
    const char *name;
    const char *of;   /* the function that this is an alias of, or NULL */
    const char *body; /* the name of a function's body, where plain names are those of stubs; or NULL */
    /* 1: weak; 2: hidden. Functions, for tiers (doc/TIERS.md): 4: cannot be compiled twice; 8: called once and with
     * loops; 16 times the level that the module wants for it, counted from 1. Of modules in one piece: 128: the object
     * may lack it. 256: a function all the same that has no body of its own, such as an indirect one. */
    uint32_t flags;
    uint32_t managed_registers, managed_stack; /* functions: as in struct tn_lazy_symbol */
};

/* What a compiler says of a module. There is at least one part, and each but part 0 begins with a symbol that its
 * object defines. */
struct tn_module_description {
    uint32_t flags; /* 1: compiled in one piece; 2: only the object tells what it defines; 4: part 0 has initializers */
    uint32_t parts;
    size_t count;
    const struct tn_module_symbol *symbols; /* in the order of parts */
    const void *types;                      /* that it was compiled with (doc/GC.md, "Layouts") */
    size_t types_size;
};

/* A part of a module to be compiled: one function, the data, or all of it. */
struct tn_part_request {
    size_t size;      /* of this struct */
    uint64_t part;    /* its number in the description */
    const char *name; /* the module's, and the function's in brackets; for diagnostics and observers */
    const struct tn_compile_observer *observer; /* of this compilation, in place of that of the options */
    struct tn_compile_stats *stats;             /* filled in where something was compiled; else left as it is */
    /* Not NULL: an object that the compiler has already need not be copied. It may fill in bytes, length, release and
     * context of this input, which are zero, and leave the buffer empty. */
    struct tn_input *kept;
    int anew; /* not 0: what was kept of this part is of no use; it has to be compiled */
    /* The level, in place of that of the options; a module in one piece has that of the options. */
    int opt_level;
    /* Not 0: the part was compiled for a lower tier before. Its functions have "..N" at the end of the names that the
     * description gives to their bodies, where N is the level, and constants of the part are local to the object. */
    int is_higher;
    /* NULL, or calls and back edges are counted, in counters that symbols with this text in their names tell apart
     * (doc/TIERS.md). */
    const char *counters;
    int is_idle; /* not 0: no call waits for it, so it may hold no lock for long that another compilation needs */
    /* Not NULL: when the number there is not 0 any more, the object is not wanted, and passes may have been skipped.
     * The compiler may stop, and returns TN_ECANCELLED instead of the object. Set during calls of the observer only. */
    const int *cancelled;
    /* Of the symbols that the description says may be left out, those that have to be defined. */
    const char *const *needed;
    size_t needed_count;
};

/* A compiler. Any thread may call all functions, also for one module at a time; the JIT calls `open` and `close` once
 * for each module, and once more to compile ahead (tenon_ahead.h). The struct is copied. What it makes of IR depends on
 * nothing but its identity, the options, the IR's bytes, `whole`, `digest` and `copy`. */
struct tn_compiler {
    size_t size; /* sizeof(struct tn_compiler) */
    void *context;
    /* Writes what distinguishes this compiler from others whose objects may differ, as a text, into an empty buffer:
     * versions and builds of all that decides about objects, and the settings that are not in the options. TN_ENOTSUP:
     * this is not known, so nothing that it makes may be kept. TN_ENOMEM. */
    int (*identify)(void *context, struct tn_buffer *text, struct tn_error *err);
    /* Reads and verifies a module, and describes its parts; the description stays until a part is compiled, or the
     * module is closed. `options` were checked and outlive the module. Errors as for tn_jit_add_module. */
    int (*open)(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                const struct tn_module_description **description, struct tn_error *err);
    /* Compiles a part, into an empty buffer. Errors as for tn_compile. */
    int (*compile)(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err);
    void (*close)(void *module);
    /* Whether the compiler takes these options, whose numbers are in their ranges. NULL: any. TN_EINVAL, TN_ENOTSUP. */
    int (*check)(void *context, const struct tn_compile_options *options, struct tn_error *err);
    /* Writes a module that the client has in memory, in the compiler's own form, as bytes for `open`, into an empty
     * buffer. NULL: it knows no such form. TN_EFATAL, TN_ENOTSUP, TN_ENOMEM. */
    int (*write)(void *context, void *module, struct tn_buffer *ir, struct tn_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
