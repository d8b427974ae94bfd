/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Definitions of a shared library with DT_GNU_HASH get entries in the library's table when their names are looked up,
 * those of one with DT_HASH alone when the file is added: there is no other difference. */

#include "maps.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "link/model/library.h"
#include "link/process/process.h"

static const struct tn_format *const formats[] = {&tn_format_elf_shared_x86_64, &tn_format_elf_x86_64, NULL};
static const char *const files[] = {"shared_names.gnu.so", "shared_names.sysv.so"};
static struct tn_error err;

static struct fixture open_names(void)
{
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    return open_fixture(&options);
}

static int other_weak(void)
{
    return 7;
}

static int define_as(const struct fixture *f, const char *name, uint64_t flags)
{
    const struct tn_definition definition = {name, (const void *)(uintptr_t)other_weak, flags};
    return tn_define_all(f->library, &definition, 1, NULL, &err);
}

static uint64_t flags_of(const struct fixture *f, const char *name)
{
    struct tn_known known = {name, 0};
    assert_ok(tn_lookup_flags(f->library, &known, 1, &err), &err);
    return known.flags;
}

static void check_all(const struct fixture *f)
{
    assert_int_equal(call(f, "answer"), 42);
    assert_int_equal(call(f, "calls_weak"), 1);
    assert_int_equal(*(int *)lookup(f, "value"), 5);
    int *(*address_of_value)(void);
    void *function = lookup(f, "address_of_value");
    memcpy(&address_of_value, &function, sizeof function);
    assert_ptr_equal(address_of_value(), lookup(f, "value"));
    assert_ptr_equal(((void **)lookup(f, "pointers"))[0], lookup(f, "answer"));
}

static void names_are_found(void **state)
{
    for (int linked = 0; linked < 2; linked++) {
        struct fixture f = open_names();
        add_file(&f, *state);
        if (linked)
            link_all(&f);
        assert_int_equal(flags_of(&f, "none"), 0);
        assert_int_equal(flags_of(&f, "local"), 0);
        assert_true(flags_of(&f, "answer") & TN_KNOWN_DEFINED);
        assert_true(flags_of(&f, "answer") & TN_KNOWN_CALLABLE);
        assert_false(flags_of(&f, "value") & TN_KNOWN_CALLABLE);
        assert_true(flags_of(&f, "weak") & TN_KNOWN_WEAK);
        check_all(&f);
        close_fixture(&f);
    }
}

/* ---- all of them ---- */

static int count(void *context, const struct tn_known *symbol)
{
    static const char *const names[] = {"value", "address_of_value", "answer", "weak", "calls_weak", "pointers"};
    for (size_t i = 0; i < COUNT(names); i++)
        *(unsigned *)context |= (unsigned)!strcmp(symbol->name, names[i]) << i;
    return strcmp(symbol->name, "local") ? 0 : 1;
}

static void all_are_listed(void **state)
{
    for (int linked = 0; linked < 2; linked++) {
        struct fixture f = open_names();
        unsigned seen = 0;
        add_file(&f, *state);
        if (linked)
            link_all(&f);
        assert_int_equal(tn_library_each_symbol(f.library, count, &seen, &err), 0);
        assert_int_equal(seen, 0x3f);
        check_all(&f);
        close_fixture(&f);
    }
}

/* Of a function that was not looked up. */
static void addresses_have_names(void **state)
{
    struct fixture f = open_names();
    Dl_info info;
    add_file(&f, *state);
    void **pointers = lookup(&f, "pointers");
    assert_true(tn__dladdr(pointers[0], &info));
    assert_string_equal(info.dli_sname, "answer");
    assert_ptr_equal(info.dli_saddr, pointers[0]);
    close_fixture(&f);
}

/* ---- other definitions ---- */

/* References of the library lead to the definition that wins. */
static void stronger_ones_win_before_a_link(void **state)
{
    for (int listed = 0; listed < 2; listed++) {
        struct fixture f = open_names();
        unsigned seen = 0;
        add_file(&f, *state);
        if (listed)
            assert_int_equal(tn_library_each_symbol(f.library, count, &seen, &err), 0);
        assert_ok(define_as(&f, "weak", 0), &err);
        assert_int_equal(call(&f, "calls_weak"), 7);
        assert_int_equal(call(&f, "weak"), 7);
        assert_ptr_equal(((void **)lookup(&f, "pointers"))[1], lookup(&f, "weak"));
        assert_int_equal(call(&f, "answer"), 42);
        close_fixture(&f);
    }
}

static void those_that_were_there_count(void **state)
{
    struct fixture f = open_names();
    assert_ok(define_as(&f, "weak", 0), &err);
    add_file(&f, *state);
    assert_int_equal(call(&f, "calls_weak"), 7);
    close_fixture(&f);
    f = open_names();
    assert_ok(define_as(&f, "answer", 0), &err);
    assert_error(tn_add_file(f.library, data_file(*state), &err), TN_EDUP, &err, "answer");
    close_fixture(&f);
}

static void later_ones_are_refused(void **state)
{
    for (int linked = 0; linked < 2; linked++) {
        struct fixture f = open_names();
        add_file(&f, *state);
        if (linked)
            link_all(&f);
        assert_error(define_as(&f, "answer", 0), TN_EDUP, &err, "answer", "shared_names");
        assert_ok(define_as(&f, "answer", TN_SYMBOL_WEAK), &err); /* gives way */
        if (linked)
            assert_error(define_as(&f, "weak", 0), TN_EDUP, &err, "weak", "linked already");
        check_all(&f);
        close_fixture(&f);
    }
}

static void a_second_library_is_refused(void **state)
{
    struct fixture f = open_names();
    add_file(&f, *state);
    for (size_t i = 0; i < COUNT(files); i++)
        assert_error(tn_add_file(f.library, data_file(files[i]), &err), TN_EDUP, &err, "shared_names");
    check_all(&f);
    close_fixture(&f);
}

/* Its names go with it, and others take their places. */
static void names_go(void **state)
{
    struct fixture f = open_names();
    for (int round = 0; round < 4; round++) {
        unsigned seen = 0;
        struct tn_input input = {.size = sizeof input, .name = "it.so", .owner = new_tracker(&f)};
        struct bytes bytes = read_bytes(data_file(*state));
        input.bytes = bytes.at;
        input.length = bytes.size;
        assert_ok(tn_add_object(f.library, &input, &err), &err);
        if (round == 1)
            link_all(&f);
        if (round == 2)
            assert_int_equal(call(&f, "answer"), 42);
        if (round == 3)
            assert_int_equal(tn_library_each_symbol(f.library, count, &seen, &err), 0);
        assert_ok(tn_tracker_remove(input.owner, &err), &err);
        free(bytes.at);
        assert_int_equal(flags_of(&f, "answer"), 0);
        assert_int_equal(flags_of(&f, "value"), 0);
    }
    assert_ok(define_as(&f, "answer", 0), &err);
    assert_int_equal(call(&f, "answer"), 7);
    close_fixture(&f);
}

static void others_find_them(void **state)
{
    for (uint64_t hidden = 0; hidden < 2; hidden++) {
        struct fixture f = open_names();
        struct tn_library *using;
        struct bytes bytes = read_bytes(data_file(*state));
        const struct tn_input input = {.size = sizeof input,
                                       .name = "it.so",
                                       .bytes = bytes.at,
                                       .length = bytes.size,
                                       .flags = hidden ? TN_INPUT_HIDDEN : 0};
        const struct tn_search search = {f.library, 0};
        void *address;
        assert_ok(tn_add_object(f.library, &input, &err), &err);
        assert_ok(tn_library_create(f.session, "using", &using, &err), &err);
        assert_ok(tn_library_search(using, &search, 1, &err), &err);
        int code = tn_lookup(using, "answer", &address, &err);
        if (hidden)
            assert_error(code, TN_EUNDEF, &err, "answer");
        else
            assert_ok(code, &err);
        if (!hidden)
            assert_ptr_equal(address, lookup(&f, "answer"));
        close_fixture(&f);
        free(bytes.at);
    }
}

/* ---- names in the file ---- */

static Elf64_Shdr section_at(struct bytes file, size_t number)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;
    memcpy(&header, file.at, sizeof header);
    assert_true(number < header.e_shnum);
    memcpy(&section, file.at + header.e_shoff + number * sizeof section, sizeof section);
    return section;
}

/* Calls `change` for each symbol of the dynamic symbol table, with its name. */
static void each_dynamic(struct bytes file, void (*change)(Elf64_Sym *symbol, const char *name, void *context),
                         void *context)
{
    size_t number = 0;
    while (section_at(file, number).sh_type != SHT_DYNSYM)
        number++;
    const Elf64_Shdr table = section_at(file, number), strings = section_at(file, table.sh_link);
    for (uint64_t at = sizeof(Elf64_Sym); at < table.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, file.at + table.sh_offset + at, sizeof symbol);
        change(&symbol, (const char *)file.at + strings.sh_offset + symbol.st_name, context);
        memcpy(file.at + table.sh_offset + at, &symbol, sizeof symbol);
    }
}

static void note_answer(Elf64_Sym *symbol, const char *name, void *context)
{
    if (!strcmp(name, "answer"))
        *(Elf64_Word *)context = symbol->st_name;
}

static void need_answer(Elf64_Sym *symbol, const char *name, void *context)
{
    if (!strcmp(name, "elsewhere"))
        symbol->st_name = *(const Elf64_Word *)context;
}

/* As linkers make it of a reference to NAME@VERSION of another library. */
static void a_name_is_needed_and_defined(void **state)
{
    for (int linked = 0; linked < 2; linked++) {
        struct fixture f = open_names();
        struct bytes bytes = read_bytes(data_file(*state));
        Elf64_Word answer = 0;
        each_dynamic(bytes, note_answer, &answer);
        assert_int_not_equal(answer, 0);
        each_dynamic(bytes, need_answer, &answer);
        add_bytes(&f, "it.so", bytes.at, bytes.size);
        if (linked)
            link_all(&f);
        assert_true(flags_of(&f, "answer") & TN_KNOWN_DEFINED);
        check_all(&f);
        assert_ptr_equal(*(void **)lookup(&f, "needed"), lookup(&f, "answer"));
        close_fixture(&f);
        free(bytes.at);
    }
}

static void note_longest(Elf64_Sym *symbol, const char *name, void *context)
{
    if (*name == 'n')
        *(Elf64_Word *)context = symbol->st_name;
}

/* The context is the first of the long names that are left. */
static void share_longest(Elf64_Sym *symbol, const char *name, void *context)
{
    if (*name == 's')
        symbol->st_name = (*(Elf64_Word *)context)++;
}

static int pass_by(void *context, const struct tn_known *symbol)
{
    (void)context, (void)symbol;
    return 0;
}

/* Names that share bytes of a file, and would be much longer than it. */
static void names_are_bounded(void **state)
{
    struct fixture f = open_names();
    char name[100];
    snprintf(name, sizeof name, "shared_long%s", strchr(*state, '.'));
    struct bytes bytes = read_bytes(data_file(name));
    Elf64_Word longest = 0;
    each_dynamic(bytes, note_longest, &longest);
    assert_int_not_equal(longest, 0);
    each_dynamic(bytes, share_longest, &longest);
    int code = try_add_bytes(&f, "it.so", bytes.at, bytes.size, &err);
    if (strcmp(*state, files[0]))
        assert_error(code, TN_EFORMAT, &err, "it.so", "names");
    else {
        assert_ok(code, &err);
        assert_int_equal(tn_library_each_symbol(f.library, pass_by, NULL, &err), TN_ENOMEM);
        link_all(&f);
        assert_int_equal(tn_library_each_symbol(f.library, pass_by, NULL, &err), TN_ENOMEM);
    }
    close_fixture(&f);
    free(bytes.at);
}

/* ---- threads ---- */

struct seeker {
    const struct fixture *f;
    pthread_barrier_t *start;
    const char *name; /* NULL: lists all */
    pthread_t thread;
    void *address;
    int code;
};

static void *seek(void *context)
{
    struct seeker *seeker = context;
    struct tn_error own;
    unsigned seen = 0;
    pthread_barrier_wait(seeker->start);
    seeker->code = seeker->name ? tn_lookup(seeker->f->library, seeker->name, &seeker->address, &own)
                                : tn_library_each_symbol(seeker->f->library, count, &seen, &own);
    return NULL;
}

/* One of them links; others look up what it links, or in what it has linked. */
static void threads_look_up_at_once(void **state)
{
    static const char *const names[] = {"value", "answer", "weak", "calls_weak", "pointers", NULL, "needed", "answer"};
    for (int round = 0; round < 20; round++) {
        struct fixture f = open_names();
        struct seeker seekers[COUNT(names)];
        pthread_barrier_t start;
        add_file(&f, *state);
        assert_int_equal(pthread_barrier_init(&start, NULL, COUNT(names)), 0);
        for (size_t i = 0; i < COUNT(names); i++) {
            seekers[i] = (struct seeker){.f = &f, .start = &start, .name = names[i]};
            assert_int_equal(pthread_create(&seekers[i].thread, NULL, seek, &seekers[i]), 0);
        }
        for (size_t i = 0; i < COUNT(names); i++) {
            assert_int_equal(pthread_join(seekers[i].thread, NULL), 0);
            assert_int_equal(seekers[i].code, 0);
            if (names[i])
                assert_ptr_equal(seekers[i].address, lookup(&f, names[i]));
        }
        check_all(&f);
        close_fixture(&f);
        pthread_barrier_destroy(&start);
    }
}

/* ---- failures ---- */

/* A link with a lookup fails at each of its allocations, and succeeds after that. */
static void each_allocation_fails(void **state)
{
    unsigned failed = 0;
    for (unsigned number = 1, ok = 0; !ok; number++) {
        struct fixture f = open_names();
        char plan[32];
        void *address;
        add_file(&f, *state);
        snprintf(plan, sizeof plan, "a%u", number);
        tn__os_set_faults(plan);
        int code = tn_lookup(f.library, "answer", &address, &err);
        tn__os_set_faults(NULL);
        ok = !code;
        failed += code == TN_ENOMEM;
        assert_true(ok || code == TN_ENOMEM);
        check_all(&f);
        close_fixture(&f);
    }
    assert_true(failed);
}

/* Looks `answer` up where it is found in the library, before another one, or only says of what kind it is. */
static int look_up_elsewhere(struct tn_library *using, bool calls)
{
    struct tn_known known = {"answer", 0};
    void *address;
    int (*answer)(void);
    int code = calls ? tn_lookup(using, "answer", &address, &err) : tn_lookup_flags(using, &known, 1, &err);
    if (!code && calls) {
        memcpy(&answer, &address, sizeof answer);
        assert_int_equal(answer(), 42);
    } else if (!code)
        assert_int_equal(known.flags & (TN_KNOWN_DEFINED | TN_KNOWN_WEAK), TN_KNOWN_DEFINED);
    return code;
}

/* The next name makes the table grow. */
static void fill_table(const struct fixture *f)
{
    const struct tn__symtab *table = &f->library->symtab;
    char name[32];
    void *address;
    for (unsigned i = 0; !table->slots || (table->count + 1) * 4 <= (table->mask + 1) * 3; i++) {
        snprintf(name, sizeof name, "none%u", i);
        assert_error(tn_lookup(f->library, name, &address, &err), TN_EUNDEF, &err, name);
    }
}

/* No other definition is found for want of memory. */
static void each_allocation_fails_elsewhere(void **state)
{
    for (int calls = 0; calls < 2; calls++)
        for (unsigned number = 1, ok = 0; !ok; number++) {
            struct fixture f = open_names();
            struct tn_library *using, *other;
            char plan[32];
            const struct tn_definition definition = {"answer", (const void *)(uintptr_t)other_weak, TN_SYMBOL_WEAK};
            add_file(&f, *state);
            assert_ok(tn_library_create(f.session, "using", &using, &err), &err);
            assert_ok(tn_library_create(f.session, "other", &other, &err), &err);
            assert_ok(tn_define_all(other, &definition, 1, NULL, &err), &err);
            const struct tn_search search[] = {{f.library, 0}, {other, 0}};
            assert_ok(tn_library_search(using, search, COUNT(search), &err), &err);
            fill_table(&f);
            snprintf(plan, sizeof plan, "a%u", number);
            tn__os_set_faults(plan);
            int code = look_up_elsewhere(using, calls);
            tn__os_set_faults(NULL);
            ok = !code;
            assert_true(ok || code == TN_ENOMEM);
            assert_int_equal(look_up_elsewhere(using, true), 0);
            close_fixture(&f);
        }
}

/* ---- files ---- */

/* How many mappings show this file. */
static size_t mappings_of(const char *path)
{
    char line[5000];
    size_t number = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        number += strstr(line, path) != NULL;
    fclose(maps);
    return number;
}

/* A copy of the file, which others may write or not. */
static void make_copy(const char *from, const char *to, mode_t mode)
{
    struct bytes bytes = read_bytes(data_file(from));
    FILE *file = fopen(to, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.at, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(to, mode), 0);
    free(bytes.at);
}

/* Its segments are mapped, unless another user may write it. Nothing stays open or mapped. */
static void segments_are_mapped(void **state)
{
    static const struct {
        mode_t mode;
        bool is_mapped;
    } rows[] = {{0644, true}, {0664, false}, {0646, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[] = "/tmp/tenon-names-XXXXXX";
        int fd = mkstemp(path), next, after;
        assert_true(fd >= 0);
        close(fd);
        make_copy(*state, path, rows[i].mode);
        next = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(next);
        struct fixture f = open_names();
        assert_ok(tn_add_file(f.library, path, &err), &err);
        check_all(&f);
        assert_int_equal(mappings_of(path) >= 3, rows[i].is_mapped);
        *(int *)lookup(&f, "value") = 6; /* not in the file */
        after = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(after);
        assert_int_equal(after, next);
        close_fixture(&f);
        assert_int_equal(mappings_of(path), 0);
        f = open_names();
        assert_ok(tn_add_file(f.library, path, &err), &err);
        check_all(&f);
        close_fixture(&f);
        unlink(path);
    }
}

/* A program may close all descriptors before the library is linked, and open other files. */
static void descriptors_may_go(void **state)
{
    struct fixture f = open_names();
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC), other;
    add_file(&f, *state);
    assert_int_equal(close(first + 1), 0); /* the library's */
    other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(other, first + 1);
    check_all(&f);
    close_fixture(&f);
    assert_int_equal(fcntl(other, F_GETFD), FD_CLOEXEC);
    close(other);
    close(first);
}

int main(void)
{
    static void (*const tests[])(void **state) = {names_are_found,
                                                  all_are_listed,
                                                  addresses_have_names,
                                                  stronger_ones_win_before_a_link,
                                                  those_that_were_there_count,
                                                  later_ones_are_refused,
                                                  a_second_library_is_refused,
                                                  names_go,
                                                  others_find_them,
                                                  a_name_is_needed_and_defined,
                                                  names_are_bounded,
                                                  threads_look_up_at_once,
                                                  each_allocation_fails,
                                                  each_allocation_fails_elsewhere,
                                                  segments_are_mapped,
                                                  descriptors_may_go};
    static const char *const names[] = {"names are found",
                                        "all are listed",
                                        "addresses have names",
                                        "stronger ones win before a link",
                                        "those that were there count",
                                        "later ones are refused",
                                        "a second library is refused",
                                        "names go",
                                        "others find them",
                                        "a name is needed and defined",
                                        "names are bounded",
                                        "threads look up at once",
                                        "each allocation fails",
                                        "each allocation fails elsewhere",
                                        "segments are mapped",
                                        "descriptors may go"};
    struct CMUnitTest rows[COUNT(tests) * COUNT(files)];
    char texts[COUNT(rows)][100];
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *file = files[i % COUNT(files)];
        snprintf(texts[i], sizeof texts[i], "%s, %s", names[i / COUNT(files)], file);
        rows[i] = (struct CMUnitTest){texts[i], tests[i / COUNT(files)], NULL, NULL, (void *)(uintptr_t)file};
    }
    return cmocka_run_group_tests_name("link/shared/names", rows, NULL, NULL);
}
