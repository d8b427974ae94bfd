/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Source lines of linked code, through functions inlined into one another (source/inlined.c). */

#include "support.h"

#include <pthread.h>

/* ---- loading ---- */

struct loaded {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_tracker *tracker;
};

static const char *called_from;

__attribute__((noinline)) static void note(void)
{
    called_from = __builtin_return_address(0);
}

static void add(const struct loaded *l, const char *way)
{
    char path[1000];
    struct tn_error err;
    snprintf(path, sizeof path, INLINED, way);
    FILE *file = fopen(path, "rbe");
    static char bytes[1 << 16];
    assert_non_null(file);
    const struct tn_input input = {.size = sizeof input,
                                   .name = way,
                                   .bytes = bytes,
                                   .length = fread(bytes, 1, sizeof bytes, file),
                                   .owner = l->tracker};
    fclose(file);
    assert_int_equal(tn_add_object(l->library, &input, &err), 0);
    assert_int_equal(tn_link(l->library, &err), 0);
}

static struct loaded open_session(bool observed)
{
    struct loaded l;
    struct tn_error err;
    assert_int_equal(tn_session_create(NULL, &l.session, &err), 0);
    if (observed)
        assert_int_equal(tn_observe_sources(l.session, &err), 0);
    assert_int_equal(tn_library_create(l.session, "library", &l.library, &err), 0);
    assert_int_equal(tn_tracker_create(l.library, &l.tracker, &err), 0);
    assert_int_equal(tn_define(l.library, "note", __extension__(const void *) note, &err), 0);
    return l;
}

/* The place behind the call in the object that was loaded last. */
static const char *call_outer(const struct loaded *l)
{
    void *address;
    void (*outer)(void);
    assert_int_equal(tn_lookup(l->library, "outer", &address, NULL), 0);
    memcpy(&outer, &address, sizeof outer);
    outer();
    return called_from;
}

/* ---- asking ---- */

struct frames {
    char text[1000];
};

static void append(void *context, const struct tn_source *source)
{
    struct frames *frames = context;
    size_t at = strlen(frames->text);
    const char *file = source->file ? strrchr(source->file, '/') : NULL;
    if (source->file)
        assert_int_equal(source->file[0], '/'); /* with its folder */
    snprintf(frames->text + at, sizeof frames->text - at, "%s %s:%u\n", source->function ? source->function : "?",
             file ? file + 1 : "?", source->line);
}

static struct frames frames_of(const struct tn_session *session, const char *address)
{
    struct frames frames = {""};
    struct tn_error err;
    int code = tn_symbolize_source(session, address, append, &frames, &err);
    if (code)
        fail_msg("%s: %s", tn_error_name(code), err.text);
    return frames;
}

static void assert_unknown(const struct tn_session *session, const char *address)
{
    struct frames frames = {""};
    struct tn_error err;
    assert_int_equal(tn_symbolize_source(session, address, append, &frames, &err), TN_EUNDEF);
    assert_string_equal(frames.text, "");
    assert_non_null(strstr(err.text, "no debug information"));
}

static const char expected[] = "inner inlined.c:7\nmiddle inlined.c:12\nouter inlined.c:17\n";

static void inlined_functions_are_listed_from_the_inside(void **state)
{
    static const char *const ways[] = {"gcc+-g+-O1", "gcc+-g+-gdwarf-4+-O1", "clang+-g+-O1",
                                       "clang+-g+-gdwarf-4+-O2+-ffunction-sections"};
    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct loaded l = open_session(true), other = open_session(true);
        add(&l, ways[i]);
        const char *place = call_outer(&l) - 1;
        for (int again = 0; again < 2; again++)
            assert_string_equal(frames_of(again ? NULL : l.session, place).text, expected);
        assert_unknown(other.session, place);
        assert_unknown(NULL, (const char *)&l);
        assert_int_equal(tn_tracker_remove(l.tracker, NULL), 0);
        assert_unknown(NULL, place);
        add(&l, ways[i]); /* at the same place, perhaps */
        assert_string_equal(frames_of(NULL, call_outer(&l) - 1).text, expected);
        tn_session_destroy(l.session);
        assert_unknown(NULL, place);
        tn_session_destroy(other.session);
    }
}

static void what_is_there_is_told(void **state)
{
    (void)state;
    struct loaded l = open_session(true);
    add(&l, "clang+-gline-tables-only+-O1");
    assert_string_equal(frames_of(NULL, call_outer(&l) - 1).text, expected);
    assert_int_equal(tn_tracker_remove(l.tracker, NULL), 0);
    add(&l, "clang+-O1");
    assert_unknown(NULL, call_outer(&l) - 1);
    assert_int_equal(tn_tracker_remove(l.tracker, NULL), 0);
    add(&l, "clang+-g+-gz=zlib+-O1");
    assert_string_equal(frames_of(NULL, call_outer(&l) - 1).text, expected);
    tn_session_destroy(l.session);
}

static void nothing_is_kept_unasked(void **state)
{
    (void)state;
    struct loaded l = open_session(false);
    struct tn_error err;
    add(&l, "clang+-g+-O1");
    assert_unknown(NULL, call_outer(&l) - 1);
    assert_int_equal(tn_observe_sources(NULL, &err), TN_EINVAL);
    assert_int_equal(tn_symbolize_source(NULL, NULL, NULL, NULL, &err), TN_EINVAL);
    tn_session_destroy(l.session);
}

static int refuse_map(void *context, enum tn_zone zone, uint64_t address, size_t length, void **bytes,
                      struct tn_error *err)
{
    (void)context, (void)zone, (void)address, (void)length, (void)bytes, (void)err;
    return TN_ENOMEM;
}

static int refuse_publish(void *context, enum tn_zone zone, uint64_t address, size_t length, const void *bytes,
                          struct tn_error *err)
{
    (void)context, (void)zone, (void)address, (void)length, (void)bytes, (void)err;
    return TN_ENOMEM;
}

static void ignore_unmap(void *context, enum tn_zone zone, uint64_t address, size_t length, void *bytes)
{
    (void)context, (void)zone, (void)address, (void)length, (void)bytes;
}

/* Where several sessions may have code at one address. */
static void other_processes_are_refused(void **state)
{
    (void)state;
    const struct tn_memory memory = {.size = sizeof memory,
                                     .flags = TN_MEMORY_ELSEWHERE,
                                     .window_address = 1 << 24,
                                     .window_size = 1 << 24,
                                     .page_size = 4096,
                                     .map = refuse_map,
                                     .publish = refuse_publish,
                                     .unmap = ignore_unmap};
    const struct tn_session_options options = {.size = sizeof options, .memory = &memory};
    struct tn_session *session;
    struct tn_error err;
    assert_int_equal(tn_session_create(&options, &session, &err), 0);
    assert_int_equal(tn_observe_sources(session, &err), TN_ENOTSUP);
    tn_session_destroy(session);
}

/* ---- threads ---- */

static void *ask(void *argument)
{
    const char *const *place = argument;
    for (int i = 0; i < 200; i++)
        if (strcmp(frames_of(NULL, *place).text, expected))
            return argument;
    return NULL;
}

static void threads_ask_while_others_link(void **state)
{
    (void)state;
    struct loaded kept = open_session(true), l = open_session(true);
    add(&kept, "clang+-g+-O1");
    const char *place = call_outer(&kept) - 1;
    pthread_t threads[2];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &place), 0);
    for (int i = 0; i < 50; i++) {
        add(&l, "gcc+-g+-O1");
        assert_int_equal(tn_tracker_remove(l.tracker, NULL), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    tn_session_destroy(l.session);
    tn_session_destroy(kept.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_functions_are_listed_from_the_inside),
        cmocka_unit_test(what_is_there_is_told),
        cmocka_unit_test(nothing_is_kept_unasked),
        cmocka_unit_test(other_processes_are_refused),
        cmocka_unit_test(threads_ask_while_others_link),
    };
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
