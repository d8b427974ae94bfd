/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions with code memory of the client: in this process, and in another one, a child that waits for orders. */

#include "elf_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "functions.h"
#include "stubs.h"

enum { PAGE = 4096, WINDOW = 32 << 20, PIECES = 64 };

static const int protection[TN_ZONES] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};

/* ---- a window, and what is to be true of it ---- */

struct window {
    uint8_t *start; /* where code runs */
    int fd;         /* the file mapped there, */
    uint8_t *alias; /* where it is written; NULL: each piece has memory of its own for that */
    bool packed;
    struct piece {
        enum tn_zone zone;
        uint64_t address; /* 0: there is none */
        size_t length;
        void *bytes;
        bool published;
    } pieces[PIECES];
    unsigned steps, fails_at; /* calls of map and publish so far; the number of the one that fails */
    pid_t child;              /* the process of the window; 0: this one */
    int orders[2], answers[2];
};

static size_t live_pieces(const struct window *w)
{
    size_t count = 0;
    for (size_t i = 0; i < PIECES; i++)
        count += w->pieces[i].address != 0;
    return count;
}

/* The piece that begins there or, with `within`, contains that address; 0: a free one. */
static struct piece *find(struct window *w, uint64_t address, bool within)
{
    for (size_t i = 0; i < PIECES; i++)
        if (w->pieces[i].address == address || (within && address - w->pieces[i].address < w->pieces[i].length))
            return &w->pieces[i];
    fail_msg("no such piece");
    return NULL;
}

static int refuse(struct window *w, struct tn_error *err)
{
    if (++w->steps != w->fails_at)
        return 0;
    if (w->fails_at % 2) /* sometimes with a text */
        return TN_EIO;
    snprintf(err->text, sizeof err->text, "no such luck");
    return TN_EPERM;
}

/* ---- the other process ---- */

struct order {
    enum { MAP_SHARED_PIECE, MAP_OWN_PIECE, PROTECT, UNMAP, CALL } what;
    uint64_t address;
    size_t length;
    int argument;
};

static int obey(const struct window *w, const struct order *order)
{
    void *at = (void *)(uintptr_t)order->address;
    switch (order->what) {
    case MAP_SHARED_PIECE:
        return mmap(at, order->length, order->argument, MAP_SHARED | MAP_FIXED, w->fd, (uint8_t *)at - w->start) ==
               MAP_FAILED;
    case MAP_OWN_PIECE:
        return mmap(at, order->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
               MAP_FAILED;
    case PROTECT:
        return mprotect(at, order->length, order->argument);
    case UNMAP:
        return mmap(at, order->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
    default:
        return call_int(at, order->argument);
    }
}

/* Ends when no more orders come. */
static void wait_for_orders(struct window *w)
{
    struct order order;
    close(w->orders[1]);
    while (read(w->orders[0], &order, sizeof order) == sizeof order) {
        int answer = obey(w, &order);
        if (write(w->answers[1], &answer, sizeof answer) != sizeof answer)
            break;
    }
    _exit(0);
}

static int command(const struct window *w, struct order order)
{
    int answer = -1;
    if (!w->child)
        return obey(w, &order);
    assert_int_equal(write(w->orders[1], &order, sizeof order), sizeof order);
    assert_int_equal(read(w->answers[0], &answer, sizeof answer), sizeof answer);
    return answer;
}

/* ---- the callbacks ---- */

static int map(void *context, enum tn_zone zone, uint64_t address, size_t length, void **bytes, struct tn_error *err)
{
    struct window *w = context;
    uint64_t start = (uintptr_t)w->start;
    assert_true(address % PAGE == 0 && length % PAGE == 0 && length);
    assert_true(address >= start && address + length <= start + WINDOW);
    for (size_t i = 0; i < PIECES; i++)
        assert_true(!w->pieces[i].address || address + length <= w->pieces[i].address ||
                    w->pieces[i].address + w->pieces[i].length <= address);
    int code = refuse(w, err);
    if (code)
        return code;
    *bytes = w->alias ? w->alias + (address - start) : malloc(length);
    memset(*bytes, 0xcc, w->alias ? PAGE : length);
    *find(w, 0, false) = (struct piece){zone, address, length, *bytes, false};
    if (w->packed)
        return command(w, (struct order){MAP_SHARED_PIECE, address, length, protection[zone]}) ? TN_EIO : 0;
    return 0;
}

static int publish(void *context, enum tn_zone zone, uint64_t address, size_t length, const void *bytes,
                   struct tn_error *err)
{
    struct window *w = context;
    struct piece *piece = find(w, address, w->packed);
    int code = refuse(w, err);
    assert_int_equal(zone, piece->zone);
    assert_ptr_equal(bytes, (uint8_t *)piece->bytes + (address - piece->address));
    if (code)
        return code;
    if (w->packed) {
        assert_true(address % 16 == 0 && length % 16 == 0 && length <= piece->address + piece->length - address);
        return 0;
    }
    assert_int_equal(length, piece->length);
    assert_false(piece->published);
    piece->published = true;
    if (w->alias)
        return command(w, (struct order){MAP_SHARED_PIECE, address, length, protection[zone]}) ? TN_EIO : 0;
    const struct iovec here = {(void *)(uintptr_t)bytes, length}, there = {(void *)(uintptr_t)address, length};
    if (command(w, (struct order){MAP_OWN_PIECE, address, length, 0}) ||
        process_vm_writev(w->child ? w->child : getpid(), &here, 1, &there, 1, 0) != (ssize_t)length ||
        command(w, (struct order){PROTECT, address, length, protection[zone]}))
        return TN_EIO;
    return 0;
}

static void unmap(void *context, enum tn_zone zone, uint64_t address, size_t length, void *bytes)
{
    struct window *w = context;
    struct piece *piece = find(w, address, false);
    assert_true(piece->zone == zone && piece->length == length && piece->bytes == bytes);
    if (!w->alias)
        free(bytes);
    *piece = (struct piece){.address = 0};
    assert_int_equal(command(w, (struct order){UNMAP, address, length, 0}), 0);
}

/* ---- sessions ---- */

static const struct way {
    const char *name;
    bool elsewhere, packed, copied;
} ways[] = {
    {"here, two mappings", false, false, false},
    {"here, two mappings, packed", false, true, false},
    {"here, copied", false, false, true},
    {"elsewhere, two mappings", true, false, false},
    {"elsewhere, two mappings, packed", true, true, false},
    {"elsewhere, copied", true, false, true},
};

/* For another process, only the address range of the window is reserved in this one. */
static struct window open_window(const struct way *way)
{
    struct window w = {.packed = way->packed, .fd = -1};
    w.start = mmap(NULL, WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(w.start != MAP_FAILED);
    if (!way->copied) {
        w.fd = memfd_create("window", 0);
        assert_int_equal(ftruncate(w.fd, WINDOW), 0);
        w.alias = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
        assert_true(w.alias != MAP_FAILED);
    }
    if (!way->elsewhere)
        return w;
    assert_int_equal(pipe(w.orders) | pipe(w.answers), 0);
    fflush(NULL);
    w.child = fork();
    if (!w.child)
        wait_for_orders(&w);
    close(w.orders[0]);
    close(w.answers[1]);
    return w;
}

static void close_window(struct window *w)
{
    assert_int_equal(live_pieces(w), 0);
    if (w->child) {
        int status;
        close(w->orders[1]);
        assert_int_equal(waitpid(w->child, &status, 0), w->child);
        assert_int_equal(status, 0);
        close(w->answers[0]);
    }
    if (w->alias) {
        munmap(w->alias, WINDOW);
        close(w->fd);
    }
    munmap(w->start, WINDOW);
}

static struct tn_memory memory_of(struct window *w)
{
    return (struct tn_memory){
        .size = sizeof(struct tn_memory),
        .context = w,
        .flags = (w->child ? TN_MEMORY_ELSEWHERE : 0) | (w->packed ? TN_MEMORY_PACKED : 0),
        .window_address = (uintptr_t)w->start,
        .window_size = WINDOW,
        .page_size = PAGE,
        .map = map,
        .publish = publish,
        .unmap = unmap,
    };
}

static int host_offset(int n)
{
    return n + 1000;
}

static struct fixture open_in(struct window *w)
{
    const struct tn_memory memory = memory_of(w);
    const struct tn_session_options options = {.size = sizeof options, .memory = &memory};
    struct fixture f = open_fixture(&options);
    define(&f, "host_offset", (void *)(uintptr_t)host_offset);
    return f;
}

static int run(const struct fixture *f, const struct window *w, const char *name, int argument)
{
    return command(w, (struct order){CALL, (uintptr_t)lookup(f, name), 0, argument});
}

/* ---- what runs ---- */

static void runs_there(void **state)
{
    const struct way *way = *state;
    struct window w = open_window(way);
    struct fixture f = open_in(&w);
    struct tn_error err;
    add_file(&f, "memory.o");
    uint64_t address = (uintptr_t)lookup(&f, "work");
    assert_true(address - (uintptr_t)w.start < WINDOW);
    int code = tn_run_initializers(f.library, 0, NULL, NULL, &err);
    if (way->elsewhere)
        assert_error(code, TN_ENOTSUP, &err, "another process");
    else
        assert_ok(code, &err);
    check_maps();
    assert_int_equal(run(&f, &w, "was_initialized", 0), !way->elsewhere);
    assert_int_equal(run(&f, &w, "work", 7), 1117);
    assert_int_equal(run(&f, &w, "work", -8), 1112);
    assert_string_equal(stats_of(&f).strategy, "client");
    assert_int_equal(stats_of(&f).mappings, 0);
    tn_run_finalizers(f.library);
    close_fixture(&f);
    close_window(&w);
}

/* The memory of removed objects is reused; it is no longer zero. */
static void memory_is_used_again(void **state)
{
    struct window w = open_window(*state);
    struct fixture f = open_in(&w);
    struct tn_tracker *tracker;
    struct tn_error err;
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    for (int i = 0; i < 5; i++) {
        struct bytes object = read_bytes(data_file("memory.o"));
        struct tn_input input = input_of("memory.o", object);
        input.owner = tracker;
        assert_ok(tn_add_object(f.library, &input, &err), &err);
        assert_int_equal(run(&f, &w, "work", i), 1110 + i);
        assert_int_equal(run(&f, &w, "work", i), 1121 + i);
        assert_ok(tn_tracker_remove(tracker, &err), &err);
        struct tn_stats stats = stats_of(&f);
        assert_int_equal(stats.code_bytes + stats.rodata_bytes + stats.data_bytes, 0);
        if (!w.packed)
            assert_int_equal(live_pieces(&w), 0);
    }
    close_fixture(&f);
    close_window(&w);
}

/* ---- what fails ---- */

static void failing_callbacks_leave_nothing_behind(void **state)
{
    const struct way *way = *state;
    unsigned failures = 0;
    for (bool failed = true; failed; failures += failed) {
        struct window w = open_window(way);
        struct fixture f = open_in(&w);
        struct tn_error err;
        void *address;
        add_file(&f, "memory.o");
        struct tn_stats before = stats_of(&f);
        w.fails_at = failures + 1;
        int code = tn_lookup(f.library, "work", &address, &err);
        failed = w.steps >= w.fails_at;
        if (failed) {
            assert_error(code, w.fails_at % 2 ? TN_EIO : TN_EPERM, &err, "the client's memory cannot be",
                         w.fails_at % 2 ? tn_error_string(TN_EIO) : "no such luck");
            struct tn_stats after = stats_of(&f);
            assert_same_memory(&before, &after);
            if (!w.packed)
                assert_int_equal(live_pieces(&w), 0);
        }
        assert_int_equal(run(&f, &w, "work", 1), 1111); /* the second try succeeds */
        close_fixture(&f);
        close_window(&w);
    }
    assert_int_equal(failures, 2 * TN_ZONES);
}

/* ---- what an address space of one's own has, and another one has not ---- */

static void stubs_are_for_this_process(void **state)
{
    const struct way *way = *state;
    struct window w = open_window(way);
    struct fixture f = open_in(&w);
    struct tn_error err;
    add_function(f.library, "answer", 42, NULL, NULL);
    const struct tn_lazy_symbol symbol = {.name = "lazy", .target = "answer"};
    int code = tn_define_lazy(f.library, &symbol, 1, f.library, &stub_options, &err);
    if (way->elsewhere) {
        assert_error(code, TN_ENOTSUP, &err, "stubs");
        assert_error(tn_observe_functions(f.session, &err), TN_ENOTSUP, &err, "functions");
        assert_error(tn_observe_gdb(f.session, &err), TN_ENOTSUP, &err, "debuggers");
        assert_error(tn_observe_perf(f.session, TN_PERF_JITDUMP, NULL, &err), TN_ENOTSUP, &err, "profilers");
    } else {
        assert_ok(code, &err);
        assert_int_equal(call(&f, "lazy"), 42);
    }
    close_fixture(&f);
    close_window(&w);
}

static void thread_local_variables_are_for_this_process(void **state)
{
    const struct way *way = *state;
    static const uint8_t initial[8];
    static struct elf elf;
    struct window w = open_window(way);
    struct fixture f = open_in(&w);
    struct tn_error err;
    memset(&elf, 0, sizeof elf);
    elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, initial, sizeof initial);
    struct bytes object = elf_finish(&elf);
    add_bytes(&f, "tls.o", object.at, object.size);
    int code = tn_link(f.library, &err);
    if (way->elsewhere)
        assert_error(code, TN_ENOTSUP, &err, "tls.o", "thread-local");
    else
        assert_ok(code, &err);
    close_fixture(&f);
    close_window(&w);
    free(object.at);
}

/* ---- what is refused at once ---- */

static void options_are_checked(void **state)
{
    (void)state;
    struct window w = {.start = NULL};
    const struct tn_memory good = memory_of(&w);
    struct tn_memory rows[] = {good, good, good, good, good, good, good};
    static const char *const says[COUNT(rows)] = {"all three functions",
                                                  "all three functions",
                                                  "all three functions",
                                                  "unknown memory flags 0x4",
                                                  "pages of 3 bytes",
                                                  "it must have 1 byte",
                                                  "size 0"};
    rows[0].map = NULL;
    rows[1].publish = NULL;
    rows[2].unmap = NULL;
    rows[3].flags = 4;
    rows[4].page_size = 3;
    rows[5].window_size = (1 << 30) + 1;
    rows[6].size = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct tn_session_options options = {.size = sizeof options, .memory = &rows[i]};
        struct tn_session *session;
        struct tn_error err;
        assert_error(tn_session_create(&options, &session, &err), TN_EINVAL, &err, says[i]);
    }
    const struct tn_session_options both = {.size = sizeof both, .memory = &good, .strategy = TN_STRATEGY_DUAL};
    struct tn_session *session;
    struct tn_error err;
    assert_error(tn_session_create(&both, &session, &err), TN_EINVAL, &err, "up to the client");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_are_checked)};
    return RUN_ROWS("link/memory_client runs", ways, runs_there) +
           RUN_ROWS("link/memory_client again", ways, memory_is_used_again) +
           RUN_ROWS("link/memory_client fails", ways, failing_callbacks_leave_nothing_behind) +
           RUN_ROWS("link/memory_client stubs", ways, stubs_are_for_this_process) +
           RUN_ROWS("link/memory_client tls", ways, thread_local_variables_are_for_this_process) +
           cmocka_run_group_tests_name("link/memory_client", tests, NULL, NULL);
}
