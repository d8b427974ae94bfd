/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stale functions that are compiled again (doc/PACKAGES.md, "Stale functions"), by the API: options, threads, settings,
 * errors, memory that is out, damaged files. What such functions do is for tests/image/recompile.sh. */

#include <pthread.h>
#include <signal.h>

#include "base/os.h"
#include "base_image.h"
#include "codegen/llvm/diagnostics.h"
#include "image/load/image.h"
#include "support.h"

#define BASE(number)                                                                                                   \
    "@table = constant [2 x i32] [i32 1, i32 2]\n"                                                                     \
    "define i32 @g(i32 %x) {\n  %y = add i32 %x, " #number "\n  ret i32 %y\n}\n"

static const char base[] = BASE(1), other[] = BASE(100);
static const char user[] = "@table = external constant [2 x i32]\n"
                           "@calls = internal global i32 0\n"
                           "@mine = internal thread_local global i32 7\n"
                           "declare i32 @g(i32)\n"
                           "define i32 @f(i32 %x) {\n"
                           "  %a = call i32 @inner(i32 %x)\n"
                           "  %b = call i32 @h(i32 %x)\n"
                           "  %c = add i32 %a, %b\n"
                           "  ret i32 %c\n}\n"
                           "define internal i32 @inner(i32 %x) noinline {\n"
                           "  %a = call i32 @g(i32 %x)\n"
                           "  %b = atomicrmw add ptr @calls, i32 1 seq_cst\n"
                           "  %p = call ptr @llvm.threadlocal.address.p0(ptr @mine)\n"
                           "  store i32 %a, ptr %p\n"
                           "  ret i32 %a\n}\n"
                           "define i32 @h(i32 %x) noinline {\n"
                           "  %stop = icmp sle i32 %x, 0\n"
                           "  br i1 %stop, label %end, label %more\n"
                           "end:\n"
                           "  ret i32 0\n"
                           "more:\n"
                           "  %y = sub i32 %x, 1\n"
                           "  %a = call i32 @k(i32 %y)\n"
                           "  %b = call i32 @g(i32 %a)\n"
                           "  ret i32 %b\n}\n"
                           "define i32 @k(i32 %x) noinline {\n"
                           "  %a = call i32 @h(i32 %x)\n"
                           "  %b = call i32 @g(i32 %a)\n"
                           "  ret i32 %b\n}\n"
                           "define i32 @count(i32 %x) {\n"
                           "  %a = load atomic i32, ptr @calls seq_cst, align 4\n"
                           "  ret i32 %a\n}\n"
                           "define i32 @own(i32 %x) {\n"
                           "  %p = call ptr @llvm.threadlocal.address.p0(ptr @mine)\n"
                           "  %a = load i32, ptr %p\n"
                           "  ret i32 %a\n}\n"
                           "define <8 x float> @vector(<8 x float> %x) {\n"
                           "  %a = call i32 @g(i32 3)\n"
                           "  %b = sitofp i32 %a to float\n"
                           "  %c = insertelement <8 x float> %x, float %b, i32 0\n"
                           "  ret <8 x float> %c\n}\n"
                           "declare ptr @llvm.threadlocal.address.p0(ptr)\n";

static struct tn_image_input base_input = {"base.ll", base, sizeof base - 1};
static const struct tn_image_input user_input = {"user.ll", user, sizeof user - 1};
static struct tn_image_dependency dependency = {.name = "base"};
static struct tn_image_options options = {.size = sizeof options,
                                          .name = "user",
                                          .opt_level = 2,
                                          .dependencies = &dependency,
                                          .dependency_count = 1,
                                          .used = &base_input,
                                          .used_count = 1,
                                          .keep_ir = 1};
static struct tn_image *base_image, *other_image;

static int begin(void **state)
{
    (void)state;
    base_image = open_base(base, sizeof base - 1);
    other_image = open_base(other, sizeof other - 1);
    depend_on(&dependency, base_image);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tn_image_close(base_image);
    tn_image_close(other_image);
    return 0;
}

/* ---- a compiler that notes what it does ---- */

/* Threads compile functions at the same time. */
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct tn_compiler compiler;
    unsigned opened, told;
    char cpu[64], features[1024];
    struct tn_error said;
    int level;
    bool fails, looks; /* `looks`: at the function that is compiled, one at a time */
    struct tn_compile_options looking;
    bool is_small, is_smallest;
    int raises, handled; /* a signal, or 0; how often it was handled before raise returned */
} noted;

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
}

static bool has(LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    return LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind) != NULL;
}

static int look(void *context, enum tn_hook when, void *module, struct tn_error *err)
{
    (void)context, (void)err;
    for (LLVMValueRef at = LLVMGetFirstFunction(module); when == TN_HOOK_OPTIMIZED && at; at = LLVMGetNextFunction(at))
        if (!LLVMIsDeclaration(at)) {
            noted.is_small = has(at, "optsize");
            noted.is_smallest = has(at, "minsize");
        }
    return 0;
}

static int note_open(void *context, const struct tn_ir *ir, const struct tn_compile_options *how, void **module,
                     const struct tn_module_description **description, struct tn_error *err)
{
    pthread_mutex_lock(&noting);
    noted.opened++;
    snprintf(noted.cpu, sizeof noted.cpu, "%s", how->cpu);
    snprintf(noted.features, sizeof noted.features, "%s", how->features);
    noted.level = how->opt_level;
    if (noted.raises && raise(noted.raises) == 0)
        noted.handled = handled;
    bool fails = noted.fails, looks = noted.looks;
    pthread_mutex_unlock(&noting);
    if (looks) {
        noted.looking = *how;
        noted.looking.hook = look;
        how = &noted.looking;
    }
    if (fails) {
        snprintf(err->text, sizeof err->text, "no compiler today");
        return err->code = TN_ENOTSUP;
    }
    return tn_codegen_compiler()->open(context, ir, how, module, description, err);
}

static void tell(void *context, const struct tn_error *err)
{
    (void)context;
    pthread_mutex_lock(&noting);
    noted.told++;
    noted.said = *err;
    pthread_mutex_unlock(&noting);
}

static int failed(int x)
{
    return -x;
}

static struct tn_image_load_options with_compiler(struct tn_image *const *on)
{
    memset(&noted, 0, sizeof noted);
    noted.compiler = *tn_codegen_compiler();
    noted.compiler.open = note_open;
    return (struct tn_image_load_options){.size = sizeof(struct tn_image_load_options),
                                          .images = on,
                                          .image_count = 1,
                                          .compiler = &noted.compiler,
                                          .recompiler = tn_image_recompiler(),
                                          .on_error = tell,
                                          .on_failure = (void (*)(void))failed};
}

static int open_again(const struct tn_buffer *file, struct tn_image **image, struct tn_error *err)
{
    struct tn_image_load_options how = with_compiler(&other_image);
    return tn_image_open_memory("user", file->data, file->size, &how, image, err);
}

static int call(const struct tn_image *image, const char *name, int x)
{
    return ((int (*)(int))tn_image_lookup(image, name))(x);
}

/* f(x) with a base that adds `added`. */
static int expected(int x, int added)
{
    return x + added + 2 * added * x; /* inner, and h with as many turns of itself and k */
}

/* ---- tests ---- */

static void compiled_again(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image *image;
    struct tn_error err;
    assert_int_equal(open_again(&file, &image, &err), 0);
    assert_int_equal(noted.opened, 0);
    assert_int_equal(call(image, "own", 0), 7);
    assert_int_equal(call(image, "f", 5), expected(5, 100));
    assert_int_equal(noted.opened, 3); /* inner, h and k; not vector, nor f, which reaches them through cells */
    assert_int_equal(call(image, "own", 0), 105);
    assert_int_equal(call(image, "count", 0), 1);
    assert_int_equal(call(image, "f", 6), expected(6, 100));
    assert_int_equal(noted.opened, 3);
    assert_int_equal(noted.level, 2);
    assert_int_equal(noted.told, 0);
    tn_image_close(image);
    tn_buffer_free(&file);
}

static void *find_in_base(void *context, const char *name)
{
    return tn__image_entry(context, name);
}

static void assert_same_edges(const struct tn__image_view *a, const struct tn__image_view *b)
{
    static const enum tn__image_table tables[] = {TN__IMAGE_EDGE_TABLE, TN__IMAGE_RELIANCE_TABLE, TN__IMAGE_KEPT_TABLE};
    for (size_t i = 0; i < COUNT(tables); i++)
        assert_int_equal(a->tables[tables[i]].count, b->tables[tables[i]].count);
    for (uint32_t i = 0; i < a->tables[TN__IMAGE_EDGE_TABLE].count; i++) {
        struct tn__image_item one, two;
        assert_true(tn__image_item(a, TN__IMAGE_EDGE_TABLE, i, &one));
        assert_true(tn__image_item(b, TN__IMAGE_EDGE_TABLE, i, &two));
        assert_int_equal(one.kind, two.kind);
        assert_string_equal(one.name, two.name);
        assert_string_equal(one.text, two.text);
        assert_true(one.size == two.size);
    }
}

/* Code that a JIT has made and run, of which an image is built, has the same edges, and is compiled again. */
static void made_by_a_jit(void **state)
{
    (void)state;
    struct tn_jit_options how = {.size = sizeof how, .keep_ir = 1};
    struct tn_jit_module module = {
        .size = sizeof module, .name = user_input.name, .ir = user, .length = user_input.length};
    struct tn_buffer out[TN_IMAGE_OUTPUTS], direct = build_file(&user_input, &options);
    struct tn_image_load_options load = with_compiler(&base_image);
    struct tn_image *image, *other_way;
    struct tn_error err;
    struct tn_jit *jit;
    void *address;
    assert_int_equal(tn_jit_create(&how, &jit, &err), 0);
    assert_int_equal(tn_add_resolver(tn_jit_library(jit), find_in_base, base_image, &err), 0);
    assert_int_equal(tn_jit_add_module(jit, NULL, &module, &err), 0);
    if (tn_lookup(tn_jit_library(jit), "f", &address, &err))
        fail_msg("%s", err.text);
    assert_int_equal(((int (*)(int))address)(5), expected(5, 1));
    assert_int_equal(tn_jit_build_image(jit, NULL, &options, out, NULL, &err), 0);
    tn_jit_destroy(jit);
    struct tn_buffer file = link_archive(out);
    assert_int_equal(tn_image_open_memory("made", file.data, file.size, &load, &image, &err), 0);
    assert_int_equal(tn_image_open_memory("direct", direct.data, direct.size, &load, &other_way, &err), 0);
    assert_int_equal(image->view.tables[TN__IMAGE_EDGE_TABLE].count, 2); /* the function and the body of `g` */
    assert_same_edges(&image->view, &other_way->view);
    tn_image_close(other_way);
    tn_image_close(image);
    assert_int_equal(open_again(&file, &image, &err), 0);
    assert_int_equal(call(image, "f", 5), expected(5, 100));
    assert_int_equal(noted.opened, 3);
    tn_image_close(image);
    tn_buffer_free(&file);
    tn_buffer_free(&direct);
    tn_buffer_free(out);
}

#define TYPE                                                                                                           \
    "%type = type { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr, [8 x i8] }\n"                                    \
    "@name = private unnamed_addr constant [5 x i8] c\"node\\00\"\n"                                                   \
    "@TYPE = constant %type { ptr @name, i32 1, i32 8, i64 24, i64 0, i64 0, i64 1, ptr null, i64 0, ptr null, "       \
    "[8 x i8] zeroinitializer }, align 16\n"
#define FACT "!tenon.facts = !{!0}\n!0 = !{!\"key\", !\"digest\"}\n"

static const char all_offered[] = TYPE FACT BASE(1) "@v = global i32 3\n@t = thread_local global i32 4\n";
static const char all_used[] = TYPE FACT "@table = external constant [2 x i32]\n"
                                         "@v = external global i32\n"
                                         "@t = external thread_local global i32\n"
                                         "declare i32 @g(i32)\n"
                                         "declare ptr @llvm.threadlocal.address.p0(ptr)\n"
                                         "define i32 @f(i32 %x) {\n"
                                         "  %p = call ptr @llvm.threadlocal.address.p0(ptr @t)\n"
                                         "  %a = load i32, ptr %p\n"
                                         "  %b = load i32, ptr @v\n"
                                         "  %c = load i32, ptr @table\n"
                                         "  %d = call i32 @g(i32 %a)\n"
                                         "  %e = add i32 %b, %c\n"
                                         "  %f = add i32 %d, %e\n"
                                         "  ret i32 %f\n}\n";

static void read_view(const struct tn_buffer *archive, struct tn__arena *arena, struct tn__image_view *view)
{
    const uint8_t *header = memmem(archive->data, archive->size, TN__IMAGE_MAGIC, 8);
    struct tn_error err;
    assert_non_null(header);
    if (tn__image_read("an archive", header, archive->size - (size_t)(header - (const uint8_t *)archive->data), arena,
                       view, &err))
        fail_msg("%s", err.text);
}

/* One edge of each kind, whether a JIT or a file has the IR. No file can be made yet of what uses the thread-local
 * variable. */
static void each_kind_of_edge(void **state)
{
    (void)state;
    struct tn_jit_options how = {.size = sizeof how, .keep_ir = 1};
    struct tn_jit_module module = {
        .size = sizeof module, .name = "all.ll", .ir = all_used, .length = sizeof all_used - 1};
    struct tn_image_input input = {"all.ll", all_used, sizeof all_used - 1},
                          used = {"base.ll", all_offered, sizeof all_offered - 1};
    struct tn_image *all = open_base(all_offered, sizeof all_offered - 1);
    struct tn_image_dependency on = {.name = "base"};
    struct tn_image_options build = options;
    struct tn_buffer outs[2][TN_IMAGE_OUTPUTS];
    struct tn__image_view views[2];
    struct tn__arena arena = {0};
    struct tn_error err;
    struct tn_jit *jit;
    depend_on(&on, all);
    build.dependencies = &on;
    build.used = &used;
    assert_int_equal(tn_jit_create(&how, &jit, &err), 0);
    assert_int_equal(tn_jit_add_module(jit, NULL, &module, &err), 0);
    if (tn_jit_build_image(jit, NULL, &build, outs[0], NULL, &err) ||
        tn_image_build(&input, 1, &build, outs[1], NULL, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT(outs); i++) {
        read_view(outs[i], &arena, &views[i]);
        uint32_t count = views[i].tables[TN__IMAGE_EDGE_TABLE].count, kinds = 0;
        for (uint32_t row = 0; row < count; row++) {
            struct tn__image_item item;
            assert_true(tn__image_item(&views[i], TN__IMAGE_EDGE_TABLE, row, &item));
            kinds |= UINT32_C(1) << item.kind;
        }
        assert_int_equal(kinds, (UINT32_C(1) << TN__ITEMS) - 1);
    }
    assert_same_edges(&views[0], &views[1]);
    for (size_t i = 0; i < COUNT(outs); i++)
        tn_buffer_free(outs[i]);
    tn__arena_free(&arena);
    tn_jit_destroy(jit);
    tn_image_close(all);
}

static void without_a_compiler(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image_load_options how = with_compiler(&base_image);
    struct tn_image *image;
    struct tn_error err;
    assert_int_equal(tn_image_open_memory("user", file.data, file.size, &how, &image, &err), 0);
    assert_int_equal(call(image, "f", 5), expected(5, 1));
    assert_int_equal(noted.opened, 0);
    tn_image_close(image);
    how = with_compiler(&other_image);
    how.recompiler = NULL;
    assert_int_equal(tn_image_open_memory("user", file.data, file.size, &how, &image, &err), TN_ESTALE);
    assert_contains(err.text, "' is stale");
    how.on_stale = (void (*)(void))failed;
    assert_int_equal(tn_image_open_memory("user", file.data, file.size, &how, &image, &err), 0);
    assert_int_equal(call(image, "h", 5), -5);
    tn_image_close(image);
    how.recompiler = tn_image_recompiler();
    how.compiler = NULL;
    assert_int_equal(tn_image_open_memory("user", file.data, file.size, &how, &image, &err), TN_EINVAL);
    how = with_compiler(&other_image);
    how.on_failure = NULL;
    assert_int_equal(tn_image_open_memory("user", file.data, file.size, &how, &image, &err), TN_EINVAL);
    assert_string_equal(err.text, "a recompiler needs a compiler, and on_failure");
    tn_buffer_free(&file);
    struct tn_image_options bare = options; /* an image without IR */
    bare.keep_ir = 0;
    file = build_file(&user_input, &bare);
    assert_int_equal(open_again(&file, &image, &err), TN_ESTALE);
    assert_contains(err.text, "' is stale");
    tn_buffer_free(&file);
}

static void failures(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image *image;
    struct tn_error err;
    assert_int_equal(open_again(&file, &image, &err), 0);
    noted.fails = true;
    assert_int_equal(call(image, "h", 5), -5);
    assert_int_equal(noted.told, 1);
    assert_string_equal(noted.said.text, "'h': h$body has failed: no compiler today, for a call of 'h'");
    assert_int_equal(call(image, "count", 0), 0);
    tn_image_close(image);
    tn_buffer_free(&file);
}

/* Handlers may leave a first call, or fork in it: they find none half done. */
static void signals_wait(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image *image;
    struct tn_error err;
    assert_int_equal(open_again(&file, &image, &err), 0);
    noted.raises = SIGUSR1;
    handled = 0;
    signal(SIGUSR1, handle);
    assert_int_equal(call(image, "h", 5), expected(5, 100) - 105);
    assert_int_equal(noted.opened, 2);
    assert_int_equal(noted.handled, 1); /* k's compiler found what waited for h */
    assert_int_equal(handled, 2);
    signal(SIGUSR1, SIG_DFL);
    tn_image_close(image);
    tn_buffer_free(&file);
}

/* For the target that was chosen. */
static void settings(void **state)
{
    (void)state;
    static const struct {
        const char *cpu, *function, *compiled_for;
    } rows[] = {
        {"x86-64", "h", "x86-64"},
        {"haswell", "h", "x86-64-v3"},
        {"nehalem", "h", "x86-64-v2"},
    };
    struct tn_image_options how = options;
    how.triple = "x86_64-linux-gnu";
    how.targets = "x86-64;x86-64-v2,clone_all;x86-64-v3,clone_all";
    if (!built_in(&(struct tn_compile_options){X86}) || tn_cpu_arch_host() != tn_cpu_arch_find("x86_64-linux-gnu"))
        skip();
    struct tn_buffer file = build_file(&user_input, &how);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_cpu cpu = cpu_named(rows[i].cpu);
        struct tn_image_load_options load = with_compiler(&other_image);
        struct tn_image *image;
        struct tn_error err;
        load.cpu = &cpu;
        assert_int_equal(tn_image_open_memory("user", file.data, file.size, &load, &image, &err), 0);
        assert_string_equal(tn_image_target(image, tn_image_chosen(image))->name, rows[i].compiled_for);
        noted.fails = true; /* this machine need not have that CPU */
        assert_int_equal(call(image, rows[i].function, 5), -5);
        assert_string_equal(noted.cpu, rows[i].compiled_for);
        assert_int_equal(strstr(noted.features, "+avx2") != NULL, i == 1);
        tn_image_close(image);
    }
    tn_buffer_free(&file);
}

/* Code that is to be small stays so, whether its own attributes or a target say that. */
static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *targets, *cpu, *function;
        bool is_small, is_smallest;
    } rows[] = {
        {"x86-64", "x86-64", "h", false, false},
        {"x86-64", "x86-64", "k", true, false},
        {"x86-64", "x86-64", "least", true, true},
        {"x86-64,opt_size", "x86-64", "h", true, false},
        {"x86-64,min_size", "x86-64", "h", true, true},
        {"x86-64,min_size", "x86-64", "k", true, true},
        {"x86-64,opt_size;x86-64-v2,clone_all", "x86-64", "h", true, false},
        {"x86-64,opt_size;x86-64-v2,clone_all", "x86-64-v2", "h", false, false},
        {"x86-64,opt_size;x86-64-v2,clone_all", "x86-64-v2", "k", true, false},
        {"x86-64;x86-64-v2,clone_all,min_size", "x86-64-v2", "h", true, true},
    };
    static const char text[] = "declare i32 @g(i32)\n"
                               "define i32 @h(i32 %x) {\n  %a = call i32 @g(i32 %x)\n  ret i32 %a\n}\n"
                               "define i32 @k(i32 %x) optsize {\n  %a = call i32 @g(i32 %x)\n  ret i32 %a\n}\n"
                               "define i32 @least(i32 %x) minsize optsize {\n"
                               "  %a = call i32 @g(i32 %x)\n  ret i32 %a\n}\n";
    const struct tn_image_input input = {"sizes.ll", text, sizeof text - 1};
    if (!built_in(&(struct tn_compile_options){X86}) || tn_cpu_arch_host() != tn_cpu_arch_find("x86_64-linux-gnu"))
        skip();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_image_options how = options;
        how.triple = "x86_64-linux-gnu";
        how.targets = rows[i].targets;
        struct tn_buffer file = build_file(&input, &how);
        struct tn_cpu cpu = cpu_named(rows[i].cpu);
        struct tn_image_load_options load = with_compiler(&other_image);
        struct tn_image *image;
        struct tn_error err;
        load.cpu = &cpu;
        noted.looks = true;
        assert_int_equal(tn_image_open_memory("user", file.data, file.size, &load, &image, &err), 0);
        assert_int_equal(call(image, rows[i].function, 5), 105);
        if (noted.is_small != rows[i].is_small || noted.is_smallest != rows[i].is_smallest)
            fail_msg("%s, %s on %s: %d %d", rows[i].targets, rows[i].function, rows[i].cpu, noted.is_small,
                     noted.is_smallest);
        tn_image_close(image);
        tn_buffer_free(&file);
    }
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 4 };

static struct tn_image *shared_image;
static pthread_barrier_t together;

static void *call_at_once(void *context)
{
    size_t number = *(size_t *)context, wrong = 0;
    pthread_barrier_wait(&together);
    for (int x = 1; x < 20; x++) {
        wrong += call(shared_image, number & 1 ? "f" : "h", x) !=
                 (number & 1 ? expected(x, 100) : expected(x, 100) - x - 100);
        wrong += number & 1 && call(shared_image, "own", 0) != x + 100;
    }
    *(size_t *)context = wrong;
    return NULL;
}

/* They call while another image is opened. */
static void threads(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_error err;
    for (size_t round = 0; round < ROUNDS; round++) {
        pthread_t running[THREADS];
        size_t numbers[THREADS];
        assert_int_equal(open_again(&file, &shared_image, &err), 0);
        pthread_barrier_init(&together, NULL, THREADS + 1);
        for (size_t i = 0; i < THREADS; i++) {
            numbers[i] = i;
            assert_int_equal(pthread_create(&running[i], NULL, call_at_once, &numbers[i]), 0);
        }
        pthread_barrier_wait(&together);
        struct tn_image_load_options how = {.size = sizeof how,
                                            .images = &other_image,
                                            .image_count = 1,
                                            .compiler = tn_codegen_compiler(),
                                            .recompiler = tn_image_recompiler(),
                                            .on_failure = (void (*)(void))failed};
        struct tn_image *second;
        assert_int_equal(tn_image_open_memory("user", file.data, file.size, &how, &second, &err), 0);
        assert_int_equal(call(second, "f", 3), expected(3, 100));
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(running[i], NULL);
            assert_int_equal(numbers[i], 0);
        }
        tn_image_close(second);
        assert_int_equal(noted.opened, 3);
        assert_int_equal(noted.told, 0);
        pthread_barrier_destroy(&together);
        tn_image_close(shared_image);
    }
    tn_buffer_free(&file);
}

/* ---- hostile files ---- */

static void sign(uint8_t *header, size_t size)
{
    tn__put64(header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(header, size));
}

/* What the tables may not say, and what is found when the IR is read. */
static void wrong_tables(void **state)
{
    static const struct {
        enum tn__image_table table;
        uint32_t row, field, value;
        int code; /* 0: of the call */
        const char *says;
    } rows[] = {
        {TN__IMAGE_KEPT_TABLE, 0, TN__IMAGE_KEPT_CELL, 99, TN_EFORMAT, "kept function 0 is that of cell 99"},
        {TN__IMAGE_KEPT_TABLE, 1, TN__IMAGE_KEPT_CELL, 0, TN_EFORMAT, "kept function 1 is that of cell 0"},
        {TN__IMAGE_KEPT_TABLE, 0, TN__IMAGE_KEPT_FLAGS, 2, TN_EFORMAT, "with flags 0x2"},
        {TN__IMAGE_KEPT_TABLE, 0, TN__IMAGE_KEPT_SIZE, INT32_MAX, 0, "its IR has 2147483647 bytes, all IR"},
        {TN__IMAGE_KEPT_TABLE, 0, TN__IMAGE_KEPT_SIZE, 8, 0, "its IR is damaged"},
        {TN__IMAGE_KEPT_TABLE, 0, TN__IMAGE_KEPT_OFFSET, UINT32_MAX, 0, "its IR is damaged"},
        {TN__IMAGE_KEPT_TABLE, 0, TN__IMAGE_KEPT_SUM, 1, 0, "its IR is damaged"},
        {TN__IMAGE_SETTING_TABLE, 0, TN__IMAGE_SETTING_LEVEL, 4, TN_EFORMAT, "setting 0: level 4"},
        {TN__IMAGE_SETTING_TABLE, 1, TN__IMAGE_SETTING_CPU, INT32_MAX, TN_EFORMAT, "setting 1: "},
        {TN__IMAGE_SHARED_TABLE, 0, 0, INT32_MAX, TN_EFORMAT, "shared symbol 0: its name lies outside"},
    };
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image *image;
    struct tn_error err;
    uint8_t *header = memmem(file.data, file.size, TN__IMAGE_MAGIC, 8);
    assert_int_equal(open_again(&file, &image, &err), 0);
    struct tn__image_view view = image->view;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct tn__image_rows *table = &view.tables[rows[i].table];
        uint8_t *field = header + (table->rows - view.header) + rows[i].row * table->size + rows[i].field;
        uint32_t before = tn__get32(field);
        struct tn_image *wrong;
        tn__put32(field, rows[i].value);
        sign(header, view.size);
        assert_int_equal(open_again(&file, &wrong, &err), rows[i].code);
        if (!rows[i].code) {
            assert_int_equal(call(wrong, "h", 5), -5);
            assert_contains(noted.said.text, rows[i].says);
            tn_image_close(wrong);
        } else {
            assert_contains(err.text, rows[i].says);
        }
        tn__put32(field, before);
    }
    tn_image_close(image);
    tn_buffer_free(&file);
}

/* Each byte of header and tables gets other values; what can still be opened is not called. */
static void damaged_tables(void **state)
{
    (void)state;
    static const uint8_t changes[] = {1, 0x80, 0xff};
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_error err;
    struct tn_image *image;
    size_t codes[2] = {0, 0};
    uint8_t *header = memmem(file.data, file.size, TN__IMAGE_MAGIC, 8);
    uint32_t size = tn__get32(header + TN__IMAGE_AT_SIZE);
    for (uint32_t at = 0; at < size; at++)
        for (size_t i = 0; i < COUNT(changes); i++) {
            header[at] ^= changes[i];
            sign(header, size);
            int code = open_again(&file, &image, &err);
            codes[code != 0]++;
            if (!code)
                tn_image_close(image);
            header[at] ^= changes[i];
        }
    assert_in_range(codes[0], 100, 100000);
    assert_in_range(codes[1], 100, 100000);
    tn_buffer_free(&file);
}

/* Each byte of the section's beginning: it is found elsewhere, or it is not. */
static void damaged_ir(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image *image;
    struct tn_error err;
    uint8_t *part = memmem(file.data, file.size, TN__IMAGE_IR_MAGIC, 8);
    assert_non_null(part);
    for (size_t at = 0; at < 8; at++) {
        part[at] ^= 1;
        assert_int_equal(open_again(&file, &image, &err), 0);
        assert_int_equal(call(image, "h", 5), -5);
        assert_contains(noted.said.text, "its IR is damaged");
        tn_image_close(image);
        part[at] ^= 1;
    }
    char *name = memmem(file.data, file.size, TN__IMAGE_IR_SECTION, sizeof TN__IMAGE_IR_SECTION);
    assert_non_null(name);
    *name = '!';
    assert_int_equal(open_again(&file, &image, &err), TN_ENOTSUP);
    assert_contains(err.text, "the section .llvmbc, with the IR of stale functions, was removed from it");
    tn_buffer_free(&file);
}

/* Each allocation is refused in turn, of building, opening, and a first call. */
static void memory_is_out(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options), out[TN_IMAGE_OUTPUTS];
    struct tn_image *image;
    struct tn_error err;
    char plan[16];
    size_t refused[3] = {0};
    for (int number = 1, good = 0; good < 8; number++) {
        snprintf(plan, sizeof plan, "a%d", number);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_image_build(&user_input, 1, &options, out, NULL, &err);
        tn__os_set_faults(NULL);
        if (code && code != TN_ENOMEM)
            fail_msg("allocation %d: %s", number, err.text);
        refused[0] += code != 0;
        good = code ? 0 : good + 1;
        tn_buffer_free(out);
    }
    for (int number = 1, good = 0; good < 8; number++) {
        snprintf(plan, sizeof plan, "a%d", number);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = open_again(&file, &image, &err);
        tn__os_set_faults(NULL);
        if (code && code != TN_ENOMEM)
            fail_msg("allocation %d of opening: %s", number, err.text);
        refused[1] += code != 0;
        good = code ? 0 : good + 1;
        if (!code)
            tn_image_close(image);
    }
    for (int number = 1, good = 0; good < 8; number++) {
        assert_int_equal(open_again(&file, &image, &err), 0);
        snprintf(plan, sizeof plan, "a%d", number);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int result = call(image, "k", 0);
        tn__os_set_faults(NULL);
        if (result != 100 && (result != 0 || !noted.told))
            fail_msg("allocation %d of a call: %d, %s", number, result, noted.said.text);
        refused[2] += noted.told;
        good = noted.told ? 0 : good + 1;
        tn_image_close(image);
    }
    assert_in_range(refused[0], 20, 10000);
    assert_in_range(refused[1], 5, 1000);
    assert_in_range(refused[2], 5, 1000);
    tn_buffer_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_again),
        cmocka_unit_test(made_by_a_jit),
        cmocka_unit_test(each_kind_of_edge),
        cmocka_unit_test(without_a_compiler),
        cmocka_unit_test(failures),
        cmocka_unit_test(settings),
        cmocka_unit_test(sizes),
        cmocka_unit_test(threads),
        cmocka_unit_test(wrong_tables),
        cmocka_unit_test(damaged_tables),
        cmocka_unit_test(damaged_ir),
        cmocka_unit_test(memory_is_out),
        cmocka_unit_test(signals_wait),
    };
    return cmocka_run_group_tests_name("recompile", tests, begin, end);
}
