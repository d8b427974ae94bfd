/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "forks.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon_heap.h"
#include "tenon_image.h"

/* The last one is the thread that forks. */
enum { THREADS = 2, FORKING = THREADS, ALL };

static _Thread_local struct tn_error err;

/* In threads and children, where an assertion would not end the test. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, err.text);                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static const char ir[] = "define i32 @f() {\n  ret i32 42\n}\n";

static struct {
    const struct part *part;
    struct tn_session *session;
    struct tn_jit *jit;
    struct tn_library *libraries[ALL]; /* one per thread */
    struct tn_heap *heap;
    struct tn_buffer object, file;
    bool symbolizes, grows; /* `grows`: what is made stays */
} here;

/* ---- sessions ---- */

static void open_libraries(void)
{
    for (int i = 0; i < ALL; i++)
        CHECK(!tn_library_create(here.session, "library", &here.libraries[i], &err));
}

static void open_with(enum tn_strategy strategy)
{
    const struct tn_session_options options = {.size = sizeof options, .strategy = strategy, .window_size = 64 << 20};
    CHECK(!tn_session_create(&options, &here.session, &err));
    open_libraries();
}

static void open_dual(void)
{
    open_with(TN_STRATEGY_DUAL);
}

static void open_sealed(void)
{
    open_with(TN_STRATEGY_SEALED);
}

static void open_mprotect(void)
{
    open_with(TN_STRATEGY_MPROTECT);
}

static void open_observed(void)
{
    const struct tn_session_options options = {.size = sizeof options, .window_size = 64 << 20};
    CHECK(!tn_session_create(&options, &here.session, &err));
    CHECK(!tn_observe_functions(here.session, &err));
    CHECK(!tn_observe_gdb(here.session, &err));
    open_libraries();
    here.symbolizes = true;
}

static void close_session(void)
{
    tn_session_destroy(here.session);
}

static void *find(int thread, struct tn_tracker *owner)
{
    int (*function)(void);
    void *address;
    CHECK(!tn_lookup(here.libraries[thread], "f", &address, &err));
    memcpy(&function, &address, sizeof function);
    CHECK(function() == 42);
    if (here.symbolizes) {
        struct tn_place place = {.size = sizeof place};
        CHECK(!tn_symbolize(here.session, address, &place, &err) && strcmp(place.function, "f") == 0);
    }
    (void)owner;
    return address;
}

static struct tn_tracker *add_object(int thread)
{
    struct tn_tracker *tracker;
    CHECK(!tn_tracker_create(here.libraries[thread], &tracker, &err));
    const struct tn_input input = {
        .size = sizeof input, .name = "f.o", .bytes = here.object.data, .length = here.object.size, .owner = tracker};
    CHECK(!tn_add_object(here.libraries[thread], &input, &err));
    return tracker;
}

static void remove_tracker(struct tn_tracker *tracker)
{
    CHECK(!tn_tracker_remove(tracker, &err));
    tn_tracker_destroy(tracker);
}

static void link_and_remove(int thread)
{
    struct tn_tracker *tracker = add_object(thread);
    find(thread, tracker);
    remove_tracker(tracker);
}

/* ---- code instances ---- */

static void publish_and_remove(int thread)
{
    static const struct tn_instance_entries entries = {.generic = NULL};
    struct tn_instance instance;
    struct tn_lease lease;
    struct tn_tracker *tracker = add_object(thread);
    tn_instance_init(&instance, &entries);
    CHECK(tn_instance_reserve(&instance, &lease) == TN_RESERVED);
    struct tn_instance_code code = {.invoke = find(thread, tracker)};
    CHECK(!tn_instance_publish(&instance, &code, tracker, &err));
    tn_instance_release(&lease);
    remove_tracker(tracker);
    CHECK(!instance.invoke);
    tn_instance_finish(&instance);
}

/* ---- the JIT ---- */

static void open_jit(void)
{
    static const struct tn_compile_options compile_options = {.size = sizeof compile_options};
    const struct tn_jit_options options = {.size = sizeof options, .compile = &compile_options};
    CHECK(!tn_jit_create(&options, &here.jit, &err));
    here.session = tn_jit_session(here.jit);
    open_libraries();
}

static void close_jit(void)
{
    tn_jit_destroy(here.jit);
}

static void compile_and_remove(int thread)
{
    struct tn_tracker *tracker;
    CHECK(!tn_tracker_create(here.libraries[thread], &tracker, &err));
    const struct tn_jit_module module = {
        .size = sizeof module, .name = "f.ll", .ir = ir, .length = sizeof ir - 1, .owner = tracker};
    CHECK(!tn_jit_add_module(here.jit, here.libraries[thread], &module, &err));
    find(thread, tracker);
    remove_tracker(tracker);
}

/* A module that all threads compile function by function, and that the child goes on with. */
enum { FUNCTIONS = 3000, MOST_NAME = 32 };
static _Atomic int next_function;

static void not_compiled(void)
{
    CHECK(!"a function could not be compiled");
}

static void open_lazy_jit(void)
{
    static const struct tn_compile_options compile_options = {.size = sizeof compile_options};
    const struct tn_jit_options options = {
        .size = sizeof options, .compile = &compile_options, .lazy = 1, .on_failure = not_compiled};
    char *text = malloc(FUNCTIONS * 64), *end = text;
    CHECK(!tn_jit_create(&options, &here.jit, &err));
    here.session = tn_jit_session(here.jit);
    here.grows = true;
    for (int i = 0; i < FUNCTIONS; i++)
        end += sprintf(end, "define i32 @f%d() {\n  ret i32 %d\n}\n", i, i);
    const struct tn_jit_module module = {
        .size = sizeof module, .name = "f.ll", .ir = text, .length = (size_t)(end - text)};
    CHECK(!tn_jit_add_module(here.jit, NULL, &module, &err));
    free(text);
}

static void compile_next(int thread)
{
    int number = next_function++ % FUNCTIONS, (*function)(void);
    char name[MOST_NAME];
    void *address;
    snprintf(name, sizeof name, "f%d", number);
    CHECK(!tn_jit_lookup(here.jit, name, &address, &err));
    memcpy(&function, &address, sizeof function);
    CHECK(function() == number);
    if (thread == FORKING)
        usleep(1000);
}

/* ---- heaps ---- */

static const struct tn_type node_type = {
    .name = "node", .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .references = 1};

static void open_heap(void)
{
    const struct tn_heap_options options = {.size = sizeof options, .limit = 64 << 20, .minimum = 1 << 20};
    CHECK(!tn_heap_create(&options, &here.heap, &err));
}

static void close_heap(void)
{
    tn_heap_destroy(here.heap);
}

/* Threads attach and detach, too. */
static void allocate_and_collect(int thread)
{
    struct tn_handle *last = NULL, *node = NULL;
    (void)thread;
    CHECK(!tn_heap_attach(here.heap, &err));
    tn_scope_begin();
    for (int i = 0; i < 50; i++, last = node) {
        CHECK(!tn_handle_new(here.heap, &node_type, 0, &node, &err));
        CHECK(!tn_handle_store(node, 0, last, &err));
    }
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
    for (int i = 0; i < 49; i++)
        CHECK(!tn_handle_load(node, 0, node, &err) && !tn_handle_is_null(node));
    tn_scope_end();
    tn_heap_detach();
}

/* ---- images ---- */

static void open_file(void)
{
    const struct tn_image_input input = {.name = "f.ll", .ir = ir, .length = sizeof ir - 1};
    struct tn_buffer built[TN_IMAGE_OUTPUTS];
    CHECK(!tn_image_build(&input, 1, NULL, built, NULL, &err));
    const struct tn_input archive = {
        .size = sizeof archive, .name = "f.a", .bytes = built[0].data, .length = built[0].size};
    const struct tn_image_link_options options = {.size = sizeof options, .kind = TN_IMAGE_LOADABLE};
    CHECK(!tn_image_link(&archive, 1, &options, &here.file, &err));
    for (int i = 0; i < TN_IMAGE_OUTPUTS; i++)
        tn_buffer_free(&built[i]);
}

static void close_file(void)
{
    tn_buffer_free(&here.file);
}

static void load_and_close(int thread)
{
    struct tn_image *image;
    int (*function)(void);
    (void)thread;
    CHECK(!tn_image_open_memory("f", here.file.data, here.file.size, NULL, &image, &err));
    void *address = tn_image_lookup(image, "f");
    CHECK(address);
    memcpy(&function, &address, sizeof function);
    CHECK(function() == 42);
    tn_image_close(image);
}

/* ---- the matrix ---- */

static const struct part {
    const char *name;
    void (*open)(void);
    void (*act)(int thread);
    void (*close)(void);
} parts[] = {
    {"session, dual", open_dual, link_and_remove, close_session},
    {"session, sealed", open_sealed, link_and_remove, close_session},
    {"session, mprotect", open_mprotect, link_and_remove, close_session},
    {"observers", open_observed, link_and_remove, close_session},
    {"instances", open_dual, publish_and_remove, close_session},
    {"JIT", open_jit, compile_and_remove, close_jit},
    {"JIT, one module", open_lazy_jit, compile_next, close_jit},
    {"heap", open_heap, allocate_and_collect, close_heap},
    {"image", open_file, load_and_close, close_file},
};

/* ---- what must not grow ---- */

struct usage {
    unsigned mappings, descriptors;
    uint64_t window;
};

static struct usage usage_now(void)
{
    struct usage usage = {0};
    FILE *maps = fopen("/proc/self/maps", "re");
    DIR *folder = opendir("/proc/self/fd");
    CHECK(maps && folder);
    for (int c; (c = getc(maps)) != EOF;)
        usage.mappings += c == '\n';
    while (readdir(folder))
        usage.descriptors++;
    fclose(maps);
    closedir(folder);
    if (here.session) {
        struct tn_stats stats = {.size = sizeof stats};
        tn_session_stats(here.session, &stats);
        usage.window = stats.code_bytes + stats.rodata_bytes + stats.data_bytes;
    }
    return usage;
}

static void check_usage(const struct usage *first, const struct usage *now, unsigned more_mappings)
{
    snprintf(err.text, sizeof err.text, "%u, now %u mappings; %u, now %u descriptors; %llu, now %llu bytes",
             first->mappings, now->mappings, first->descriptors, now->descriptors, (unsigned long long)first->window,
             (unsigned long long)now->window);
    CHECK(here.grows || now->mappings <= first->mappings + more_mappings);
    CHECK(now->descriptors <= first->descriptors);
    CHECK(here.grows || now->window <= first->window);
}

/* ---- threads ---- */

static _Atomic bool paused, over;
static _Atomic int resting;

static void *work(void *argument)
{
    int thread = *(int *)argument;
    while (!over) {
        here.part->act(thread);
        if (!paused)
            continue;
        resting++;
        while (paused)
            usleep(50);
        resting--;
    }
    return NULL;
}

static struct usage measure(void)
{
    paused = true;
    while (resting < THREADS)
        usleep(50);
    struct usage usage = usage_now();
    paused = false;
    while (resting)
        usleep(50);
    return usage;
}

/* ---- processes ---- */

enum { ALLOCATOR = 24 }; /* mappings: the allocator has some for each thread, and takes new ones now and then */

static void have_child(bool grandchild);

static void be_child(bool grandchild)
{
    alarm(120); /* a failure is often a hang */
    here.part->act(FORKING);
    struct usage first = usage_now();
    for (int i = 0; i < 3; i++)
        here.part->act(FORKING);
    struct usage now = usage_now();
    check_usage(&first, &now, ALLOCATOR);
    if (grandchild)
        have_child(false);
    _exit(0);
}

static void have_child(bool grandchild)
{
    pid_t pid = fork();
    if (!pid)
        be_child(grandchild);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static unsigned fork_count;

/* In a process of its own, so that parts do not see each other. The first tenth of the forks shows what is needed. */
static void run_part(const struct part *part)
{
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    struct usage most = {0};
    here.part = part;
    part->open();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(!pthread_create(&threads[i], NULL, work, &numbers[i]));
    }
    for (unsigned i = 0; i < fork_count; i++) {
        have_child(i % 8 == 7);
        here.part->act(FORKING);
        if (i % (fork_count / 20 + 1))
            continue;
        struct usage now = measure();
        if (i > fork_count / 10)
            check_usage(&most, &now, ALLOCATOR);
        else
            most = now;
    }
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    part->close();
    _exit(0);
}

static void forks(void **state)
{
    struct outcome object = compile_text(ir, NULL);
    here.object = object.out;
    assert_int_equal(object.code, 0);
    fflush(NULL);
    pid_t pid = fork();
    if (!pid)
        run_part(*state);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    tn_buffer_free(&here.object);
}

int run_fork_matrix(unsigned count)
{
    struct CMUnitTest tests[COUNT(parts)];
    fork_count = count;
    for (size_t i = 0; i < COUNT(parts); i++)
        tests[i] = (struct CMUnitTest){parts[i].name, forks, NULL, NULL, (void *)&parts[i]};
    return _cmocka_run_group_tests("forks", tests, COUNT(tests), NULL, NULL);
}
