/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The `tenon` command. Commands and options are rows of tables (cmd/main.c, options.c); each
 * command is a file of cmd, or a few. */

#ifndef TENON_TOOL_H
#define TENON_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include "tenon_codegen.h"

/* The formats of objects that the tool takes, up to NULL: to link, and to look at (formats.c). */
extern const struct tn_format *const tool_formats[], *const tool_seen_formats[];
struct settings;
/* Those of them that the session of a command reads, see tool_program_create. NULL: an error was reported. */
const struct tn_format *const *tool_formats_for(const struct settings *settings);
/* The same with shared libraries, which can be opened in this process only. */
const struct tn_format *const *tool_formats_to_run(const struct settings *settings);
/* False if the objects are for another machine, where no function of this process can be called. */
bool tool_is_for_host(const struct settings *settings);
/* The same for the first object in these bytes, which may be those of an archive. */
const struct tn_format *const *tool_formats_in(const void *bytes, size_t size);
/* The character that names of C begin with in the files that are given; 0: none. */
char tool_c_prefix(const struct settings *settings);

enum { STATUS_OK = 0, STATUS_FAILURE = 1, STATUS_USAGE = 2 };

/* ---- options (options.c) ---- */

/* The values of the options; each row of the option table names its member. */
struct settings {
    const char *program; /* argv[0] */
    const char *cpu, *features, *triple, *output, *entry;
    const char *map, *only, *table;
    int libc; /* of export-table */
    const char *targets;
    const char *image_name, *shards, *shard, *ninja, *stubs, *objects, *report;
    int kind;
    int opt_level, emit, reloc_model, code_model; /* indices of the row's choices */
    const char *slab_address, *slab_size, *slab_page_size, *dump;
    int intel, lines, linked; /* flags of disasm */
    int verify_sums;          /* of inspect */
    int gdb, perf;            /* perf: TN_PERF_... + 1; 0: none */
    const char *perf_folder;
    int thin_anywhere;
    const char *trace_compile, *trace_optimize, *remarks, *dump_stages, *dump_folder, *time_trace, *time_granularity;
    const char *print_before, *print_after, *stop_before, *function;
    int time_passes, lazy, tiers, timings;
    int ahead; /* what is compiled ahead: AHEAD_..., in the order of options.c */
    const char *profile;
    const char *threads, *cache, *orders, *limit, *base, *base_salt, *runtime;
    int compile, isolate; /* compile: a flag of serve */
    const char *deadline, *memory, *workers;
    const char *passes;
    int polls, weak;
    int no_debug_info, no_baseline, keeps_ir, allows_path;
    int function_sections, assembly_files, baseline, stats, json, help, noexec, phony, no_host, strip; /* flags */
    struct item {
        const char *option; /* its name; NULL: a file */
        const char *value;
    } * items; /* options that may be repeated, and files, in the order given */
    int item_count;
    char **files; /* a part of argv, compacted */
    int file_count;
    char **arguments; /* what follows "--" */
    int argument_count;
};

enum { AHEAD_NONE, AHEAD_CALLS, AHEAD_ORDER, AHEAD_ALL };

/* Commands that an option belongs to. */
enum {
    FOR_RUN = 1,
    FOR_COMPILE = 2,
    FOR_INSPECT = 4,
    FOR_EXPORT_TABLE = 8,
    FOR_LINK = 16,
    FOR_RELOCS = 32,
    FOR_OPT = 64,
    FOR_VERIFY = 128,
    FOR_DISASM = 256,
    FOR_CPU = 512,
    FOR_BUILD = 1024,
    FOR_CACHE = 2048,
    FOR_IMAGE = 4096,
    FOR_SERVE = 8192,
    FOR_COMPLETION = 16384,
    FOR_ALL = 32767
};

struct command {
    const char *name, *arguments, *summary, *details;
    unsigned mask;
    bool needs_file;
    int (*run)(struct settings *settings);
    const char *actions; /* what its first argument may be, separated by '|'; NULL: a file */
};

/* The commands, in the order of the help; NULL after the last one (cmd/main.c). */
const struct command *tool_command_at(size_t index);
/* The names of what is none of these, such as "help"; NULL after the last one. */
const char *tool_builtin_at(size_t index, const char **summary);

/* With choices the member is an int and gets the index of the word; with another argument it is a text; else it is an
 * int that becomes 1. Arguments may be attached ("-O2", "--emit=asm") or follow ("-O 2", "--emit asm"). An argument in
 * brackets is attached, or is "*". */
struct option {
    unsigned commands;
    const char *name, *alias;
    const char *argument; /* NULL: a flag */
    const char *choices;  /* words separated by '|', or NULL */
    size_t member;
    const char *help;
};

/* The options of all commands; NULL after the last one. */
const struct option *tool_option_at(size_t index);
/* True for one whose argument is in brackets. */
bool tool_is_optional(const struct option *option);

/* Fills *settings from the arguments after the command's name, reordering argv. False: a mistake was reported. */
bool tool_parse(const struct command *command, int argc, char **argv, struct settings *settings);

/* ---- words that the command does not know (nearest.c) ---- */

/* The most similar one of the candidates that were considered. */
struct nearest {
    const char *word;
    size_t length;     /* of the word */
    const char *found; /* NULL: none is similar */
    size_t distance;   /* of it */
};
void tool_consider(struct nearest *nearest, const char *candidate);
/* Reports that there is no such option or command (`kind`), what it may have been, and that 'tenon help TOPIC' lists
 * them; TOPIC may be empty. Returns STATUS_USAGE. */
int tool_unknown(const char *kind, const struct nearest *nearest, const char *topic);

/* Reads a decimal number from `first` to `last`, and nothing else. */
bool tool_parse_number(const char *text, size_t first, size_t last, size_t *number);
/* The same for an option's value; an option that is not given (NULL) leaves *number as it is. False: an error was
 * reported. */
bool tool_take_number(const char *option, const char *text, size_t first, size_t last, size_t *number);
/* Reads a number of 64 bits, decimal or after 0x hexadecimal, which may end in K, M or G. False: an error was
 * reported. */
bool tool_number(const char *option, const char *text, uint64_t *number);

/* True if the item is an option of this name; if there is such an item. */
bool tool_is_item(const struct item *item, const char *option);
bool tool_has_item(const struct settings *settings, const char *option);

/* Prints a line for each option of the command. */
void tool_print_options(const struct command *command, FILE *out);

/* Visits the options of a command: flags that are set, with an empty value, and all options with a value, be it the
 * default. False as soon as `visit` returns that. */
typedef bool tool_visit_option(void *context, const char *name, const char *value);
bool tool_each_option(unsigned command, const struct settings *settings, tool_visit_option *visit, void *context);

/* ---- messages (message.c) ---- */

/* The command that messages begin with; borrowed. */
void tool_name_command(const char *name);

/* Prints "tenon COMMAND: text" to stderr; returns `status`. */
int tool_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same text with names of C++ and Rust as their sources spell them, each followed by the symbol; the caller frees
 * it. NULL: there are none, or memory is out. (names.c) */
char *tool_spell_names(const char *text);
/* From now on, control characters other than line breaks and tabs are question marks on standard output. For commands
 * that print names from files, and run no programs. */
void tool_quote_output(void);

/* ---- files (file.c) ---- */

enum file_kind { FILE_IR, FILE_OBJECT, FILE_ARCHIVE, FILE_SHARD /* of an image */, FILE_FLAT };

struct file {
    const char *name; /* as given; "<stdin>" for "-" */
    const void *bytes;
    size_t size;
    enum file_kind kind; /* by its first bytes, never by its name */
    bool is_text;        /* taken for IR text, if only because it is nothing else */
    bool is_mapped;
};

/* Reads FILE or, for "-", standard input, and tells its kind, which it must have. False: an error was reported. */
bool tool_read(const char *name, struct file *file);
/* The same for logs and link maps, whatever is in them: without a kind. */
bool tool_read_any(const char *name, struct file *file);
void tool_release(struct file *file);

/* The kind with its article, as in "an archive". */
const char *tool_kind_name(const struct file *file);

/* True if both names are those of one file, which exists. */
bool tool_is_same_file(const char *name, const char *other);

/* Writes a file under a temporary name and renames it, so that no reader ever sees a part of it; "-" is standard
 * output. */
bool tool_write(const char *name, const void *bytes, size_t size);
/* The same for a file that may be executed. */
bool tool_write_program(const char *name, const void *bytes, size_t size);
/* Occupies descriptors 0, 1 and 2 where they are closed: a file that is opened later would be taken for standard
 * output. Reading and writing them still fails. */
void tool_keep_standard_descriptors(void);
/* Writes what is left of standard output; returns `status`, or that of an error if some of the output is lost. */
int tool_finish_output(int status);
/* While this is on, exceeding the limit on file sizes (RLIMIT_FSIZE) is an error of the write and does not end the
 * process. */
void tool_outlive_limit(bool on);

/* ---- host symbols (generated by tools/build/gen-host-symbols) ---- */

extern const struct tn_symbol_table tn__host_symbols __attribute__((visibility("hidden")));

/* ---- name services (program.c) ---- */

/* From now on getpwnam(), getaddrinfo() and their like never load a shared object. */
void tool_use_built_in_name_services(void);

/* ---- watching (watch.c) ---- */

/* Prepares the observer of compilations that the options ask for, and sets LLVM's options from TENON_LLVM_ARGS. False:
 * an error was reported. */
bool tool_watch(const struct settings *settings);
/* The same for images: no traces, passes or dumps. */
bool tool_watch_image(const struct settings *settings);
const struct tn_compile_observer *tool_watch_observer(void);

/* ---- resources (resources.c) ---- */

/* As many as there are cores to run on, and memory for; at least 1. */
size_t tool_default_threads(void);

/* ---- this machine (host.c) ---- */

/* The CPU, limited by TENON_CPU. NULL: what is wrong with that was reported. */
const struct tn_cpu *tool_host(void);

/* Whether code for --cpu and --features can run here. False: an error was reported. */
bool tool_check_cpu(const struct settings *settings);

/* ---- compiling (compile.c) ---- */

/* The compile options that the settings ask for. False: an error was reported. */
bool tool_compile_options(const struct settings *settings, struct tn_compile_options *options);
/* If the file's name is that of source, says how to compile it; else returns false. */
bool tool_explain_source(const struct file *file);
/* Reports an error of compiling these files. If one of them was only guessed to be IR, explains that. Returns
 * STATUS_FAILURE. */
int tool_fail_ir(const struct file *files, size_t count, int code, const struct tn_error *error);

/* Compiles the IR, or flat file, in *file as the settings say; sums times up in *stats. False: an error was reported.
 */
struct tn__view; /* codegen/compile/view.h */
bool tool_compile(const struct file *file, const struct settings *settings, struct tn__view *view,
                  struct tn_buffer *out, struct tn_compile_stats *stats);

/* ---- flat files (flat.c) ---- */

/* Compiles IR by LLVM, and flat files by the baseline compiler. */
const struct tn_compiler *tool_compiler(void);
/* Compiles a flat file to an object. As tn_compile. */
int tool_compile_flat(const struct file *file, const struct tn_compile_options *options, struct tn_buffer *out,
                      struct tn_compile_stats *stats, struct tn_error *err);
/* Prints it. False: an error was reported. */
bool tool_show_flat(const struct file *file);

/* ---- compiling in other processes (isolate.c) ---- */

struct tn_serve_options;
/* Serves what this command compiles with. As tn_serve_compiler. */
int tool_serve(const struct tn_serve_options *options, struct tn_error *err);
/* Before there are other threads: starts a server, if the settings say so. False: an error was reported. */
bool tool_isolate(const struct settings *settings);
void tool_end_isolation(void);
const struct tn_compiler *tool_isolated(void); /* NULL: there is none */

/* ---- observing (observe.c) ---- */

/* Shows what the session links to debuggers and profilers, as the settings say. False: an error was reported. */
bool tool_observe(struct tn_session *session, const struct settings *settings);

/* ---- source lines (lines.c) ---- */

/* Keeps the line tables of everything linked from now on. TN_ENOMEM, with which links may fail too. */
int tool_keep_lines(struct tn_session *session, struct tn_error *err);
/* Gives the line that the instruction at this address is from. False: not known. Nothing may be linked meanwhile. */
bool tool_find_line(uint64_t address, char *path, size_t size, uint32_t *number);

/* ---- crashes (crash.c) ---- */

/* Before anything is linked: installs handlers for the signals that end a program which fails. False: an error was
 * reported. */
bool tool_watch_crashes(struct tn_session *session);
/* Gives the calling thread a stack for them, so that they report a full one, if there is memory for it. */
void tool_watch_thread(void);
/* From now on the program runs, and they report what led there on behalf of this command. */
void tool_report_crashes(const char *command);
/* What the program gets for a function of libc that would show it these handlers; NULL: it is not one of these. */
void *tool_crash_function(const char *name);

/* ---- managed code (managed.c) ---- */

/* Lets managed code be linked into the library: a heap is created as soon as it needs one. False: an error was
 * reported. */
bool tool_provide_heap(struct tn_session *session, struct tn_library *library);

/* ---- statistics (stats.c) ---- */

struct run_stats {
    const char *command;
    struct tn_compile_stats compile;
    uint64_t files, ir_files;
    uint64_t session_ns, link_ns, run_ns, run_start; /* link_ns: wall clock of adding, linking and looking up */
    uint64_t object_bytes;                           /* given to the linker */
    int opt_level;
};

void tool_print_stats(const struct run_stats *stats, struct tn_session *session, FILE *out);
void tool_print_compile_times(FILE *out, const struct run_stats *stats); /* what of it is about compiling */

/* ---- the program that is linked and called (program.c) ---- */

struct tn__detached;

/* One in a process, because what atexit calls takes no argument. What goes wrong below is reported. */
extern struct program {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_jit *jit;        /* NULL unless IR is compiled when it is needed */
    struct tn_compiler *cache; /* NULL: none */
    struct run_stats stats;
} tool_program;

/* A session with an empty library, which may see the host's symbols; `where` NULL: in this process. `threads` may
 * compile. It reads all formats of one architecture: this process's or, with --noexec, that of the first object. */
bool tool_program_create(const struct settings *settings, struct tn__detached *where, bool with_host, size_t threads);
/* With --profile: from now on functions are watched; at exit they are listed. False after a message. */
bool tool_profile_start(const struct settings *settings);
/* The first of two tiers. doc/FIGURES.md has others beside these counts. */
extern const struct tn_tier tool_first_tier;

/* From now on IR that is added is compiled when it is needed; `lazy`: function by function. */
bool tool_program_use_jit(const struct settings *settings);
/* Adds an object, an archive or, compiled, IR; `flags` as in struct tn_input. */
/* A resolver for the functions of this process. Programs of objects for Windows alone find none: they would pass
 * arguments in other registers. */
void *tool_resolve_host(void *unused, const char *name);
bool tool_program_add(const char *name, const struct settings *settings, uint64_t flags);
/* Links all that was added, or what the roots lead to (NULL: all), and, unless `entry` is NULL, looks that up. */
bool tool_program_link(const char *entry, const char *const *roots, size_t root_count, void **address);
/* Runs the initializers, calls main(argc, argv, envp) and returns its result. Finalizers and statistics are left to
 * exit(). */
int tool_program_call(const struct settings *settings, void *entry);

/* From now on, what is added may call dlopen (dl.c). The settings stay in place. False after a message. */
bool tool_offer_dl(const struct settings *settings);

/* Images behind dlopen (dl_images.c). True for a file that has one; the second function lets a library that is being
 * loaded have its functions. TN_ENOMEM, errors of tn_image_open. */
bool tool_has_image(const struct file *file);
int tool_add_image(struct tn_library *library, const char *path, struct tn_error *err);

/* ---- its thread-local variables (thread_data.c) ---- */

/* Before anything is linked: from now on every new thread has space for thread-local variables of the program. False:
 * reported. */
bool tool_thread_data_start(void);
/* From now on the program runs: when it creates its first thread, the space becomes what the program uses then. */
void tool_thread_data_run(void);

/* ---- images (images.c) ---- */

struct tn__image_view;
struct tn__arena;

/* Finds the next sound image in the bytes of a file, of whatever kind, from *place on, which it moves behind it; its
 * tables lie there, its targets in the arena. What is wrong with the last one that is not sound is in *err; its text is
 * empty if nothing looks like one. */
bool tool_next_image(const struct file *file, size_t *place, struct tn__arena *arena, struct tn__image_view *view,
                     struct tn_error *err);
/* The same, for the first one. */
bool tool_find_image(const struct file *file, struct tn__arena *arena, struct tn__image_view *view,
                     struct tn_error *err);
/* The architecture of its machine in src/cpu; NULL: there is none. */
const struct tn_cpu_arch *tool_image_arch(const struct tn__image_view *view);
/* Its targets, as a target string; the caller frees it. NULL: memory is out, or the machine is unknown. */
char *tool_image_targets(const struct tn__image_view *view);

/* ---- linking to look at the result (link_dump.c) ---- */

struct dump;

/* Writes down every object of the session as it is linked. NULL: reported. */
struct dump *tool_dump_start(struct tn_session *session);
/* Writes all of it as JSON to the file `name`. False: reported. */
bool tool_dump_finish(struct dump *dump, const struct tn_session *session, const char *triple, const char *name);

/* ---- commands ---- */

int command_run(struct settings *settings);
int command_disasm(struct settings *settings);
int command_compile(struct settings *settings);
int command_inspect(struct settings *settings);
int command_export_table(struct settings *settings);
int command_link(struct settings *settings);
int command_relocs(struct settings *settings);
int command_opt(struct settings *settings);
int command_verify(struct settings *settings);
int command_cpu(struct settings *settings);
int command_build(struct settings *settings);
int command_serve(struct settings *settings);
int command_cache(struct settings *settings);
int command_image(struct settings *settings);
int command_completion(struct settings *settings);

#endif
