/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The code generator: LLVM IR to relocatable objects, through LLVM's targets and machine-code layer only.
 *
 * Threads: every call owns its LLVMContext, so calls may run side by side on different threads. Nothing is printed.
 * Errors: LLVM's diagnostics come back as TN_ECOMPILE, one line each, with file:line:column where LLVM knows them.
 * What would have ended the process comes back as TN_EFATAL, and the memory of that one compilation is abandoned
 * (tn_codegen_abandoned counts). For that the first call takes over LLVM's process-wide fatal-error and out-of-memory
 * handlers; on threads that are not inside tn_compile they do nothing.
 * Trust: LLVM's readers are not hardened. IR from a hostile source needs a process of its own. */

#ifndef TENON_CODEGEN_H
#define TENON_CODEGEN_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tn_emit { TN_EMIT_OBJECT = 0, TN_EMIT_ASM, TN_EMIT_LLVM, TN_EMIT_BITCODE };
enum tn_reloc_model { TN_RELOC_PIC = 0, TN_RELOC_STATIC };
enum tn_code_model { TN_CODE_SMALL = 0, TN_CODE_MEDIUM, TN_CODE_LARGE };

struct tn_compile_observer; /* see below */
struct tn_cpu;              /* tenon_cpu.h */

/* A zeroed struct with `size` set asks for the defaults. */
struct tn_compile_options {
    size_t size;        /* sizeof(struct tn_compile_options) */
    const char *triple; /* NULL: the module's own, or the host's where it has none */
    /* LLVM's name, "generic" or "native". NULL: the native CPU for its architecture, else the baseline of its
     * Linux distributions; functions that name a "target-cpu" keep theirs. A CPU named here holds for every function.
     * What a function's own "target-features" enable stays enabled in any case. */
    const char *cpu;
    const char *features; /* "+avx2,-fma", LLVM's names, on top of `cpu` and of each function's own; NULL: none */
    int opt_level;        /* 0..3: 0 only inlines what must be; 2 and 3 inline and vectorise */
    enum tn_reloc_model reloc_model;
    enum tn_code_model code_model;
    enum tn_emit emit;
    int function_sections; /* nonzero: one section per function and datum */
    /* Managed code (doc/IR.md). `polls`: where threads look for a stop request besides allocations, TN_POLL_... added up;
     * `passes`: names, separated by commas, of passes that run in this order instead of all others; NULL: all of them run. */
    int polls;
    const char *passes;
    const struct tn_compile_observer *observer; /* NULL: nobody watches */
    const struct tn_cpu *native; /* what "native" and no `cpu` mean, as after tn_cpu_limit; NULL: tn_cpu_host's */
};

enum { TN_POLL_ENTRIES = 1, TN_POLL_LOOPS = 2 };

/* Times in ns. */
struct tn_compile_stats {
    size_t size; /* in: sizeof(struct tn_compile_stats) as the caller knows it */
    uint64_t parse_ns, optimize_ns, emit_ns;
    uint64_t functions, instructions; /* defined in the module, before optimisation */
    /* Managed code: calls at which a collection may happen, references and derived pointers live there, and what was put
     * in or left out. */
    uint64_t safepoints, live_references, live_derived, base_phis, stack_roots, pinned, barriers, barriers_skipped;
    uint64_t inline_allocations, polls;
    uint64_t free_ns; /* giving LLVM's memory back */
};

/* ---- watching a compilation ---- */

enum tn_phase { TN_PHASE_PARSE = 0, TN_PHASE_OPTIMIZE, TN_PHASE_EMIT };

/* What a module is at some point: IR text, assembly, an object. */
enum tn_stage { TN_STAGE_UNOPTIMIZED = 0, TN_STAGE_OPTIMIZED, TN_STAGE_ASSEMBLY, TN_STAGE_OBJECT };

/* A pass at work. */
struct tn_pass {
    size_t size;          /* of this struct */
    const char *name;     /* of LLVM's class, as in "InstCombinePass" */
    const char *function; /* NULL: it works on a whole module */
    uint64_t ns;          /* afterwards: how long it took */
    const void *unit;     /* for tn_pass_text */
};

struct tn_compiled {
    size_t size;           /* of this struct */
    const char *name;      /* as in the module */
    const char *signature; /* what the client said it is; NULL: nothing */
    int opt_level;
    uint64_t ns; /* how long its module took from IR to object */
};

/* Called on the thread that compiles. Any function may be NULL. */
struct tn_compile_observer {
    size_t size; /* sizeof(struct tn_compile_observer) */
    void *context;
    /* A phase has ended; times on CLOCK_MONOTONIC. */
    void (*phase)(void *context, const char *module, enum tn_phase phase, uint64_t begin_ns, uint64_t end_ns);
    /* An object was made that defines this function. */
    void (*compiled)(void *context, const struct tn_compiled *function);
    /* What the module looks like now; called for the stages whose bit (1 << TN_STAGE_...) is set in `stages`. */
    void (*stage)(void *context, const char *module, enum tn_stage stage, const void *bytes, size_t length);
    unsigned stages;
    /* A pass of the optimiser begins; if the answer is not 0, it and all later ones are left out. What always has to run,
     * as inlining what is marked so, runs all the same. */
    int (*before_pass)(void *context, const struct tn_pass *pass);
    void (*after_pass)(void *context, const struct tn_pass *pass);
};

struct tn_buffer;

/* The IR that the pass is about to see, or has left behind: text of its function or module. To be called while
 * `before_pass` or `after_pass` runs. TN_EINVAL (after a pass whose function is gone), TN_ENOMEM. */
TN_API int tn_pass_text(const struct tn_pass *pass, struct tn_buffer *out, struct tn_error *err);

/* ---- compiling ---- */

/* Bytes owned by the caller; free with tn_buffer_free. */
struct tn_buffer {
    void *data;
    size_t size;
};

/* Compiles IR text or bitcode of `length` bytes (borrowed for the call; need not be NUL-terminated). `name` appears in
 * diagnostics and as the object's file symbol. `options` and `stats` may be NULL; *out is empty after an error.
 * TN_EINVAL (options; unknown triple, CPU or feature), TN_ECOMPILE, TN_EFATAL, TN_ENOMEM. */
TN_API int tn_compile(const char *name, const void *ir, size_t length, const struct tn_compile_options *options,
                      struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err);

/* The names of the passes over managed code; ends with NULL; static. */
TN_API const char *const *tn_codegen_passes(void);

TN_API void tn_buffer_free(struct tn_buffer *buffer); /* NULL and an empty buffer are ignored */

TN_API const char *tn_codegen_llvm_version(void);   /* "22.1.8", static */
TN_API const char *tn_codegen_host_triple(void);    /* static */
TN_API const char *tn_codegen_host_cpu(void);       /* tn_cpu_host's name, static */
TN_API const char *const *tn_codegen_targets(void); /* built in: "X86", "AArch64" ...; ends with NULL; static */

/* Compilations whose memory was abandoned because LLVM gave up, since the process started. */
TN_API uint64_t tn_codegen_abandoned(void);

/* ---- the JIT ---- */

/* A session and the code generator put together. Modules of IR are added to libraries and compiled when something that they
 * define is looked up; lazily, each function when it is first called. Objects, archives, definitions, trackers and lookups
 * are those of tenon.h: what was made in any way sees the rest. Any thread may call any function; modules compile side by
 * side, each in an LLVMContext of its own. */

struct tn_jit;

struct tn_jit_options {
    size_t size; /* sizeof(struct tn_jit_options) */
    /* The session to use, which outlives the JIT; NULL: one of its own, with so many threads that compile (0: whoever needs
     * code compiles it) and this reporter of failures that nobody waits for. */
    struct tn_session *session;
    size_t threads;
    void (*on_error)(void *context, const struct tn_error *error);
    void *context;
    const struct tn_compile_options *compile; /* NULL: the defaults; what they point to outlives the JIT */
    int lazy;                                 /* not 0: function by function */
    void (*on_failure)(void); /* lazy: gets the calls of functions that cannot be compiled, see tn_stub_options */
    tn_resolver *resolver;    /* for the main library; tn_resolve_allowed is a filter; NULL: no host symbols */
    void *resolver_context;
    int keep_ir; /* not 0: for tn_jit_build_image, a copy of all IR is kept until the JIT ends */
};

/* `options` NULL: the defaults. TN_EINVAL (also: lazy without on_failure), and the errors of tn_session_create. */
TN_API int tn_jit_create(const struct tn_jit_options *options, struct tn_jit **out, struct tn_error *err);

/* Ends it, and its own session; in another's session what was compiled stays, and what was not is compiled when it is
 * needed. NULL is ignored. */
TN_API void tn_jit_destroy(struct tn_jit *jit);

TN_API struct tn_session *tn_jit_session(const struct tn_jit *jit);
TN_API struct tn_library *tn_jit_library(const struct tn_jit *jit); /* the main one */

/* A code instance that functions of a module are for. Names are as in the module; a local function has none. */
struct tn_jit_instance {
    struct tn_instance *instance;
    const char *invoke;      /* or NULL and, */
    void *invoke_address;    /* if it is code that the client has */
    const char *specialized; /* NULL: there is none */
    uint32_t flags;          /* TN_INSTANCE_SPECSIG or 0 */
    const char *signature;   /* for tn_compiled; NULL: none. Must stay valid until the module is compiled */
};

struct tn_jit_module {
    size_t size;      /* sizeof(struct tn_jit_module) */
    const char *name; /* for diagnostics; copied */
    const void *ir;   /* text or bitcode; borrowed for the call */
    size_t length;
    void *llvm_module; /* in the place of `ir`: an LLVMModuleRef of this program's LLVM; copied, and not changed */
    struct tn_tracker *owner;                /* NULL: the library */
    const struct tn_jit_instance *instances; /* published when linked; if that fails they fall back */
    size_t instance_count;
    int whole; /* not 0: compiled in one piece in a lazy JIT, too */
};

/* Adds a module to a library of the JIT's session (NULL: the main one). IR is read and verified now. Lazily, the address of
 * a function is that of its stub. A module with code instances begins to be compiled now, on the session's threads if it has
 * any. TN_EINVAL, TN_ECOMPILE, TN_EFATAL, TN_EDUP, TN_EREMOVED, TN_ENOMEM: nothing of it stays behind. */
TN_API int tn_jit_add_module(struct tn_jit *jit, struct tn_library *library, const struct tn_jit_module *module,
                             struct tn_error *err);

/* tn_lookup in the main library. Besides its errors, those of tn_compile. */
TN_API int tn_jit_lookup(struct tn_jit *jit, const char *name, void **address, struct tn_error *err);

/* Compiles and links the modules of a library (NULL: the main one) that have initializers, and runs these, see
 * tn_run_initializers. */
TN_API int tn_jit_run_initializers(struct tn_jit *jit, struct tn_library *library, int argc, char **argv, char **envp,
                                   struct tn_error *err);

struct tn_jit_stats {
    size_t size;                                      /* in: sizeof(struct tn_jit_stats) as the caller knows it */
    uint64_t modules;                                 /* added */
    uint64_t functions, taken;                        /* that may be compiled one by one; that were */
    uint64_t read_ns;                                 /* of adding modules: reading, verifying, taking apart */
    uint64_t extract_ns;                              /* of copying functions */
    uint64_t parse_ns, optimize_ns, emit_ns, free_ns; /* as in struct tn_compile_stats, summed over threads */
};

TN_API void tn_jit_stats(const struct tn_jit *jit, struct tn_jit_stats *stats);

/* ---- images ---- */

/* Compiles IR ahead of time, for several CPUs, to an archive that is linked into programs or shared libraries; tenon_image.h
 * is how they use it, doc/IMAGE.md describes it. */

struct tn_image_input {
    const char *name; /* for errors */
    const void *ir;   /* text or bitcode; borrowed for the call */
    size_t length;
};

/* What is written of each shard. Every output is an archive with a member for each. */
enum tn_image_output {
    TN_IMAGE_OBJECTS = 0, /* the image itself */
    TN_IMAGE_BITCODE,     /* optimised, */
    TN_IMAGE_UNOPTIMIZED, /* and before that */
    TN_IMAGE_ASSEMBLY,
    TN_IMAGE_OUTPUTS
};

/* A shard that another process has compiled. */
struct tn_image_shard {
    const char *name;  /* for errors */
    const void *bytes; /* borrowed for the call */
    size_t length;
};

/* Another image, without which this one is not opened: its name, and which build of it. */
struct tn_image_dependency {
    const char *name;
    unsigned char build_id[16]; /* as tn_image_build_id has it */
};

struct tn_image_progress {
    size_t size;           /* of this struct */
    uint64_t done, shards; /* so many of so many */
    /* The last one: its number, its weight (doc/IMAGE.md) and the time it took. Before the first all are 0. */
    uint64_t shard, weight, extract_ns, parse_ns, optimize_ns, emit_ns;
};

struct tn_image_options {
    size_t size;                 /* sizeof(struct tn_image_options) */
    const char *name;            /* the symbol by which programs know it; NULL: "tn_image" */
    const char *triple;          /* NULL: the first input's own, or the host's where it has none */
    const char *targets;         /* as tn_cpu_parse_targets takes it; NULL: "generic" */
    const struct tn_cpu *native; /* what "native" means there; NULL: this machine */
    const char *const *roots;    /* functions and variables to keep, with what they lead to; only these are public */
    size_t root_count;           /* 0: all that is public in the inputs is kept */
    int opt_level;               /* 0..3 */
    size_t threads;              /* that compile; 0: one. The outputs do not depend on it */
    uint64_t outputs;            /* 1 << TN_IMAGE_..., added up; 0: the objects */
    /* NULL: a root that is not defined, or local, is TN_EUNDEF. Else this is called with its index, and it is only if the
     * answer is not 0. */
    int (*unknown_root)(void *context, size_t index, int is_local);
    void *context;
    size_t
        shards; /* to divide the module into, 1024 at most; 0: what its size asks for. Never more than it can be divided into */
    const struct tn_image_shard *finished; /* what tn_image_build_shard wrote; the other shards are compiled */
    size_t finished_count;
    const struct tn_compile_observer *observer; /* NULL: nobody watches. Modules are called as members of the archive */
    /* NULL, or called with the context before the first shard is compiled and after each; one call at a time. */
    void (*progress)(void *context, const struct tn_image_progress *progress);
    const struct tn_image_dependency *dependencies;
    size_t dependency_count;
};

struct tn_image_stats {
    size_t size; /* in: sizeof(struct tn_image_stats) as the caller knows it */
    uint64_t functions, versions, slots, shards;
    uint64_t prepare_ns, compile_ns, write_ns; /* one after the other: joining and dividing, all shards, archives */
};

/* Builds an image. Several inputs are linked into one module first. `out` has TN_IMAGE_OUTPUTS buffers, to be freed with
 * tn_buffer_free; all are empty after an error, and those that were not asked for always. `options` and `stats` may be NULL.
 * TN_EINVAL (options; the target string; unknown triple or name; a shard of another build), TN_EFORMAT (a damaged shard),
 * TN_EUNDEF (a root, or all of them), TN_EDUP (the input defines a symbol with the image's name), TN_ECOMPILE, TN_EFATAL, TN_ENOTSUP (managed code for several targets), TN_ENOMEM. */
TN_API int tn_image_build(const struct tn_image_input *inputs, size_t count, const struct tn_image_options *options,
                          struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err);

/* The same by many processes, on as many machines: each compiles shards, by number, and one puts them together, with
 * tn_image_build and all of them in options->finished; all of them from the same input, with the same options, those that a
 * program sets of LLVM too. The image is the same then, byte by byte, as of one process. */

/* Answers how many shards there are. Errors as tn_image_build. */
TN_API int tn_image_count_shards(const struct tn_image_input *inputs, size_t count,
                                 const struct tn_image_options *options, size_t *shards, struct tn_error *err);

/* Compiles one shard. `out` is for options->finished of the same version of this library, to be freed with tn_buffer_free.
 * TN_EINVAL also: there is no such shard. */
TN_API int tn_image_build_shard(const struct tn_image_input *inputs, size_t count,
                                const struct tn_image_options *options, size_t shard, struct tn_buffer *out,
                                struct tn_image_stats *stats, struct tn_error *err);

/* Links images to files of their own, without a linker of the system. */

enum tn_image_file {
    TN_IMAGE_SHARED = 0, /* a shared library, for dlopen and tn_image_open */
    TN_IMAGE_LOADABLE,   /* for tn_image_open only, with less to load: its functions are in the image's own tables */
    TN_IMAGE_PROGRAM,    /* a static executable: a stub, with the image behind it, of which it calls `main` */
};

struct tn_image_link_options {
    size_t size;      /* sizeof(struct tn_image_link_options) */
    const char *name; /* of the file, for errors; a shared library's DT_SONAME. NULL: none */
    enum tn_image_file kind;
    uint64_t page_size; /* the largest pages that it is to be loaded with; 0: 4096 */
    const void *stub;   /* of a program: see doc/IMAGE.md, "Executables"; borrowed for the call */
    size_t stub_length;
    const char *image; /* of a program: the symbol of the image that it opens; NULL: "tn_image" */
};

/* Links what tn_image_build wrote, and other objects and archives (all of their members), to one file. What nothing in them
 * defines is looked for where it is loaded, or taken from the stub; definitions of its own are always its own. Equal inputs
 * give equal bytes.
 * `out` is to be freed with tn_buffer_free. `options` may be NULL. x86-64 only.
 * TN_EINVAL, TN_EFORMAT, TN_EDUP, TN_EUNDEF (hidden or thread-local symbols; what a stub does not
 * have, all of it), TN_ERANGE (not position-independent; the text names section, offset and symbol), TN_ENOTSUP (indirect functions, TLS descriptors), TN_EIO (no memory file), TN_ENOMEM. */
TN_API int tn_image_link(const struct tn_input *inputs, size_t count, const struct tn_image_link_options *options,
                         struct tn_buffer *out, struct tn_error *err);

/* Builds an image of the modules that were added to a library of the JIT (NULL: the main one), which was created with keep_ir;
 * `options->roots` are the functions to have in it. Of several definitions of a name, of modules that were removed and replaced,
 * the last one counts. Variables have their first values in it, not those that they have now. Any thread may call it, and go on
 * adding. Else as tn_image_build; TN_EINVAL also: nothing was added. */
TN_API int tn_jit_build_image(struct tn_jit *jit, struct tn_library *library, const struct tn_image_options *options,
                              struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err);

/* ---- source lines ---- */

/* Keeps the debug information of what is linked from now on, for tn_symbolize_source: a copy of it, and once it was asked
 * for what LLVM makes of it. TN_EINVAL, TN_ENOMEM; links may fail with TN_ENOMEM too. */
TN_API int tn_observe_sources(struct tn_session *session, struct tn_error *err);

/* What is unknown is NULL or 0. */
struct tn_source {
    const char *function; /* C++ names are mangled */
    const char *file;     /* with its folder, where the compiler noted that */
    uint32_t line, column;
};

/* Calls `frame` for the place in the source that the code at `address` comes from: first for the innermost function that was
 * inlined there, last for the function that it was inlined into. For a return address ask for the byte before it. The
 * strings live during the call, which must not link, remove or ask itself. session NULL: in any session.
 * TN_EUNDEF (no debug information was kept for this address), TN_ENOMEM, TN_EFATAL. */
TN_API int tn_symbolize_source(const struct tn_session *session, const void *address,
                               void (*frame)(void *context, const struct tn_source *source), void *context,
                               struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
