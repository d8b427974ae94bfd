/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Dowel: a small language with static types, whose functions are compiled when they are first called.
 *
 *     fn fib(n: i64): i64 {
 *         if n < 2 { return n }
 *         return fib(n - 1) + fib(n - 2)
 *     }
 *     print(fib(30))
 *
 * Its files, in the order in which to read them:
 *
 *     lex.c      makes tokens of text
 *     type.c     types
 *     code.c     functions, variables, objects: what becomes which instructions, by LLVM's C interface
 *     expression.c, statement.c    the grammar: what is read is checked, and becomes instructions at once
 *     session.c  the JIT: adds modules, replaces functions, runs lines
 *     prompt.c   the prompt, and what it shows of functions and the heap
 *     crash.c    what is said of a program that ends early
 *     build.c    writes executables
 *     main.c     the command
 *     runtime.c  what compiled code calls, in collected C
 *
 * And what can be left out:
 *
 *     map.c, map_runtime.c    maps
 *     package.c               packages */

#ifndef DOWEL_H
#define DOWEL_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tenon_cache.h>
#include <tenon_codegen.h>
#include <tenon_heap.h>

/* ---- tokens (lex.c) ---- */

enum { MOST = 30 /* arguments, fields */ };

enum token_kind { END, LINE, WORD, NAME, WHOLE, REAL, STRING };

struct token {
    enum token_kind kind;
    const char *text; /* in the source; of a string, behind its quote */
    size_t length;
    int line, column;
};

/* ---- types and values ---- */

/* C_INT is only there in declarations of C functions; NULL_REFERENCE is the type of `null`. */
enum kind { NOTHING, I64, DOUBLE, BOOL, TEXT, NULL_REFERENCE, C_INT, ARRAY, STRUCT, FUNCTION, MAP };

struct field {
    const char *name;
    const struct type *type;
};

/* Types of the same name are the same type, with one address. */
struct type {
    enum kind kind;
    const char *name;          /* as programs write it: "[i64]", "fn(i64, double): bool" */
    const struct type *result; /* of a function; of an array or a map, that of its elements */
    struct field *fields;      /* of a struct; of a function, its parameters; of a map, its key */
    int count;
    struct type *next;
};

/* The result of an expression. `place` is the address it was loaded from, if it can be assigned to. */
struct value {
    const struct type *type;
    LLVMValueRef ir, place;
};

struct variable {
    const char *name;
    const struct type *type;
    LLVMValueRef place; /* on the stack; NULL: a global variable, or a copy in the closure */
    int copy;           /* the word of the closure */
    const char *symbol; /* of a global variable */
    struct variable *next;
};

struct function {
    const char *name;
    const struct type *type; /* a FUNCTION */
    bool is_c, is_imported;
    struct function *next;
};

struct loop {
    LLVMBasicBlockRef next, end;
    int handlers; /* how many there are around the loop */
    struct loop *outer;
};

/* A function while it is compiled; `outer` is the one that a closure is written in. */
struct code {
    struct code *outer;
    LLVMValueRef function;
    LLVMBuilderRef builder, entry; /* at the current place; where variables are made */
    LLVMMetadataRef scope;
    const struct type *result;           /* NULL: statements beside functions */
    struct variable *variables, *copies; /* the innermost first */
    int copy_count, handlers, depth;     /* of blocks */
    bool is_volatile;                    /* it has a `try`: variables stay in memory, where its `catch` finds them */
    struct loop *loop;
};

/* A module that is made, within another one or none (without `ir`). */
struct module {
    LLVMModuleRef ir;
    LLVMDIBuilderRef debug;
    LLVMMetadataRef file;
    struct module *around;
};

/* Global variables and types; a function; a function that is called once. */
enum pending_kind { DEFINES, REPLACES, RUNS };

/* A module that is complete. */
struct pending {
    LLVMModuleRef module;
    const char *name; /* of what it defines */
    enum pending_kind kind;
    struct pending *next;
};

struct session;

struct compiler {
    LLVMContextRef llvm;
    struct session *session; /* for import_package */
    struct type *types;
    struct function *functions;
    struct variable *globals;
    int number; /* of what has no name */
    struct memory *memory;
    /* Of the text that is compiled: */
    const char *file;
    const struct token *at;
    bool shows_values; /* of expressions, as a prompt does */
    bool is_c;         /* a C function is declared */
    bool imports;      /* functions of a package are declared */
    int depth;
    jmp_buf failed;
    char mistake[500];
    struct module module;
    struct code *code;
    struct pending *pending, **last;
};

/* Memory until the compiler is destroyed; zeroed. If there is none, the process ends. */
void *keep(struct compiler *c, size_t size);
void forget(struct compiler *c); /* all of it */
const char *keep_text(struct compiler *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first mistake ends the compilation. */
_Noreturn void fail(struct compiler *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The tokens of a text, which must stay; the last one is END. */
const struct token *lex(struct compiler *c, const char *text);
bool is_complete(const char *text); /* every bracket is closed */

bool is(const struct token *token, const char *word);
bool accept(struct compiler *c, const char *word);
bool accept_below(struct compiler *c, const char *word); /* where lines may end before the word */
void expect(struct compiler *c, const char *word);
const char *take_name(struct compiler *c);
void go_deeper(struct compiler *c);    /* into what can contain itself; c->depth-- leads out */
const char *shown(struct compiler *c); /* the next token, in messages */
_Noreturn void fail_at(struct compiler *c, const struct token *token, const char *text);

/* ---- types (type.c) ---- */

const struct type *simple_type(struct compiler *c, enum kind kind);
const struct type *array_of(struct compiler *c, const struct type *element);
const struct type *function_type(struct compiler *c, const struct type *result, struct field *fields, int count);
const struct type *map_type(struct compiler *c, const struct type *key, const struct type *value,
                            const struct token *token); /* where the key is */
struct type *new_struct(struct compiler *c, const char *name);
struct type *find_type(struct compiler *c, const char *name);
bool is_reference(const struct type *type);
bool may_be_null(const struct type *type);
LLVMTypeRef ir_type(struct compiler *c, const struct type *type);

const struct type *take_type(struct compiler *c);
int take_fields(struct compiler *c, struct field *fields, const char *end);
const struct type *take_signature(struct compiler *c);
/* The value as one of a type: null fits structs and functions. */
LLVMValueRef fit(struct compiler *c, struct value value, const struct type *type, const struct token *token);

/* ---- code (code.c) ---- */

/* Modules nest: the one around goes on afterwards. */
void begin_module(struct compiler *c);
void end_module(struct compiler *c, const char *name, enum pending_kind kind);
void define_object_type(struct compiler *c, const char *name, const struct type *const *words, int count);
void define_global(struct compiler *c, struct variable *global);
/* A global variable of the module that is made; or one of another module, if it has no value. */
LLVMValueRef ir_global(struct compiler *c, LLVMTypeRef type, const char *name, LLVMValueRef value);

#define SYMBOL_PREFIX "dowel."
const char *symbol_of(struct compiler *c, const char *function); /* that is not C's */
struct code *begin_function(struct compiler *c, const char *name, const struct type *type, bool is_closure);
void end_function(struct compiler *c);
LLVMBasicBlockRef new_block(struct compiler *c);
void go_to(struct compiler *c, LLVMBasicBlockRef block); /* unless the block has ended */
void go_on_in(struct compiler *c, LLVMBasicBlockRef block);
void branch(struct compiler *c, LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no);
bool has_ended(struct compiler *c); /* nothing can follow in this block */
void mark_line(struct compiler *c, const struct token *token);

struct value value_of(const struct type *type, LLVMValueRef ir);
LLVMValueRef whole(struct compiler *c, int64_t number);
struct variable *new_variable(struct compiler *c, const char *name, const struct type *type);
struct value load(struct compiler *c, const struct type *type, LLVMValueRef place);
void store(struct compiler *c, LLVMValueRef value, LLVMValueRef place);
LLVMValueRef global_place(struct compiler *c, const struct variable *global);

LLVMValueRef call_runtime(struct compiler *c, const char *name, LLVMTypeRef result, LLVMValueRef *arguments, int count);
LLVMValueRef call_function(struct compiler *c, const struct function *function, LLVMValueRef *arguments);
LLVMValueRef call_closure(struct compiler *c, struct value closure, LLVMValueRef *arguments);
LLVMValueRef allocate(struct compiler *c, const char *type_name, int words);
LLVMValueRef word_of(struct compiler *c, LLVMValueRef object, int word);
LLVMValueRef bytes_constant(struct compiler *c, const char *bytes, size_t length);
LLVMValueRef new_text(struct compiler *c, const char *bytes, size_t length);
LLVMValueRef new_array(struct compiler *c, LLVMValueRef length, struct value first);
LLVMValueRef length_of(struct compiler *c, struct value object); /* an array or a string */
LLVMValueRef element_place(struct compiler *c, struct value object, LLVMValueRef index);
struct value text_of(struct compiler *c, struct value value);

void throw_text(struct compiler *c, LLVMValueRef text);
void throw_if(struct compiler *c, LLVMValueRef condition, const char *text);
LLVMValueRef enter_handler(struct compiler *c); /* true: something was thrown to it */
void leave_handlers(struct compiler *c, int count);

/* ---- the grammar (expression.c, statement.c) ---- */

struct value expression(struct compiler *c);
LLVMValueRef expression_of(struct compiler *c, const struct type *type);
struct variable *find_local(struct compiler *c, struct code *code, const char *name);
const struct function *find_function(struct compiler *c, const char *name);
const struct builtin *find_builtin(const char *name); /* a function that every program has */
bool has_try(const struct token *token); /* in the block, or the statements beside definitions, that begin there */
void block(struct compiler *c);

/* ---- maps (map.c) ---- */

struct value map_element(struct compiler *c, struct value map);
LLVMValueRef map_length(struct compiler *c, struct value map);
struct value new_map(struct compiler *c);
struct value call_has(struct compiler *c);
struct value call_keys(struct compiler *c);

/* ---- the compiler (statement.c) ---- */

void begin_compiler(struct compiler *c);
void end_compiler(struct compiler *c);
/* Compiles a text: c->pending has its modules, which the caller disposes of. False: c->mistake says why, and the text
 * has changed nothing. */
bool compile(struct compiler *c, const char *file, const char *text);

/* ---- the JIT (session.c) ---- */

struct session {
    struct tn_image *packages[MOST];
    int package_count;
    bool builds;  /* an executable */
    bool has_run; /* statements beside functions */
    struct tn_jit *jit;
    struct tn_heap *heap;
    struct tn_store *store;
    struct tn_compiler *cache;
    struct compiler compiler;
};

struct session_options {
    const char *cache; /* a folder, or NULL */
    const char *perf;  /* the same, for its files */
    bool gdb;
    bool builds;      /* an executable */
    bool packs;       /* a package */
    uint64_t bytes;   /* that the heap may have; 0: by the machine */
    unsigned seconds; /* of processors that the program may take; 0: any number */
};

bool open_session(struct session *s, const struct session_options *options, struct tn_error *err);
void close_session(struct session *s);

/* There is one that programs may declare. The linker knows that for executables. */
bool knows_c_function(const struct session *s, const char *name);

/* Adds and runs what was compiled; false: something was thrown, or could not be added, and this was reported. */
bool run_pending(struct session *s);
bool run_text(struct session *s, const char *file, const char *text);

const char *plain(const char *symbol); /* a function as programs call it */

/* ---- the prompt (prompt.c) ---- */

bool run_prompt(struct session *s);

/* ---- what ends a program early (crash.c) ---- */

int watch(struct session *s, unsigned seconds, struct tn_error *err);

/* ---- executables (build.c) ---- */

/* Writes an executable for the program that the session has run. False: reported. */
bool build(struct session *s, const char *file, const char *path);
/* Writes an image of what the JIT has, for several CPUs. */
int write_image(struct session *s, struct tn_image_options options, enum tn_image_file kind, const char *path,
                struct tn_error *err);

/* ---- packages (package.c) ---- */

/* Writes an image of what the session has compiled. False: reported. */
bool build_package(struct session *s, const char *path);
/* Opens one, and returns its definitions without bodies. */
const char *import_package(struct compiler *c, const char *path);
void close_packages(struct session *s);

#endif
