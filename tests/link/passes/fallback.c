/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* When the definition that a name was bound to is removed, objects that are not linked yet fall back on their own
 * definitions. */

#include "elf_builder.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "functions.h"
#include "stubs.h"
#include "words.h"

static void remove_all(struct tn_tracker *tracker)
{
    struct tn_error err;
    assert_ok(tn_tracker_remove(tracker, &err), &err);
}

/* ---- one name, one object that goes, one that stays ---- */

/* `gone` is added first, then `here` and `later`; then `gone` is removed. */
static const struct row {
    const char *name;
    struct part gone, here, later;
    uint32_t before, after; /* the value of `word` */
    bool linked;            /* `gone` was linked before the others were added */
} rows[] = {
    {"weak to weak", {WEAK, "word", 1}, {WEAK, "word", 2}, {0}, 1, 2},
    {"linked weak to weak", {WEAK, "word", 1}, {WEAK, "word", 2}, {0}, 1, 2, true},
    {"strong to weak", {STRONG, "word", 1}, {WEAK, "word", 2}, {0}, 1, 2},
    {"linked strong to weak", {STRONG, "word", 1}, {WEAK, "word", 2}, {0}, 1, 2, true},
    {"strong to common", {STRONG, "word", 1}, {COMMON, "word", 4, 4}, {0}, 1, 0},
    {"common to common", {COMMON, "word", 8, 8}, {COMMON, "word", 4, 4}, {0}, 0, 0},
    {"common to weak", {COMMON, "word", 4, 4}, {WEAK, "word", 2}, {0}, 0, 2},
    {"the first weak one", {WEAK, "word", 1}, {WEAK, "word", 2}, {WEAK, "word", 3}, 1, 2},
    {"rather a common one", {STRONG, "word", 1}, {WEAK, "word", 2}, {COMMON, "word", 4, 4}, 1, 0},
    {"group to group", {INLINE, "word", 1}, {INLINE, "word", 2}, {0}, 1, 2},
    {"linked group to group", {INLINE, "word", 1}, {INLINE, "word", 2}, {0}, 1, 2, true},
    {"the first group", {INLINE, "word", 1}, {INLINE, "word", 2}, {INLINE, "word", 3}, 1, 2},
    {"strong to group", {STRONG, "word", 1}, {INLINE, "word", 2}, {0}, 1, 2},
    {"group to weak", {INLINE, "word", 1}, {WEAK, "word", 2}, {0}, 1, 2},
};

static struct fixture make(const struct row *row, struct tn_tracker **tracker)
{
    struct fixture f = open_fixture(NULL);
    *tracker = new_tracker(&f);
    add_words_of(&f, "gone.o", OBJECT(row->gone), *tracker);
    if (row->linked)
        link_all(&f);
    add_words(&f, "here.o", OBJECT(row->here, {UNDEFINED, "word"}));
    if (row->later.kind)
        add_words(&f, "later.o", OBJECT(row->later));
    return f;
}

static void falls_back(void **state)
{
    const struct row *row = *state;
    struct tn_tracker *tracker;
    struct fixture f = make(row, &tracker);
    assert_int_equal(word_at(&f, "word"), row->before); /* links it if it was not linked */
    remove_all(tracker);
    close_fixture(&f);
    f = make(row, &tracker);
    remove_all(tracker);
    link_all(&f);
    assert_int_equal(word_at(&f, "word"), row->after);
    assert_ptr_equal(*(void **)lookup(&f, "ref_word"), lookup(&f, "word"));
    close_fixture(&f);
}

/* ---- what may have been in the way ---- */

static void again_and_again(void **state)
{
    (void)state;
    enum { COPIES = 5 };
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *trackers[COPIES];
    for (uint32_t i = 0; i < COPIES; i++) {
        trackers[i] = new_tracker(&f);
        add_words_of(&f, "copy.o", OBJECT({INLINE, "group", i}, {WEAK, "weak", i}, {COMMON, "common", 4 * i + 4, 4}),
                     trackers[i]);
    }
    for (uint32_t i = 0; i < COPIES - 1; i++)
        remove_all(trackers[i]);
    assert_int_equal(word_at(&f, "group"), COPIES - 1);
    assert_int_equal(word_at(&f, "weak"), COPIES - 1);
    assert_int_equal(word_at(&f, "common"), 0);
    close_fixture(&f);
}

/* The larger common definition is removed. The others need not be as large, so a larger one may be added again. */
static void the_size_of_common_symbols_is_that_of_who_is_left(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    add_words_of(&f, "large.o", OBJECT({COMMON, "common", 1 << 20, 64}), tracker);
    add_words(&f, "small.o", OBJECT({COMMON, "common", 4, 4}));
    remove_all(tracker);
    link_all(&f);
    assert_true(stats_of(&f).data_bytes < 4096);
    close_fixture(&f);
}

static void add_weak(const struct fixture *f, const char *name, int value)
{
    struct tn_error err;
    const struct tn_input input = input_of("weak.o", weak_function_object(name, value));
    assert_ok(tn_add_object(f->library, &input, &err), &err);
}

/* The definition may have come from another library. */
static void what_a_removed_library_had_shown(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct tn_library *other;
    assert_ok(tn_library_create(f.session, "other", &other, &err), &err);
    add_function(other, "answer", 1, NULL, NULL);
    assert_ok(tn_reexport(f.library, &(struct tn_reexport){.name = "answer"}, 1, other, NULL, &err), &err);
    add_weak(&f, "answer", 42);
    assert_int_equal(call(&f, "answer"), 1);
    assert_ok(tn_library_remove(other, &err), &err);
    assert_int_equal(call(&f, "answer"), 42);
    close_fixture(&f);
}

static void the_clients_definitions_give_way_too(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    struct tn_error err;
    const struct tn_definition definition = {.name = "answer", .address = &f};
    assert_ok(tn_define_all(f.library, &definition, 1, tracker, &err), &err);
    add_weak(&f, "answer", 42);
    assert_ptr_equal(lookup(&f, "answer"), &f);
    remove_all(tracker);
    assert_int_equal(call(&f, "answer"), 42);
    close_fixture(&f);
}

static void so_do_lazy_functions(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    struct tn_error err;
    struct tn_stub_options options = stub_options;
    options.owner = tracker;
    assert_ok(tn_define_redirectable(f.library, "answer", (void *)(uintptr_t)failed_call, &options, &err), &err);
    add_weak(&f, "answer", 42);
    assert_int_equal(call(&f, "answer"), -1);
    remove_all(tracker);
    assert_int_equal(call(&f, "answer"), 42);
    close_fixture(&f);
}

static int never(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    (void)context, (void)responsibility, (void)err;
    return TN_EINVAL;
}

static void so_do_promises(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    struct tn_error err;
    const struct tn_promised symbol = {.name = "answer"};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "never",
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = never,
                                                 .owner = tracker};
    void *address;
    assert_ok(tn_add_materializer(f.library, &materializer, &err), &err);
    add_weak(&f, "answer", 42);
    assert_error(tn_lookup(f.library, "answer", &address, &err), TN_EINVAL, &err, "never");
    remove_all(tracker);
    assert_int_equal(call(&f, "answer"), 42);
    close_fixture(&f);
}

/* A definition added meanwhile stays, and the object that falls back refers to it. */
static void a_definition_that_came_meanwhile_stays(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    add_words_of(&f, "gone.o", OBJECT({INLINE, "group", 1}), tracker);
    add_words(&f, "here.o", OBJECT({INLINE, "group", 2}, {WEAK, "other", 2}, {UNDEFINED, "other"}));
    add_words(&f, "strong.o", OBJECT({STRONG, "other", 3}));
    remove_all(tracker);
    assert_int_equal(word_at(&f, "group"), 2);
    assert_int_equal(word_at(&f, "other"), 3);
    assert_ptr_equal(*(void **)lookup(&f, "ref_other"), lookup(&f, "other"));
    close_fixture(&f);
}

/* ---- objects that a link is working on ---- */

enum { PAGE = 4096, RELOCS = 3 * PAGE / sizeof(Elf64_Rela) };

static struct {
    uint8_t *file, *page; /* unreadable until the tracker is removed */
    size_t size;
    struct tn_tracker *tracker;
} gate;

/* In the middle of a scan, which holds the object but no lock. */
static void at_the_gate(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    uint8_t *at = info->si_addr;
    if (at < gate.page || at >= gate.page + PAGE)
        _exit(99);
    mprotect(gate.page, PAGE, PROT_READ);
    remove_all(gate.tracker);
    gate.tracker = NULL;
}

/* Defines `word` (weak), needs `nobody`, and has a page of relocations that stops its reader. */
static void make_gate(void)
{
    static struct elf elf;
    static uint64_t words[2] = {2};
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    for (size_t i = 0; i < RELOCS; i++)
        elf_reloc(&elf, data, 0, 0, R_X86_64_NONE, 0);
    elf_reloc(&elf, data, 8, elf_undefined(&elf, "nobody"), R_X86_64_64, 0);
    elf_symbol(&elf, "word", STB_WEAK, STT_OBJECT, data, 0, 8);
    struct bytes object = elf_finish(&elf);
    gate.size = (object.size + PAGE - 1) / PAGE * PAGE;
    gate.file = mmap(NULL, gate.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(gate.file != MAP_FAILED);
    memcpy(gate.file, object.at, object.size);
    gate.page = gate.file + (elf_section_of_type(object, SHT_RELA)->sh_offset + PAGE - 1) / PAGE * PAGE;
    free(object.at);
    assert_int_equal(mprotect(gate.page, PAGE, PROT_NONE), 0);
    const struct sigaction action = {.sa_sigaction = at_the_gate, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

static void who_is_being_linked_falls_back_when_that_has_failed(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__ /* ThreadSanitizer takes the handler for one of an asynchronous signal */
    skip();
#endif
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    gate.tracker = new_tracker(&f);
    add_words_of(&f, "gone.o", OBJECT({STRONG, "word", 1}), gate.tracker);
    link_all(&f);
    make_gate();
    add_bytes(&f, "here.o", gate.file, gate.size);
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'nobody'");
    signal(SIGSEGV, SIG_DFL);
    assert_null(gate.tracker);
    define(&f, "nobody", &f);
    assert_int_equal(word_at(&f, "word"), 2);
    close_fixture(&f);
    munmap(gate.file, gate.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(again_and_again),
        cmocka_unit_test(the_size_of_common_symbols_is_that_of_who_is_left),
        cmocka_unit_test(what_a_removed_library_had_shown),
        cmocka_unit_test(the_clients_definitions_give_way_too),
        cmocka_unit_test(so_do_lazy_functions),
        cmocka_unit_test(so_do_promises),
        cmocka_unit_test(a_definition_that_came_meanwhile_stays),
        cmocka_unit_test(who_is_being_linked_falls_back_when_that_has_failed),
    };
    int failed = RUN_ROWS("link/fallback", rows, falls_back);
    return failed + cmocka_run_group_tests_name("link/fallback", tests, NULL, NULL);
}
