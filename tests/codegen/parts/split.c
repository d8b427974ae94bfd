/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A module compiled part by part does what it does in one piece: the programs of data/, and IR that is hard to part. */

#include <pthread.h>

#include "abandon.h"
#include "llvm_module.h"
#include "support.h"

#include "codegen/parts/module.h"

/* CORPUS comes from rules.mk: "folder/name" of each program. */
static const char *const programs[] = {CORPUS};

struct linked {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
};

static struct linked create(void)
{
    struct linked linked;
    if (tn_session_create(NULL, &linked.session, &linked.err) ||
        tn_library_create(linked.session, "split", &linked.library, &linked.err) ||
        tn_add_resolver(linked.library, tn_resolve_dlsym, NULL, &linked.err))
        fail_msg("%s", linked.err.text);
    return linked;
}

static void release(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){.data = (void *)bytes, .size = length});
}

static void add(struct linked *linked, const struct tn_buffer *object)
{
    struct tn_input input = {
        .size = sizeof input, .name = "part", .bytes = object->data, .length = object->size, .release = release};
    if (tn_add_object(linked->library, &input, &linked->err))
        fail_msg("%s", linked->err.text);
}

/* What a stub would lead to. */
static void define_plain_names(struct linked *linked, const struct tn__module *module, size_t part, bool stubs)
{
    size_t count;
    const struct tn__split_symbol *symbols = tn__split_symbols(tn__module_split(module), part, &count);
    for (const struct tn__split_symbol *s = symbols; s < symbols + count; s++) {
        const char *of = stubs && s->body ? s->body : s->of;
        if (of && tn_define_alias(linked->library, s->name, of, &linked->err))
            fail_msg("%s", linked->err.text);
    }
}

/* `level` may have IN_BACKGROUND. */
enum { IN_BACKGROUND = 8 };

static int compile_part(struct tn__module *module, size_t part, int level, bool stubs, struct tn_buffer *object,
                        struct tn_error *err)
{
    static const struct tn_compile_observer silent = {.size = sizeof silent};
    const struct tn__part_compilation how = {.name = "part",
                                             .how = {.stubs = stubs, .inline_size = 20, .inline_budget = 400},
                                             .opt_level = level % IN_BACKGROUND,
                                             .is_background = level >= IN_BACKGROUND,
                                             .observer = &silent};
    uint64_t extract_ns;
    return tn__module_compile_part(module, part, &how, object, &extract_ns, NULL, err);
}

/* One of so many threads, each of which compiles every so-manieth part. */
struct worker {
    struct tn__module *module;
    size_t first, step;
    int level;
    bool stubs;
    struct tn_buffer *objects;
    struct tn_error err;
};

static void *work(void *context)
{
    struct worker *worker = context;
    for (size_t i = worker->first; i < tn__split_parts(tn__module_split(worker->module)); i += worker->step)
        if (compile_part(worker->module, i, worker->level, worker->stubs, &worker->objects[i], &worker->err))
            return worker->err.text;
    return NULL;
}

/* One thread compiles all where the module is. Two, at level 1, come into each other's way, and go on with copies. */
static void compile_parts(struct tn__module *module, int level, bool stubs, struct tn_buffer *objects)
{
    const size_t threads = level == 1 ? 2 : 1;
    struct worker workers[2];
    pthread_t thread[2];
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){module, i, threads, level, stubs, objects, {0}};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < threads; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        if (failed)
            fail_msg("%s", (const char *)failed);
    }
}

/* Compiles each part on its own. */
static void add_parts(struct linked *linked, const void *ir, size_t length, int level, bool stubs)
{
    struct tn_compile_options options = {DEFAULTS, .opt_level = level};
    struct tn__module *module;
    if (tn__module_open("test.ll", ir, length, &options, "7", false, &module, &linked->err))
        fail_msg("%s", linked->err.text);
    assert_false(tn__module_is_whole(module));
    size_t parts = tn__split_parts(tn__module_split(module));
    struct tn_buffer *objects = calloc(parts, sizeof *objects);
    compile_parts(module, level, stubs, objects);
    for (size_t i = 0; i < parts; i++) {
        add(linked, &objects[i]);
        define_plain_names(linked, module, i, stubs);
    }
    free(objects);
    tn__module_close(module);
}

static uint64_t run(struct linked *linked)
{
    void *address;
    if (tn_link(linked->library, &linked->err) || tn_lookup(linked->library, "run", &address, &linked->err) ||
        tn_run_initializers(linked->library, 0, NULL, NULL, &linked->err))
        fail_msg("%s", linked->err.text);
    uint64_t (*function)(void);
    memcpy(&function, &address, sizeof function);
    uint64_t result = function();
    tn_run_finalizers(linked->library);
    tn_session_destroy(linked->session);
    return result;
}

static uint64_t run_whole(const void *ir, size_t length, int level)
{
    struct tn_compile_options options = {DEFAULTS, .opt_level = level};
    struct linked linked = create();
    struct outcome outcome = compile(ir, length, &options);
    if (outcome.code)
        fail_msg("%s", outcome.err.text);
    add(&linked, &outcome.out);
    return run(&linked);
}

static void check(const char *name, const void *ir, size_t length)
{
    for (int level = 0; level <= 2; level++) {
        uint64_t whole = run_whole(ir, length, level);
        for (int stubs = 0; stubs <= 1; stubs++) {
            struct linked linked = create();
            add_parts(&linked, ir, length, level, stubs);
            uint64_t parts = run(&linked);
            if (parts != whole)
                fail_msg("%s, level %d, stubs %d: %llx, not %llx", name, level, stubs, (unsigned long long)parts,
                         (unsigned long long)whole);
        }
    }
}

static void parts_do_what_the_whole_does(void **state)
{
    (void)state;
    for_each_program(programs, COUNT(programs), check);
}

/* Each row defines run(), whose answer is 1 if all is as it should be. */
static const struct {
    const char *what, *ir;
    size_t parts;
} hard[] = {
    {"a table of block addresses",
     "@table = internal constant [2 x ptr] [ptr blockaddress(@pick, %one), ptr blockaddress(@pick, %two)]\n"
     "@other = global ptr @table\n"
     "define internal i64 @pick(i64 %i) {\n  %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i\n"
     "  %b = load ptr, ptr %p\n  indirectbr ptr %b, [label %one, label %two]\n"
     "one:\n  ret i64 1\ntwo:\n  ret i64 2\n}\n"
     "define i64 @run() {\n  %a = call i64 @pick(i64 0)\n  %b = call i64 @pick(i64 1)\n  %s = add i64 %a, %b\n"
     "  %o = load ptr, ptr @other\n  %t = icmp eq ptr %o, @table\n  %z = zext i1 %t to i64\n  %u = add i64 %s, %z\n"
     "  %r = icmp eq i64 %u, 4\n  %y = zext i1 %r to i64\n  ret i64 %y\n}\n",
     3},
    {"aliases",
     "@value = internal global i64 5\n@also = alias i64, ptr @value\n"
     "@second = alias i64, getelementptr (i8, ptr @value, i64 0)\n"
     "@same = alias i64 (i64), ptr @local\n@again = internal alias i64 (i64), ptr @same\n"
     "define internal i64 @local(i64 %x) {\n  %v = load i64, ptr @also\n  %s = add i64 %x, %v\n  ret i64 %s\n}\n"
     "define i64 @run() {\n  %a = call i64 @same(i64 1)\n  %b = call i64 @again(i64 %a)\n  %c = load i64, ptr @second\n"
     "  %d = add i64 %b, %c\n  %e = icmp eq i64 %d, 16\n  %f = icmp eq ptr @same, @again\n  %g = and i1 %e, %f\n"
     "  %y = zext i1 %g to i64\n  ret i64 %y\n}\n",
     3},
    {"an indirect function",
     "@chosen = ifunc i64 (), ptr @choose\n"
     "define internal i64 @one() {\n  ret i64 1\n}\n"
     "define internal ptr @choose() {\n  ret ptr @one\n}\n"
     "define i64 @run() {\n  %a = call i64 @chosen()\n  ret i64 %a\n}\n",
     3},
    {"initializers in order, and what they set",
     "@list = hidden global i64 0\n"
     "@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 300, ptr @late, ptr null "
     "}, "
     "{ i32, ptr, ptr } { i32 200, ptr @early, ptr @list }]\n"
     "@llvm.used = appending global [2 x ptr] [ptr @list, ptr @late], section \"llvm.metadata\"\n"
     "define internal void @early() {\n  store i64 3, ptr @list\n  ret void\n}\n"
     "define hidden void @late() {\n  %a = load i64, ptr @list\n  %b = mul i64 %a, 7\n  store i64 %b, ptr @list\n"
     "  ret void\n}\n"
     "define i64 @run() {\n  %a = load i64, ptr @list\n  %e = icmp eq i64 %a, 21\n  %y = zext i1 %e to i64\n"
     "  ret i64 %y\n}\n",
     4},
    {"comdats, weak and unnamed things",
     "$group = comdat any\n$inline = comdat any\n@group = weak_odr global i64 4, comdat\n@0 = internal global i64 6\n"
     "@missing = extern_weak global i64\ndeclare extern_weak void @absent()\n"
     "define linkonce_odr i64 @inline() comdat {\n  %a = load i64, ptr @group\n  ret i64 %a\n}\n"
     "define i64 @strong() comdat($group) {\n  %a = load i64, ptr @0\n  ret i64 %a\n}\n"
     "define weak i64 @weak() {\n  ret i64 5\n}\n"
     "define i64 @run() {\n  %a = call i64 @inline()\n  %b = call i64 @strong()\n  %c = call i64 @weak()\n"
     "  %d = add i64 %a, %b\n  %e = add i64 %d, %c\n  %f = icmp eq i64 %e, 15\n  %g = icmp eq ptr @missing, null\n"
     "  %h = and i1 %f, %g\n  %i = icmp eq ptr @absent, null\n  %j = and i1 %h, %i\n  %y = zext i1 %j to i64\n"
     "  ret i64 %y\n}\n",
     5},
    {"functions as metadata, and the address of oneself",
     "define internal i64 @a() {\n  ret i64 1\n}\ndefine internal i64 @b() {\n  ret i64 2\n}\n"
     "define ptr @self() noinline {\n  ret ptr @self\n}\n"
     "define i64 @run() {\n  %p = select i1 true, ptr @a, ptr @b\n  %r = call i64 %p(), !callees !0\n"
     "  %q = call ptr @self()\n  %e = icmp eq ptr %q, @self\n  %y = zext i1 %e to i64\n  %z = and i64 %r, %y\n"
     "  ret i64 %z\n}\n!0 = !{ptr @a, ptr @b}\n",
     5},
    {"a function that has to be inlined, and one that throws",
     "declare i32 @__gxx_personality_v0(...)\n"
     "define internal i64 @must(i64 %x) alwaysinline {\n  %a = mul i64 %x, 3\n  ret i64 %a\n}\n"
     "define i64 @calls(ptr %f) personality ptr @__gxx_personality_v0 {\n  %r = invoke i64 %f(i64 7) to label %ok "
     "unwind label %bad\n"
     "ok:\n  ret i64 %r\nbad:\n  %p = landingpad { ptr, i32 } cleanup\n  resume { ptr, i32 } %p\n}\n"
     "define i64 @run() {\n  %a = call i64 @must(i64 5)\n  %b = call i64 @calls(ptr @must)\n  %c = add i64 %a, %b\n"
     "  %e = icmp eq i64 %c, 36\n  %y = zext i1 %e to i64\n  ret i64 %y\n}\n",
     4},
};

static struct tn_buffer bitcode_of(const char *ir, size_t length)
{
    struct tn_buffer bitcode = {0};
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = parse_module(context, ir, length);
    assert_int_equal(tn__module_write(module, &bitcode, NULL), 0);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return bitcode;
}

static void hard_to_part(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(hard); i++) {
        struct tn_compile_options options = {DEFAULTS};
        struct tn__module *module;
        struct tn_error err;
        if (tn__module_open(hard[i].what, hard[i].ir, strlen(hard[i].ir), &options, "1", false, &module, &err))
            fail_msg("%s: %s", hard[i].what, err.text);
        if (tn__split_parts(tn__module_split(module)) != hard[i].parts)
            fail_msg("%s: %zu parts", hard[i].what, tn__split_parts(tn__module_split(module)));
        tn__module_close(module);
        assert_int_equal(run_whole(hard[i].ir, strlen(hard[i].ir), 0), 1);
        check(hard[i].what, hard[i].ir, strlen(hard[i].ir));
        struct tn_buffer bitcode = bitcode_of(hard[i].ir, strlen(hard[i].ir));
        check(hard[i].what, bitcode.data, bitcode.size);
        tn_buffer_free(&bitcode);
    }
}

/* Modules of the same IR: as bitcode twice, and as text, whose bodies are all there from the beginning. */
static void open_ways(const char *name, const struct tn_buffer *bitcode, const struct tn_compile_options *options,
                      struct tn__module *modules[3])
{
    struct tn_compile_options as_text = {DEFAULTS, .passes = "", .emit = TN_EMIT_LLVM};
    struct outcome text = compile(bitcode->data, bitcode->size, &as_text);
    assert_int_equal(text.code, 0);
    for (int i = 0; i < 3; i++) {
        const struct tn_buffer *ir = i < 2 ? bitcode : &text.out;
        struct tn_error err;
        if (tn__module_open(name, ir->data, ir->size, options, "7", false, &modules[i], &err))
            fail_msg("%s: %s", name, err.text);
    }
    tn_buffer_free(&text.out);
}

/* The object of a part depends on the part alone: not on what else was compiled before, in which order, whether the
 * part was compiled before, in the module's context or in one of its own, and how the module was read. */
static void check_objects(const char *name, const void *ir, size_t length)
{
    struct tn_compile_options options = {DEFAULTS, .opt_level = 2};
    struct tn_buffer own = {0}, bitcode = {.data = (void *)ir, .size = length};
    if (!tn__llvm_is_bitcode(ir, length))
        own = bitcode = bitcode_of(ir, length);
    struct tn__module *modules[3];
    open_ways(name, &bitcode, &options, modules);
    size_t parts = tn__split_parts(tn__module_split(modules[0]));
    struct tn_buffer *objects = calloc(parts, sizeof *objects);
    for (size_t part = 0; part < parts; part++)
        assert_int_equal(compile_part(modules[0], part, 2, true, &objects[part], NULL), 0);
    static const struct {
        const char *what;
        int module, level;
    } rows[] = {
        {"once more", 0, 2},
        {"backwards", 1, 2},
        {"in the background", 1, 2 | IN_BACKGROUND},
        {"from text", 2, 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t part = parts; part-- > 0;) {
            struct tn_buffer object;
            assert_int_equal(compile_part(modules[rows[i].module], part, rows[i].level, true, &object, NULL), 0);
            if (object.size != objects[part].size || memcmp(object.data, objects[part].data, object.size) != 0)
                fail_msg("%s: part %zu differs %s", name, part, rows[i].what);
            tn_buffer_free(&object);
        }
    for (size_t part = 0; part < parts; part++)
        tn_buffer_free(&objects[part]);
    free(objects);
    for (int i = 0; i < 3; i++)
        tn__module_close(modules[i]);
    tn_buffer_free(&own);
}

static void objects_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(programs); i++) {
        for_program(programs[i], "plain", check_objects);
        for_program(programs[i], "O2", check_objects); /* with debug information: all bodies are read at first */
    }
    for (size_t i = 0; i < COUNT(hard); i++)
        check_objects(hard[i].what, hard[i].ir, strlen(hard[i].ir));
}

/* A part that LLVM gives up in is an error as often as it is asked for; the others are compiled all the same. */
static void given_up(void **state)
{
    (void)state;
    static const char ir[] = "declare i32 @llvm.aarch64.crc32b(i32, i32)\n"
                             "define i64 @one() {\n  ret i64 1\n}\n"
                             "define i32 @bad(i32 %a) {\n  %r = call i32 @llvm.aarch64.crc32b(i32 %a, i32 1)\n"
                             "  ret i32 %r\n}\n"
                             "define i64 @run() {\n  %a = call i64 @one()\n  %b = add i64 %a, 6\n  ret i64 %b\n}\n";
    static const struct {
        size_t part;
        int code;
    } rows[] = {{1, 0}, {2, TN_EFATAL}, {2, TN_EFATAL}, {3, 0}};
    struct tn_compile_options options = {X86};
    struct tn__module *module;
    struct linked linked = create();
    if (tn__module_open("test.ll", ir, strlen(ir), &options, "1", false, &module, &linked.err))
        fail_msg("%s", linked.err.text);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_buffer object;
        if (compile_part(module, rows[i].part, options.opt_level, true, &object, &linked.err) != rows[i].code)
            fail_msg("row %zu: %s", i, linked.err.text);
        if (rows[i].code == 0) {
            add(&linked, &object);
            define_plain_names(&linked, module, rows[i].part, true);
        }
    }
    assert_int_equal(run(&linked), 7);
    tn__module_close(module);
}

/* The linker has to see the object of such a module to know what it defines. */
static void opaque(void **state)
{
    (void)state;
    static const struct {
        const char *ir;
        bool opaque;
    } rows[] = {
        {"@a = global i64 1\ndefine i64 @run() {\n  ret i64 1\n}\n", false},
        {"@a = common global i64 0\ndefine i64 @run() {\n  ret i64 1\n}\n", true},
        {"module asm \".globl hidden_thing\"\ndefine i64 @run() {\n  ret i64 1\n}\n", true},
    };
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        bool whole = i % 2;
        const char *ir = rows[i / 2].ir;
        struct tn_compile_options options = {DEFAULTS};
        struct tn__module *module;
        assert_int_equal(tn__module_open("test.ll", ir, strlen(ir), &options, "1", whole, &module, NULL), 0);
        assert_int_equal(tn__split_is_opaque(tn__module_split(module)), rows[i / 2].opaque);
        assert_int_equal(tn__module_is_whole(module), rows[i / 2].opaque || whole);
        tn__module_close(module);
    }
}

static void refused_as_by_the_compiler(void **state)
{
    (void)state;
    static const char *const rows[] = {"define i64 @f() {", "define i64 @f() {\n  ret i32 0\n}\n",
                                       "target triple = \"nonesuch\"\ndefine void @f() {\n  ret void\n}\n"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_compile_options options = {DEFAULTS};
        struct tn__module *module;
        struct tn_error err;
        struct outcome outcome = compile_text(rows[i], &options);
        assert_int_equal(tn__module_open("test.ll", rows[i], strlen(rows[i]), &options, "1", false, &module, &err),
                         outcome.code);
        assert_string_equal(err.text, outcome.err.text);
        assert_null(module);
    }
}

/* A module is not divided if that would show. */
static void whole(void **state)
{
    (void)state;
#define TWO "define i64 @one() {\n  ret i64 1\n}\ndefine i64 @two() {\n  ret i64 2\n}\n"
    static const struct {
        const char *what, *ir;
        bool is_whole;
    } rows[] = {
        {"two functions", TWO, false},
        {"assembly", "module asm \".globl x\"\n" TWO, true},
        {"common symbols", "@c = common global i64 0\n" TWO, true},
        {"a weak alias", "@n = global i64 0\n@a = weak alias i64, ptr @n\n" TWO, true},
        {"a strong alias", "@n = global i64 0\n@a = alias i64, ptr @n\n" TWO, false},
        {"names for assembly",
         "@n = internal global i64 0\n@llvm.used = appending global [1 x ptr] [ptr @n], section "
         "\"llvm.metadata\"\n" TWO,
         true},
        {"names that others see",
         "@n = global i64 0\n@llvm.used = appending global [1 x ptr] [ptr @n], section \"llvm.metadata\"\n" TWO, false},
        {"borders of a set", "@__start_set = external global i64\n" TWO, true},
        {"hashes", TWO "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"kcfi\", i32 1}\n", true},
        {"names with sizes", "define x86_vectorcallcc i64 @v(i64 %n) {\n  ret i64 %n\n}\n" TWO, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_compile_options options = {DEFAULTS};
        struct tn__module *module;
        struct tn_error error;
        if (tn__module_open("test.ll", rows[i].ir, strlen(rows[i].ir), &options, "7", false, &module, &error))
            fail_msg("%s: %s", rows[i].what, error.text);
        if (tn__module_is_whole(module) != rows[i].is_whole)
            fail_msg("%s: %s", rows[i].what, rows[i].is_whole ? "it is divided" : "it is whole");
        tn__module_close(module);
    }
#undef TWO
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_do_what_the_whole_does), cmocka_unit_test(hard_to_part), cmocka_unit_test(whole),
        cmocka_unit_test(objects_are_the_same),         cmocka_unit_test(given_up),     cmocka_unit_test(opaque),
        cmocka_unit_test(refused_as_by_the_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
