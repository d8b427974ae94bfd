/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* link OBJECT... [--symbol NAME] [--runs N] [--call] [--apart]: how long libtenon takes from objects in memory to
 * callable addresses: of NAME and what it needs, or of everything.
 * link --small OBJECT: many small objects, see small.c; link --threads N OBJECT...: side by side, see threads.c.
 *
 * Cold: each run is a new process (this program again, with --once). It maps the objects and touches their pages, then
 * the clock starts: session, library, resolver, objects, lookup; the clock stops when the address is known. Nothing of
 * the session's memory was touched before, and libtenon's own code is met for the first time as well. Warm: one
 * process, session and library; each run links the objects and then, outside the clock, removes them, so that the
 * memory they are linked into was touched before. The first run is not counted.
 *
 * Undefined symbols are all answered with the address of one function of this program: finding host symbols is no part
 * of linking, and what other linkers are measured with here does the same. Objects may be of any format and
 * architecture; those of another machine are linked for another address space, where nothing is mapped or registered;
 * --apart: any are. With --call the symbol, an int (*)(void), is called in the end (after the clock) and its answer
 * printed: whatever it calls must lie in the objects. */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <tenon.h>

#include "link/arch/reloc.h"
#include "link/file/detached.h"
#include "measure.h"
#include "modes.h"

enum { MAX_OBJECTS = 64, MAX_RUNS = 10000 };

struct request {
    const char *symbol;
    int runs, count;
    bool once, call, apart;
    char *paths[MAX_OBJECTS];
    struct tn_input objects[MAX_OBJECTS];
};

static int fail(const char *text)
{
    fprintf(stderr, "link: %s\n", text);
    return 1;
}

static void stand_in(void)
{
    fail("a host function was called");
    exit(1);
}

static void *answer_anything(void *unused, const char *name)
{
    (void)unused, (void)name;
    return (void *)stand_in;
}

/* A session for the format of the first object; what it does differently if that is of another machine lives as long as
 * this program. */
static int create_session(const struct request *request, uint32_t flags, struct tn_session **session,
                          struct tn_error *err)
{
    static const struct tn_format *const all[] = {
        &tn_format_elf_x86_64,    &tn_format_elf_aarch64, &tn_format_elf_riscv64,  &tn_format_macho_x86_64,
        &tn_format_macho_aarch64, &tn_format_coff_x86_64, &tn_format_coff_aarch64, NULL};
    static struct tn__detached apart = {.address = 1 << 24, .size = 64 << 20, .page_size = 4096};
    const struct tn_input *first = &request->objects[0];
    const struct tn_format *const formats[] = {tn__format_of(all, first->bytes, first->length), NULL};
    const struct tn_session_options options = {
        .size = sizeof options, .flags = flags, .formats = formats[0] ? formats : NULL};
    bool foreign = formats[0] && formats[0]->arch != tn__arch_host;
    return foreign || request->apart ? tn__session_create_detached(&options, &apart, session, err)
                                     : tn_session_create(&options, session, err);
}

static int create_library(const struct request *request, uint32_t flags, struct tn_session **session,
                          struct tn_library **library, struct tn_error *err)
{
    int code = create_session(request, flags, session, err);
    if (!code)
        code = tn_library_create(*session, "bench", library, err);
    return code ? code : tn_add_resolver(*library, answer_anything, NULL, err);
}

static int link_into(struct tn_library *library, const struct request *request, struct tn_tracker *owner,
                     void **address, struct tn_error *err)
{
    int code = 0;
    for (int i = 0; i < request->count && !code; i++) {
        struct tn_input input = request->objects[i];
        input.owner = owner;
        code = tn_add_object(library, &input, err);
    }
    if (code)
        return code;
    return request->symbol ? tn_lookup(library, request->symbol, address, err) : tn_link(library, err);
}

static bool read_objects(struct request *request)
{
    for (int i = 0; i < request->count; i++) {
        struct tn_input *object = &request->objects[i];
        *object = (struct tn_input){.size = sizeof *object, .name = request->paths[i]};
        object->bytes = read_touched(object->name, &object->length);
        if (!object->bytes)
            return false;
    }
    return true;
}

static int link_once(struct request *request)
{
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error error;
    void *address = NULL;
    uint64_t start = now_ns();
    if (create_library(request, TN_SESSION_TIMINGS, &session, &library, &error) ||
        link_into(library, request, NULL, &address, &error))
        return fail(error.text);
    uint64_t time = now_ns() - start;
    if (address == (void *)stand_in)
        return fail("no object defines the symbol");
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(session, &stats);
    printf("%.3f %.3f %" PRIu64 " %" PRIu64 " %" PRIu64 " ", (double)time / 1e3, (double)stats.relocate_ns / 1e3,
           stats.relocations, stats.symbols, stats.code_bytes + stats.rodata_bytes + stats.data_bytes);
    int (*function)(void);
    memcpy(&function, &address, sizeof function);
    printf("%d\n", request->call && request->symbol ? function() : 0);
    tn_session_destroy(session);
    return 0;
}

static int measure_cold(const struct request *request, const char *self)
{
    static double times[MAX_RUNS], relocating[MAX_RUNS], memory[MAX_RUNS];
    uint64_t relocations = 0, symbols = 0, bytes = 0;
    int answer = 0, arguments = 0;
    char *argv[MAX_OBJECTS + 7] = {(char *)self};
    for (; arguments < request->count; arguments++)
        argv[arguments + 1] = request->paths[arguments];
    if (request->symbol)
        argv[++arguments] = "--symbol", argv[++arguments] = (char *)request->symbol;
    argv[++arguments] = "--once";
    if (request->call)
        argv[++arguments] = "--call";
    if (request->apart)
        argv[++arguments] = "--apart";
    for (int i = 0; i < request->runs; i++) {
        struct run run;
        int error = run_command(argv, &run);
        if (error || run.status != 0)
            return fail(error ? strerror(error) : "a run failed");
        if (sscanf(run.output, "%lf %lf %" SCNu64 " %" SCNu64 " %" SCNu64 " %d", &times[i], &relocating[i],
                   &relocations, &symbols, &bytes, &answer) != 6)
            return fail("a run printed something else");
        memory[i] = run.rss_kb;
    }
    size_t runs = (size_t)request->runs;
    double relocate_us = median(relocating, runs);
    printf("cold median_us %.1f\n", median(times, runs));
    printf("cold p90_us %.1f\n", quantile(times, runs, 0.9));
    printf("relocations %" PRIu64 "\nsymbols %" PRIu64 "\nbytes %" PRIu64 "\n", relocations, symbols, bytes);
    printf("ns_per_relocation %.2f\n", relocations ? relocate_us * 1e3 / (double)relocations : 0);
    printf("peak_rss_kb %.0f\n", median(memory, runs));
    if (request->call && request->symbol)
        printf("%s() %d\n", request->symbol, answer);
    return 0;
}

static int measure_warm(struct request *request)
{
    static double times[MAX_RUNS];
    struct tn_session *session;
    struct tn_library *library;
    struct tn_tracker *tracker;
    struct tn_error error;
    void *address;
    if (!read_objects(request))
        return 1;
    if (create_library(request, 0, &session, &library, &error) || tn_tracker_create(library, &tracker, &error))
        return fail(error.text);
    for (int i = -1; i < request->runs; i++) {
        uint64_t start = now_ns();
        if (link_into(library, request, tracker, &address, &error))
            return fail(error.text);
        if (i >= 0)
            times[i] = (double)(now_ns() - start) / 1e3;
        if (tn_tracker_remove(tracker, &error)) /* the next run uses the same memory */
            return fail(error.text);
    }
    printf("warm median_us %.1f\n", median(times, (size_t)request->runs));
    tn_session_destroy(session);
    return 0;
}

static bool parse(int argc, char **argv, struct request *request)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--symbol") == 0 && i + 1 < argc)
            request->symbol = argv[++i];
        else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            request->runs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--once") == 0)
            request->once = true;
        else if (strcmp(argv[i], "--call") == 0)
            request->call = true;
        else if (strcmp(argv[i], "--apart") == 0)
            request->apart = true;
        else if (argv[i][0] != '-' && request->count < MAX_OBJECTS)
            request->paths[request->count++] = argv[i];
        else
            return false;
    }
    return request->count && request->runs > 0 && request->runs <= MAX_RUNS;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--small") == 0)
        return measure_small(argv[2]);
    if (argc > 3 && strcmp(argv[1], "--threads") == 0)
        return measure_threads(atoi(argv[2]), argv + 3, argc - 3);
    static struct request request = {.runs = 21};
    if (!parse(argc, argv, &request))
        return fail("usage: link OBJECT... [--symbol NAME] [--runs N] [--call] [--apart], link --small OBJECT, or link "
                    "--threads "
                    "N OBJECT...");
    if (request.once)
        return !read_objects(&request) || link_once(&request);
    return measure_cold(&request, "/proc/self/exe") || measure_warm(&request);
}
