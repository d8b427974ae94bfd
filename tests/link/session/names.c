/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Programs that keep using new names do not grow: removed objects leave nothing in the tables of names. */

#include "elf_builder.h"

#include <stdlib.h>

#include "functions.h"

/* ---- how much memory there is in use ---- */

static size_t live;

static void *count_allocate(void *unused, size_t size)
{
    (void)unused;
    size_t *block = malloc(size + 16);
    if (!block)
        return NULL;
    *block = size;
    live += size;
    return (char *)block + 16;
}

static void count_release(void *unused, void *memory)
{
    (void)unused;
    if (!memory)
        return;
    size_t *block = (size_t *)(void *)((char *)memory - 16);
    live -= *block;
    free(block);
}

static void *count_reallocate(void *unused, void *memory, size_t size)
{
    char *to = count_allocate(unused, size);
    if (to && memory) {
        size_t old = *(size_t *)(void *)((char *)memory - 16);
        memcpy(to, memory, old < size ? old : size);
        count_release(unused, memory);
    }
    return to;
}

static const struct tn_allocator counting = {NULL, count_allocate, count_reallocate, count_release};

/* ---- what is done with each name ---- */

/* `object` defines a function whose name is at `name`, and refers to the one at `callee`. */
struct world {
    struct tn_library *library, *other; /* searches the first one */
    struct tn_tracker *tracker, *other_tracker;
    struct tn_input object;
    char *name, *callee;
};

static int look_up(struct tn_library *library, const char *name)
{
    void *address;
    int code = tn_lookup(library, name, &address, NULL);
    return code ? code : ((int (*)(void))address)() != 42;
}

static int add(const struct world *w)
{
    return tn_add_object(w->library, &w->object, NULL);
}

static int add_and_call(struct world *w)
{
    return add(w) || look_up(w->library, w->name);
}

static int add_only(struct world *w)
{
    return add(w);
}

static int find_elsewhere(struct world *w)
{
    return add(w) || look_up(w->other, w->name);
}

static int look_for_nothing(struct world *w)
{
    return look_up(w->library, w->name) != TN_EUNDEF || look_up(w->other, w->name) != TN_EUNDEF;
}

static int retire(struct world *w)
{
    return add(w) || look_up(w->library, w->name) || tn_tracker_retire(w->tracker, NULL);
}

static int lead_on(struct world *w)
{
    const struct tn_reexport alias = {.name = w->name, .target = w->callee};
    const struct tn_definition definition = {.name = w->callee, .address = w};
    void *address;
    return tn_reexport(w->other, &alias, 1, w->library, w->other_tracker, NULL) ||
           tn_define_all(w->library, &definition, 1, w->tracker, NULL) ||
           tn_lookup(w->other, w->name, &address, NULL) || address != w;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const struct world *w = context;
    return tn_responsibility_add_object(responsibility, &w->object, err);
}

static int promise(struct world *w)
{
    const struct tn_promised symbol = {w->name, 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "maker",
                                                 .context = w,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make,
                                                 .owner = w->tracker};
    return tn_add_materializer(w->library, &materializer, NULL) || look_up(w->other, w->name);
}

static void cannot(void)
{
}

static int call_lazily(struct world *w)
{
    const struct tn_lazy_symbol symbol = {.name = w->name};
    const struct tn_stub_options options = {.size = sizeof options, .owner = w->other_tracker, .on_failure = cannot};
    return add(w) || tn_define_lazy(w->other, &symbol, 1, w->library, &options, NULL) || look_up(w->other, w->name);
}

static const struct row {
    const char *name;
    int (*once)(struct world *w);
    int cycles;
} rows[] = {
    {"added and called", add_and_call, 1000000},
    {"added and never linked", add_only, 100000},
    {"found in another library", find_elsewhere, 100000},
    {"looked for in vain", look_for_nothing, 100000},
    {"retired", retire, 30000},
    {"other names of others", lead_on, 100000},
    {"made when needed", promise, 100000},
    {"linked when called", call_lazily, 30000},
};

/* ---- the cycles ---- */

static char *find_text(const struct bytes *bytes, const char *text)
{
    char *found = memmem(bytes->at, bytes->size, text, strlen(text));
    assert_non_null(found);
    return found;
}

static void cycle(struct world *w, const struct row *row, int from, int to)
{
    for (int i = from; i < to; i++) {
        char digits[16];
        snprintf(digits, sizeof digits, "%07d", i);
        memcpy(w->name + 4, digits, 7);
        memcpy(w->callee + 4, digits, 7);
        int code = row->once(w);
        code = code || tn_tracker_remove(w->other_tracker, NULL) || tn_tracker_remove(w->tracker, NULL);
        if (code)
            fail_msg("%s: in cycle %d", row->name, i);
    }
}

static struct bytes object_with_names(void)
{
    static struct elf elf;
    uint8_t code[ANSWER_SIZE];
    put_answer(code, 42);
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_function(&elf, "name0000000", text, 0);
    elf_symbol(&elf, "call0000000", STB_WEAK, STT_NOTYPE, SHN_UNDEF, 0, 0);
    return elf_finish(&elf);
}

static void stays_as_large(void **state)
{
    const struct row *row = *state;
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .allocator = &counting};
    struct fixture f = open_fixture(&options);
    struct bytes bytes = object_with_names();
    struct world w = {.library = f.library, .name = find_text(&bytes, "name0"), .callee = find_text(&bytes, "call0")};
    assert_ok(tn_library_create(f.session, "other", &w.other, &err), &err);
    assert_ok(tn_library_search(w.other, &(struct tn_search){f.library, 0}, 1, &err), &err);
    assert_ok(tn_tracker_create(f.library, &w.tracker, &err), &err);
    assert_ok(tn_tracker_create(w.other, &w.other_tracker, &err), &err);
    w.object = (struct tn_input){
        .size = sizeof w.object, .name = "object", .bytes = bytes.at, .length = bytes.size, .owner = w.tracker};
    cycle(&w, row, 0, 10000);
    size_t before = live;
    cycle(&w, row, 10000, row->cycles);
    print_message("%zu bytes after 10000 cycles, %zu after %d\n", before, live, row->cycles);
    assert_true(live < before + 4096);
    close_fixture(&f);
    assert_int_equal(live, 0);
    free(bytes.at);
}

int main(void)
{
    return RUN_ROWS("names", rows, stays_as_large);
}
