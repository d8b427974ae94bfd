/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as an object, linked in this process from first to last and removed again: with every observer there is,
 * and with its unwind table registered and searched. Nothing of it is called, so objects with indirect functions,
 * whose resolvers a link calls, are passed over. */

#include <dirent.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "fuzz.h"
#include "link/passes/link.h"
#include "tenon_heap.h"

extern void *_Unwind_Find_FDE(void *pc, void *bases[3]) __attribute__((weak));

static uint64_t randomness;

/* Instead of libc's: the same numbers for each input, so that a finding can be repeated. Otherwise each window would be
 * at a place of its own, and the shadow memory of AddressSanitizer grow by 0.8 KB with each. */
ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < size; i++) {
        randomness = randomness * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        ((uint8_t *)bytes)[i] = (uint8_t)(randomness >> 56);
    }
    return (ssize_t)size;
}

static void *anything(void *unused, const char *name)
{
    (void)unused, (void)name;
    return (void *)(uintptr_t)anything;
}

static bool is_called(const uint8_t *bytes, size_t size)
{
    struct tn__object_data object = {.name = "fuzz.o", .bytes = bytes, .size = size, .arena.from = &bounds_allocator};
    struct tn_error err;
    bool called = tn__object_read(&object, tn__formats_host, &err) != 0; /* then it is not linked either */
    for (uint32_t i = 1; !called && i < object.symbol_count; i++)
        called = object.symbols[i].type == TN__TYPE_IFUNC;
    tn__arena_free(&object.arena);
    return called;
}

static const char *scratch(void)
{
    static char folders[][32] = {"/dev/shm/tenon-fuzz-XXXXXX", "/tmp/tenon-fuzz-XXXXXX"};
    static const char *made;
    for (size_t i = 0; !made && i < TN_COUNT(folders); i++)
        made = mkdtemp(folders[i]);
    if (!made)
        abort();
    return made;
}

/* The logs are this process's own, and would grow for as long as it runs. */
static void clean(void)
{
    DIR *stream = opendir(scratch());
    struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    rmdir(scratch());
    mkdir(scratch(), 0700);
}

/* What the unwinder does at a throw, and what a profiler does. */
static int search(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    (void)err;
    struct tn_session *session = context;
    struct tn_place place = {.size = sizeof place};
    for (size_t i = 0; i < count; i++) {
        const struct tn_range *code = &objects[i]->zones[TN_ZONE_CODE];
        for (uint64_t at = 0; at < code->size; at += code->size / 8 + 1)
            tn_symbolize(session, (const void *)(uintptr_t)(code->address + at), &place, NULL);
        for (size_t k = 0; k < objects[i]->function_count; k++) {
            const struct tn_function *f = &objects[i]->functions[k];
            if (f->size && f->address - code->address < code->size && f->size > code->size)
                abort();
        }
    }
    return 0;
}

static void find_frames(struct tn_library *library)
{
    void *bases[3];
    for (struct tn__list *node = library->own.objects.next; _Unwind_Find_FDE && node != &library->own.objects;
         node = node->next) {
        const struct tn__mem_range *code = tn__container_of(node, struct tn__object, owned)->ranges[TN_ZONE_CODE];
        for (size_t at = 0; code && at < code->size; at += code->size / 4 + 1)
            _Unwind_Find_FDE((void *)(uintptr_t)(code->address + at), bases);
    }
}

static bool observe(struct tn_session *session)
{
    struct tn_error err;
    const struct tn_observer observer = {.size = sizeof observer, .context = session, .linked = search};
    return !tn_observe_gdb(session, &err) && !tn_observe_functions(session, &err) &&
           !tn_observe_perf(session, TN_PERF_MAP, scratch(), &err) &&
           !tn_observe_perf(session, TN_PERF_JITDUMP, scratch(), &err) && !tn_observe_managed_code(session, &err) &&
           !tn_add_observer(session, &observer, &err);
}

static void link_and_remove(struct tn_session *session, const uint8_t *bytes, size_t size)
{
    struct tn_library *library;
    struct tn_error err;
    const struct tn_input input = {.size = sizeof input, .name = "fuzz.o", .bytes = bytes, .length = size};
    if (tn_library_create(session, "fuzz", &library, &err) || tn_add_resolver(library, anything, NULL, &err) ||
        tn_add_object(library, &input, &err) || tn_link(library, &err))
        return;
    find_frames(library);
    /* The finalizers are the object's code: only those of objects that were initialized run, which this one was not. */
    if (tn_library_remove(library, &err))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct tn_session_options options = {
        .size = sizeof options, .allocator = &bounds_allocator, .window_size = 16 << 20};
    struct tn_session *session;
    struct tn_error err;
    bounds_begin();
    randomness = 0;
    if (!is_called(bytes, size) && !tn_session_create(&options, &session, &err)) {
        if (observe(session))
            link_and_remove(session, bytes, size);
        tn_session_destroy(session);
        clean();
    }
    bounds_end(size);
    return 0;
}
