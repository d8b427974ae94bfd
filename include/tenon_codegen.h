/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The code generator: LLVM IR to relocatable objects, through LLVM's targets and machine-code layer only.
 *
 * Threads: every call has its own LLVMContext, so calls may run in parallel on different threads. Nothing is printed.
 * Errors: LLVM's diagnostics are returned as TN_ECOMPILE, one per line, with file:line:column where LLVM knows them.
 * Failures for which LLVM would end the process are returned as TN_EFATAL, and the memory of that compilation is
 * abandoned (tn_codegen_abandoned counts them). To do this, the first call takes over LLVM's process-wide fatal-error
 * and out-of-memory handlers; on threads that are not inside tn_compile they do nothing. Trust: LLVM's readers are not
 * hardened. Compile IR from untrusted sources in a separate process. */

#ifndef TENON_CODEGEN_H
#define TENON_CODEGEN_H

#include <string.h>

#include "tenon_image.h"
#include "tenon_jit.h"
#include "tenon_remote.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The IR, as text, of the pass's function or module, before or after the pass. Only valid inside `before_pass` and
 * `after_pass`.
 * TN_EINVAL (the function is gone after the pass), TN_ENOMEM. */
TN_API int tn_pass_text(const struct tn_pass *pass, struct tn_buffer *out, struct tn_error *err);

/* ---- compiling ---- */

/* Compiles `length` bytes of IR text or bitcode (borrowed for the call; need not be NUL-terminated). `name` (NULL:
 * "<memory>") appears in diagnostics and as the object's file symbol. `options` and `stats` may be NULL; *out is empty
 * after an error. TN_EINVAL (options; unknown triple, CPU or feature), TN_ECOMPILE, TN_EFATAL, TN_ENOMEM. */
TN_API int tn_compile(const char *name, const void *ir, size_t length, const struct tn_compile_options *options,
                      struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err);

/* The names that pipelines consist of: all stages ("tenon"), each stage, the passes for managed code, those of LLVM.
 * NULL-terminated; static. */
TN_API const char *const *tn_codegen_passes(void);

TN_API const char *tn_codegen_llvm_version(void);   /* "22.1.8", static */
TN_API const char *tn_codegen_host_triple(void);    /* static */
TN_API const char *tn_codegen_host_cpu(void);       /* tn_cpu_host's name, static */
TN_API const char *const *tn_codegen_targets(void); /* built in: "X86", "AArch64" ...; NULL-terminated; static */

/* For tn_session_options.decompress: zlib and zstd. */
TN_API int tn_codegen_decompress(uint32_t method, void *out, uint64_t size, const void *packed, uint64_t packed_size);

/* The number of compilations in this process whose memory was abandoned because LLVM gave up. */
TN_API uint64_t tn_codegen_abandoned(void);

/* Sets options of LLVM, "-name=value -name", for the whole process. Programs that let users do this pass
 * getenv("TENON_LLVM_ARGS"), as the command does; no other function reads this variable. Does nothing for NULL or "".
 * An option that LLVM does not have, or that has no effect here, is left out, and `ignored` (may be NULL) is called
 * with the reason, a text of its own. To be called before anything is compiled, by one thread. What was compiled with
 * other options is not found in caches. TN_EINVAL (it is too late; an option does not take this value, about which LLVM
 * may print a line, and those before it are set), TN_ENOMEM. */
TN_API int tn_codegen_llvm_options(const char *text, void (*ignored)(void *context, const char *reason), void *context,
                                   struct tn_error *err);

/* LLVM in this process; static. It cannot identify itself (TN_ENOTSUP) where the program has set an option of LLVM's
 * command line by other means than tn_codegen_llvm_options. */
TN_API const struct tn_compiler *tn_codegen_compiler(void);

/* tn_serve_compiler, with LLVM in this process, for clients in other processes (tenon_remote.h). */
TN_API int tn_compile_serve(const struct tn_serve_options *options, struct tn_error *err);

/* ---- the JIT (tenon_jit.h) ---- */

/* tn_jit_create, with LLVM in this process if the options name no compiler. */
static inline int tn_codegen_create_jit(const struct tn_jit_options *options, struct tn_jit **out, struct tn_error *err)
{
    struct tn_jit_options taken;
    size_t given = options ? options->size : sizeof taken;
    if (given < sizeof given || given % sizeof given || given > sizeof taken)
        return tn_jit_create(options, out, err);
    memset(&taken, 0, sizeof taken);
    if (options)
        memcpy(&taken, options, given);
    taken.size = sizeof taken;
    taken.compiler = taken.compiler ? taken.compiler : tn_codegen_compiler();
    return tn_jit_create(&taken, out, err);
}
#define tn_jit_create tn_codegen_create_jit

struct tn_jit_view_options {
    size_t size;       /* sizeof(struct tn_jit_view_options) */
    enum tn_emit emit; /* object, assembly, IR as text or bitcode */
    int unoptimized;   /* not 0: as it is before the optimisation */
    int no_names;      /* not 0: without the names of arguments, blocks and instructions */
    int no_debug_info; /* not 0: without debug information */
};

/* Shows one function as the JIT compiles it: compiles it once more, into *out, which has only this function and what it
 * uses; free it with tn_buffer_free. The function is that of the module which was added last to the library (NULL: the
 * main library) of those that define it. Local functions have their names too. In a lazy JIT, other functions are
 * called as there, through stubs, and the function may have a suffix to its name. The JIT has to keep IR
 * (tn_jit_options.keep_ir); its observer is not called, its hook is. `options` may be NULL. TN_EINVAL (options; no IR
 * is kept), TN_EUNDEF (no module defines it), and the errors of tn_compile. */
TN_API int tn_jit_view(struct tn_jit *jit, struct tn_library *library, const char *function,
                       const struct tn_jit_view_options *options, struct tn_buffer *out, struct tn_error *err);

/* ---- images ---- */

/* Compiles IR ahead of time, for several CPUs, to an archive that is linked into programs or shared libraries. They use
 * it through tenon_image.h; doc/IMAGE.md describes images. */

struct tn_image_input {
    const char *name; /* for errors */
    const void *ir;   /* text or bitcode; borrowed for the call, unless it `stays` */
    size_t length;
};

/* What to write for each shard. Every output is an archive with one member per shard. */
enum tn_image_output {
    TN_IMAGE_OBJECTS = 0, /* the image itself */
    TN_IMAGE_BITCODE,     /* optimised */
    TN_IMAGE_UNOPTIMIZED, /* before optimisation */
    TN_IMAGE_ASSEMBLY,
    TN_IMAGE_OUTPUTS
};

/* A shard compiled by another process. */
struct tn_image_shard {
    const char *name;  /* for errors */
    const void *bytes; /* borrowed for the call */
    size_t length;
};

/* Another image that this one requires. With its header and tables, what is used of it is recorded, and every build of
 * that name satisfies the dependency that has the same (doc/PACKAGES.md); otherwise only the exact build does. */
struct tn_image_dependency {
    const char *name;
    unsigned char build_id[16]; /* as from tn_image_build_id */
    const void *header;         /* the bytes that its symbol names; NULL: unknown. Borrowed for the call */
    size_t header_size;         /* how many bytes there are, at least those of header and tables */
};

struct tn_save; /* tenon_save.h */

/* A symbol of the input that is a type or an object of an image with saved objects. Code loads its address from a word
 * that is filled when the image is opened. */
struct tn_image_value {
    const char *symbol; /* a variable that the input declares or defines; if it does not, the row is not used */
    const char *name;   /* of the type or root */
    uint32_t of;        /* enum tn_image_value_of */
};

struct tn_image_progress {
    size_t size;           /* of this struct */
    uint64_t done, shards; /* shards compiled so far, of all */
    /* The shard compiled last: its number, its weight (doc/IMAGE.md) and its times. All 0 before the first. */
    uint64_t shard, weight, extract_ns, parse_ns, optimize_ns, emit_ns;
};

struct tn_image_options {
    size_t size;                 /* sizeof(struct tn_image_options) */
    const char *name;            /* the image's symbol in programs; NULL: "tn_image" */
    const char *triple;          /* NULL: the first input's own, or the host's where it has none */
    const char *targets;         /* as for tn_cpu_parse_targets; NULL: "generic" */
    const struct tn_cpu *native; /* what "native" means in `targets`; NULL: what it means to the JIT, or this machine */
    const char *const *roots;    /* functions and variables to keep, with all they refer to; only these are public */
    size_t root_count;           /* 0: keep everything public in the inputs */
    int opt_level;               /* 0..3 */
    size_t threads;              /* threads that compile; 0: one. The outputs do not depend on it */
    uint64_t outputs;            /* a sum of 1 << TN_IMAGE_...; 0: the objects */
    /* Called with the index of a root that is undefined or local; TN_EUNDEF if the result is not 0. NULL: always
     * TN_EUNDEF. */
    int (*unknown_root)(void *context, size_t index, int is_local);
    void *context;
    /* The number of shards to divide the module into, at most 1024; 0: chosen by its size. A module that cannot be
     * divided so far has fewer. */
    size_t shards;
    const struct tn_image_shard *finished; /* from tn_image_build_shard; all other shards are compiled here */
    size_t finished_count;
    const struct tn_compile_observer *observer; /* NULL: none. Modules are named like members of the archive */
    /* Called before the first shard is compiled and after each one, one call at a time. May be NULL. */
    void (*progress)(void *context, const struct tn_image_progress *progress);
    const struct tn_image_dependency *dependencies;
    size_t dependency_count;
    const char *image_targets; /* what "sysimage" means in `targets`: the targets of another image; NULL: nothing */
    /* Called, before anything is compiled, with each name that what is kept of the inputs uses and does not define,
     * unless it may stay undefined, or their assembly names it. Optimisation may remove the last use of some. NULL: not
     * called. */
    void (*undefined)(void *context, const char *name);
    int assembly_files; /* as in struct tn_compile_options */
    /* They are those of the image's own objects, or of the first of `dependencies` that has the name. Initial values
     * cannot refer to them: TN_ENOTSUP. */
    const struct tn_image_value *values;
    size_t value_count;
    /* Saved objects for the image to have: a save whose objects were taken (tenon_save.h), or else a file that
     * tn_save_write has written. Borrowed for the call. NULL: none. The images that they were saved on top of come
     * first among the dependencies. */
    const struct tn_save *save;
    const void *objects;
    size_t objects_length;
    /* Public functions that may be redirected while the image is open (tn_image_redirect): all of them, or these, which
     * are roots too if there are roots. Their calls cost a load and a jump more; they are not inlined, and nothing is
     * concluded from their bodies (doc/IMAGE.md, "Replaceable functions"). */
    int all_replaceable;
    const char *const *replaceable;
    size_t replaceable_count;
    /* Nothing that is linked with the image has copies of what the inputs define, as of an inline variable of C++: all
     * initializers run in the order of the inputs. Without this, those of data in COMDAT groups run after the others,
     * so that a linker can leave them out with their copy. */
    uint64_t has_only_copies;
    /* The inputs that `dependencies` were built from, as IR, of which functions may have copies: bodies of public
     * functions and values of public constants. A function with such copies is reached through a cell, as replaceable
     * ones are, and nothing else of the image depends on them. When a dependency is rebuilt with another body or value,
     * it is stale (doc/PACKAGES.md, "Copies of bodies and constants"). Borrowed for the call. */
    const struct tn_image_input *used;
    size_t used_count;
    /* Not 0: the IR of functions with such copies becomes part of the image, for programs with a compiler to compile
     * them again when they are stale (tn_image_load_options.compiler). It is not loaded, nor mapped. */
    int keep_ir;
    /* As many as roots, or NULL. A root with a signature is the public function whose attribute "tenon.signature" has
     * this value, whatever its name is; if there is none, that of the root's name. NULL: by its name only. */
    const char *const *root_signatures;
};

struct tn_image_stats {
    size_t size; /* in: sizeof(struct tn_image_stats) as the caller knows it */
    uint64_t functions, versions, slots, shards;
    uint64_t prepare_ns, compile_ns, write_ns; /* consecutive: linking and dividing, all shards, archives */
};

/* Builds an image. Several inputs are first linked into one module. `out` has TN_IMAGE_OUTPUTS buffers, to be freed
 * with tn_buffer_free; those not requested are empty, and all are after an error. `options` and `stats` may be NULL.
 * TN_EINVAL (options; the target string; unknown triple or name; a shard of another build), TN_EFORMAT (a damaged
 * shard), TN_EUNDEF (a root, or all of them; a replaceable function), TN_EDUP (the input defines a symbol with the
 * image's name), TN_ENOTSUP (the input defines a type descriptor that is laid out in another way than the saved
 * objects' type of its name, which the text compares), TN_ESTALE (the input was compiled with other types, sizes or
 * facts than a dependency has; a dependency was built from other bodies or constants than `used` has), TN_ECYCLE (a
 * dependency depends on an image of this name), TN_ECOMPILE, TN_EFATAL, TN_ENOMEM. */
TN_API int tn_image_build(const struct tn_image_input *inputs, size_t count, const struct tn_image_options *options,
                          struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err);

/* Distributed builds, over several processes or machines: each compiles some shards by number, and one then assembles
 * the image by tn_image_build with all of these in options->finished. If all use the same input and the same options,
 * including those that a program sets in LLVM itself, the image is byte for byte that of a build in one process. */

/* Sets *shards to the number of shards. Errors as for tn_image_build. */
TN_API int tn_image_count_shards(const struct tn_image_input *inputs, size_t count,
                                 const struct tn_image_options *options, size_t *shards, struct tn_error *err);

/* Compiles one shard into *out, for options->finished of the same version of this library; free it with tn_buffer_free.
 * Errors as for tn_image_build; TN_EINVAL also: there is no such shard. */
TN_API int tn_image_build_shard(const struct tn_image_input *inputs, size_t count,
                                const struct tn_image_options *options, size_t shard, struct tn_buffer *out,
                                struct tn_image_stats *stats, struct tn_error *err);

/* Builds an image of the modules added to a library (NULL: the main library) of a JIT that was created with keep_ir;
 * options->roots name the functions to include. If modules were replaced, the last definition of a name counts.
 * Variables get their initial, not their current values. Threads may add modules meanwhile. Otherwise as
 * tn_image_build; TN_EINVAL also: nothing was added. */
TN_API int tn_jit_build_image(struct tn_jit *jit, struct tn_library *library, const struct tn_image_options *options,
                              struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err);

/* ---- source lines ---- */

/* Keeps a copy of the debug information of everything linked from now on, for tn_symbolize_source, and, once that is
 * used, what LLVM has parsed of it. TN_EINVAL, TN_ENOTSUP (memory of another process), TN_ENOMEM, with which links may
 * fail too. */
TN_API int tn_observe_sources(struct tn_session *session, struct tn_error *err);

/* Unknown members are NULL or 0. */
struct tn_source {
    const char *function; /* C++ names are mangled */
    const char *file;     /* with its directory if the compiler recorded it */
    uint32_t line, column;
};

/* Calls `frame` for each source location of the code at `address`, from the innermost inlined function out to the
 * function that contains the code. For a return address, pass the address minus 1. The strings are valid during the
 * call of `frame`, which must not link, remove, or call this function. session NULL: searches all sessions. TN_EUNDEF
 * (no debug information was kept for this address), TN_ENOMEM, TN_EFATAL. */
TN_API int tn_symbolize_source(const struct tn_session *session, const void *address,
                               void (*frame)(void *context, const struct tn_source *source), void *context,
                               struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
