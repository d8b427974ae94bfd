/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects that clang has compiled for macOS on x86-64 run here: the calling convention is Linux's. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unwind.h>

#include "link/format/macho/macho.h"
#include "support.h"

static const struct tn_format *const formats[] = {&tn_format_elf_x86_64, &tn_format_macho_x86_64, NULL};
static const struct tn_session_options options = {.size = sizeof options, .formats = formats};

static const char *file_of(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "macho/%s.o", name);
    return data_file(path);
}

static void add(const struct fixture *f, const char *name)
{
    struct tn_error err;
    assert_ok(tn_add_file(f->library, file_of(name), &err), &err);
}

static bool skips(void)
{
    if (data_exists("macho/other.o"))
        return false;
    skip();
    return true;
}

static int call_with(const struct fixture *f, const char *name, int argument)
{
    void *address = lookup(f, name);
    int (*function)(int);
    memcpy(&function, &address, sizeof function);
    return function(argument);
}

static bool is_there(const struct fixture *f, const char *name)
{
    void *address;
    return !tn_lookup(f->library, name, &address, NULL);
}

/* ---- C ---- */

static void *call_thread_local(void *f)
{
    return (void *)(intptr_t)call(f, "thread_local_data");
}

static void check_program(const struct fixture *f)
{
    struct tn_error err;
    link_all(f);
    assert_ok(tn_run_initializers(f->library, 0, NULL, NULL, &err), &err);
    assert_int_equal(call(f, "data"), 8 + 6 + 3);
    assert_int_equal(call_with(f, "jumps", 0), 8);
    assert_int_equal(call_with(f, "jumps", 1), 9 + 6 + 3);
    assert_int_equal(call_with(f, "jumps", 2), 30);
    assert_int_equal(call_with(f, "jumps", 3), 1003);
    assert_int_equal(call_with(f, "jumps", 4), 2);  /* the strong one, of the other object */
    assert_int_equal(call_with(f, "jumps", 5), 40); /* the initializer has run */
    assert_int_equal(call_with(f, "jumps", 6), -1); /* a weak reference to nothing */
    assert_int_equal(call_with(f, "jumps", 7), 0);
    assert_int_equal(call(f, "calls_hidden"), 3);
    assert_int_equal(call(f, "references"), 30);
    double (*constant)(double);
    void *address = lookup(f, "constant");
    memcpy(&constant, &address, sizeof constant);
    assert_true(constant(2) == 8);
    assert_int_equal(call(f, "thread_local_data"), 711);
    assert_int_equal(call(f, "thread_local_data"), 922);
    pthread_t thread;
    void *answer;
    assert_int_equal(pthread_create(&thread, NULL, call_thread_local, (void *)(uintptr_t)f), 0);
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_int_equal((intptr_t)answer, 711); /* every thread has its own */
    volatile int stored;
    void (*store)(volatile int *);
    address = lookup(f, "store_immediates");
    memcpy(&store, &address, sizeof store);
    store(&stored);
    assert_int_equal(stored & 0xff, 0x01 + 0x02 + 0x04);
    const int *common = lookup(f, "common");
    assert_int_equal(common[2], 0x1020304);
    assert_false(is_there(f, "hidden"));
    assert_false(is_there(f, "_data"));
}

static void c_program(const char *name)
{
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    add(&f, name);
    add(&f, "other");
    check_program(&f);
    close_fixture(&f);
}

static void test_c_unoptimised(void **state)
{
    (void)state;
    c_program("program_O0");
}

static void test_c_optimised(void **state)
{
    (void)state;
    c_program("program_O2");
}

/* Functions are atoms of their own: what the roots do not lead to is left out, with what it refers to. */
static void test_stripping(void **state)
{
    (void)state;
    if (skips())
        return;
    static const char *const roots[] = {"data"};
    struct tn_error err;
    struct fixture f = open_fixture(&options);
    add(&f, "program_O2");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    assert_int_equal(call(&f, "data"), 8 + 6 + 3);
    assert_true(is_there(&f, "common"));
    assert_false(is_there(&f, "jumps"));
    assert_false(is_there(&f, "unused"));
    close_fixture(&f);
}

static void strip_atoms(const struct fixture *f, bool splits)
{
    enum { FLAGS = 24 };
    static const char *const roots[] = {"outer", "root"};
    struct tn_error err;
    struct bytes object = read_bytes(file_of("atoms"));
    if (!splits)
        object.at[FLAGS + 1] &= (uint8_t) ~(TN__MACHO_SPLITS >> 8);
    add_bytes(f, "atoms.o", object.at, object.size);
    assert_ok(tn_link_roots(f->library, roots, COUNT(roots), &err), &err);
    free(object.at);
}

/* Other entries of a function, sections of literals, and what says that it stays. */
static void test_atoms(void **state)
{
    (void)state;
    if (skips())
        return;
    static const char *const kept[] = {"inner", "kept", "text_a", "four_a", "eight_a", "sixteen_a", "table_a", "ended"};
    static const char *const dropped[] = {"unused", "datum_a", "datum_b"};
    struct fixture f = open_fixture(&options);
    strip_atoms(&f, true);
    assert_int_equal(call(&f, "outer"), 23);
    assert_int_equal(call(&f, "root"), 'b' + 2 + 4 + 6);
    for (size_t i = 0; i < COUNT(kept); i++)
        assert_true(is_there(&f, kept[i]));
    for (size_t i = 0; i < COUNT(dropped); i++)
        assert_false(is_there(&f, dropped[i]));
    struct tn_error err;
    const int *ended = lookup(&f, "ended");
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
    assert_int_equal(*ended, 0);
    tn_run_finalizers(f.library);
    assert_int_equal(*ended, 1);
    close_fixture(&f);

    f = open_fixture(&options); /* a file whose sections are not to be cut */
    strip_atoms(&f, false);
    assert_true(is_there(&f, "unused"));
    assert_false(is_there(&f, "datum_a")); /* whole sections are stripped */
    close_fixture(&f);
}

/* Sections of the client beside a format that is not the host's own. */
static void test_injected(void **state)
{
    (void)state;
    if (skips())
        return;
    static const struct tn_format *const alone[] = {&tn_format_macho_x86_64, NULL};
    const struct tn_session_options only_macho = {.size = sizeof only_macho, .formats = alone};
    const int number = 30;
    const struct tn_section_symbol symbols[] = {{.name = "elsewhere"}};
    const struct tn_section section = {.size = sizeof section,
                                       .name = "given",
                                       .kind = TN_SECTION_DATA,
                                       .bytes = &number,
                                       .length = sizeof number,
                                       .alignment = 4,
                                       .symbols = symbols,
                                       .symbol_count = COUNT(symbols)};
    struct fixture f = open_fixture(&only_macho);
    struct tn_error err;
    assert_ok(tn_add_section(f.library, &section, &err), &err);
    add(&f, "program_O2");
    assert_int_equal(call(&f, "references"), 30);
    close_fixture(&f);
}

static void test_undefined(void **state)
{
    (void)state;
    if (skips())
        return;
    struct tn_error err;
    struct fixture f = open_fixture(&options);
    add(&f, "program_O2");
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'elsewhere' needed by", "program_O2.o(__TEXT,__text+0x",
                 "in jumps");
    close_fixture(&f);
}

/* ---- weak definitions ---- */

static void test_one_copy(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    add(&f, "weak_1");
    add(&f, "weak_2");
    assert_int_equal(call(&f, "only_first"), 1);
    assert_int_equal(call(&f, "only_second"), 1);
    void *const *first = lookup(&f, "first_address"), *const *second = lookup(&f, "second_address");
    assert_ptr_equal(*first, *second);
    assert_ptr_equal(*first, lookup(&f, "weak_function"));
    struct tn_stats both = stats_of(&f);
    close_fixture(&f);
    f = open_fixture(&options);
    add(&f, "weak_1");
    call(&f, "only_first");
    struct tn_stats one = stats_of(&f);
    close_fixture(&f);
    assert_true(both.relocations < 2 * one.relocations); /* those of the second copy are left out */
}

/* A copy takes the place of a removed one. */
static void test_other_copy(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    struct tn_tracker *tracker;
    struct tn_error err;
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    struct bytes first = read_bytes(file_of("weak_1"));
    const struct tn_input input = {
        .size = sizeof input, .name = "weak_1.o", .bytes = first.at, .length = first.size, .owner = tracker};
    assert_ok(tn_add_object(f.library, &input, &err), &err);
    add(&f, "weak_2");
    assert_ok(tn_tracker_remove(tracker, &err), &err);
    assert_int_equal(call(&f, "only_second"), 2);
    close_fixture(&f);
    free(first.at);
}

/* ---- containers ---- */

/* The index has the names of the files. */
static void archive_of(const char *name)
{
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    char path[64];
    snprintf(path, sizeof path, "macho/%s", name);
    add(&f, "program_O2");
    assert_ok(tn_add_file(f.library, data_file(path), &err), &err);
    check_program(&f);
    assert_int_equal(call(&f, "only_first"), 1);
    close_fixture(&f);
}

static void test_archives(void **state)
{
    (void)state;
    static const char *const names[] = {"darwin.a", "gnu.a", "universal.a", "universal64.a"};
    for (size_t i = 0; i < COUNT(names); i++)
        archive_of(names[i]);
}

static void test_universal(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    add(&f, "program_O2");
    add(&f, "universal");
    check_program(&f);
    close_fixture(&f);
}

static void test_not_named(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    assert_error(tn_add_file(f.library, file_of("other"), &err), TN_ENOTSUP, &err, "tn_format_macho_x86_64");
    assert_error(tn_add_file(f.library, file_of("universal"), &err), TN_ENOTSUP, &err, "tn_format_macho_");
    close_fixture(&f);
    f = open_fixture(&options);
    assert_error(tn_add_file(f.library, file_of("arm64"), &err), TN_ENOTSUP, &err, "made for AArch64 (Mach-O)");
    close_fixture(&f);
}

/* ---- bounds, observers ---- */

static void test_bounds(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    add(&f, "bounds_1");
    add(&f, "bounds_2");
    link_all(&f);
    assert_int_equal(call(&f, "sum"), 433);
    close_fixture(&f);
    f = open_fixture(&options);
    struct tn_error err;
    static const char *const roots[] = {"sum"};
    add(&f, "bounds_1");
    add(&f, "bounds_2");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    assert_int_equal(call(&f, "sum"), 433);
    close_fixture(&f);
}

/* The sections of a segment by their names, and those of one name in link order. */
static void test_segment_bounds(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    add(&f, "bounds_1");
    add(&f, "bounds_2");
    link_all(&f);
    assert_int_equal(call(&f, "digits"), 189567);
    assert_int_equal(call(&f, "part_digits"), 567);
    close_fixture(&f);
    f = open_fixture(&options);
    add(&f, "bounds_2");
    add(&f, "bounds_1");
    link_all(&f);
    assert_int_equal(call(&f, "digits"), 189756);
    close_fixture(&f);
}

static void test_observers(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    struct tn_place place = {.size = sizeof place};
    assert_ok(tn_observe_functions(f.session, &err), &err);
    assert_ok(tn_observe_gdb(f.session, &err), &err);
    add(&f, "program_O0");
    add(&f, "other");
    const char *data = lookup(&f, "data");
    assert_ok(tn_symbolize(f.session, data + 1, &place, &err), &err);
    assert_string_equal(place.function, "data");
    assert_int_equal(place.offset, 1);
    close_fixture(&f);
}

/* ---- C++ ---- */

static char notes[256];

static void note(const char *text)
{
    strcat(strcat(notes, *notes ? " " : ""), text);
}

static void check_exceptions(const char *file)
{
    if (skips())
        return;
    void *cxx = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);
    if (!cxx)
        skip();
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    define(&f, "note", (const void *)note);
    add(&f, file);
    *notes = '\0';
    lookup(&f, "run");
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
    assert_string_equal(notes, "static");
    *notes = '\0';
    assert_int_equal(call(&f, "run"), 511);
    assert_int_equal(call(&f, "run"), 512);
    assert_string_equal(notes, "local gone local local gone local thread thread "
                               "local gone local local gone local thread");
    *notes = '\0';
    tn_run_finalizers(f.library);
    assert_string_equal(notes, "gone thread gone static");
    close_fixture(&f);
}

static void test_exceptions(void **state)
{
    (void)state;
    check_exceptions("throws");
}

/* The same without __eh_frame. */
static void test_exceptions_compact(void **state)
{
    (void)state;
    check_exceptions("throws_compact_O0");
    check_exceptions("throws_compact_O2");
    check_exceptions("throws_compact_omit");
}

/* ---- compact unwind: every order of saved registers ---- */

enum { RBX = 3, R12 = 12, R15 = 15, FRAMES = 4 };

/* The frames of `probe`, the function, call_with_values, and call_one. */
struct frames {
    void *functions[FRAMES];
    uintptr_t values[5]; /* rbx, r12 to r15 in the third */
    unsigned count;
};

static struct frames seen;

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *unused)
{
    (void)unused;
    if (seen.count == 2) {
        seen.values[0] = _Unwind_GetGR(context, RBX);
        for (int number = R12; number <= R15; number++)
            seen.values[1 + number - R12] = _Unwind_GetGR(context, number);
    }
    seen.functions[seen.count++] = _Unwind_FindEnclosingFunction((void *)(uintptr_t)_Unwind_GetIP(context));
    return seen.count == FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

__attribute__((noinline)) static int probe(void)
{
    seen = (struct frames){.count = 0};
    _Unwind_Backtrace(on_frame, NULL);
    return (int)seen.count;
}

typedef void call_with_values(const void *function);

__attribute__((noinline)) static int call_one(call_with_values *caller, const void *function)
{
    caller(function);
    return 1; /* so that the call is not the last instruction */
}

static void test_compact_frames(void **state)
{
    (void)state;
    if (skips())
        return;
    struct fixture f = open_fixture(&options);
    call_with_values *caller;
    define(&f, "probe", (const void *)probe);
    add(&f, "frames");
    void *const *functions = lookup(&f, "functions"), *address = lookup(&f, "call_with_values");
    memcpy(&caller, &address, sizeof caller);
    unsigned count = 0;
    for (; functions[count]; count++) {
        assert_int_equal(call_one(caller, functions[count]), 1);
        assert_int_equal(seen.count, FRAMES);
        assert_ptr_equal(seen.functions[1], functions[count]);
        assert_ptr_equal(seen.functions[2], address);
        assert_ptr_equal(seen.functions[3], (void *)call_one);
        for (unsigned i = 0; i < COUNT(seen.values); i++)
            assert_int_equal(seen.values[i], i + 1);
    }
    enum { ORDERS = 6 + 30 + 120 + 360 + 720 + 720, LARGE = 4, FRAMED = 7 };
    assert_int_equal(count, ORDERS + LARGE + FRAMED);
    close_fixture(&f);
}

/* A function that the roots do not lead to takes its entry along, and nothing that only the entry refers to is kept. */
static void test_compact_stripping(void **state)
{
    (void)state;
    if (skips())
        return;
    static const char *const roots[] = {"_ZN5NotedD1Ev"};
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    define(&f, "note", (const void *)note);
    add(&f, "throws_compact_O2");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    assert_false(is_there(&f, "run"));
    assert_true(is_there(&f, "_ZN5NotedD1Ev"));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c_unoptimised),  cmocka_unit_test(test_c_optimised),
        cmocka_unit_test(test_stripping),      cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_one_copy),       cmocka_unit_test(test_other_copy),
        cmocka_unit_test(test_exceptions),     cmocka_unit_test(test_archives),
        cmocka_unit_test(test_universal),      cmocka_unit_test(test_not_named),
        cmocka_unit_test(test_bounds),         cmocka_unit_test(test_segment_bounds),
        cmocka_unit_test(test_observers),      cmocka_unit_test(test_exceptions_compact),
        cmocka_unit_test(test_compact_frames), cmocka_unit_test(test_compact_stripping),
        cmocka_unit_test(test_atoms),          cmocka_unit_test(test_injected),
    };
    return cmocka_run_group_tests_name("link/macho", tests, NULL, NULL);
}
