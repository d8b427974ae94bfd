/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances: states and transitions, ownership of code, reservations. Storms are in instance_storm.c. */

#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- code to publish ---- */

/* Addresses that are never called; states are written with their names. */
static char generic[1], wait_entry[1], invokes[3][1], specptrs[3][2][1];

static const struct tn_instance_entries entries = {generic, wait_entry};
static const struct tn_instance_entries no_entries;

static struct tn_instance_code code_of(int number)
{
    return (struct tn_instance_code){invokes[number], specptrs[number][0], number ? TN_INSTANCE_SPECSIG : 0};
}

static const char *name_of(const void *address)
{
    static const struct {
        const void *address;
        const char *name;
    } names[] = {{NULL, "-"},           {generic, "G"},         {wait_entry, "W"},     {invokes[0], "i"},
                 {invokes[1], "j"},     {invokes[2], "k"},      {specptrs[0][0], "p"}, {specptrs[0][1], "p'"},
                 {specptrs[1][0], "q"}, {specptrs[1][1], "q'"}, {specptrs[2][0], "r"}, {specptrs[2][1], "r'"}};
    for (size_t i = 0; i < COUNT(names); i++)
        if (names[i].address == address)
            return names[i].name;
    return "?";
}

/* "invoke flags specptr" as read; static until the call after the next one. */
static const char *state_of(const struct tn_instance *instance, int waitcompile)
{
    static char texts[2][32];
    struct tn_instance_code code = tn_instance_read(instance, waitcompile);
    char *text = texts[waitcompile];
    snprintf(text, sizeof texts[0], "%s %u%u %s", name_of(code.invoke), code.specsigflags >> 1, code.specsigflags & 1,
             name_of(code.specptr));
    return text;
}

static int publish(struct tn_instance *instance, int number, struct tn_tracker *owner)
{
    struct tn_instance_code code = code_of(number);
    return tn_instance_publish(instance, &code, owner, NULL);
}

static int publish_invoke(struct tn_instance *instance, int number, struct tn_tracker *owner)
{
    struct tn_instance_code code = {.invoke = invokes[number]};
    return tn_instance_publish(instance, &code, owner, NULL);
}

static int update(struct tn_instance *instance, int number, struct tn_tracker *owner)
{
    return tn_instance_update(instance, specptrs[number][0], specptrs[number][1], owner, NULL);
}

static void withdraw(struct tn_instance *instance)
{
    tn_instances_withdraw(&instance, 1);
}

/* ---- states ---- */

/* Steps: w promise, g fall back, i j k publish code with invoke only, p q r with specptr, P Q R update that, x
 * withdraw. The last one has to answer `code`. */
static const struct row {
    const char *steps;
    int code;
    const char *state, *state_without_wait;
} rows[] = {
    {"", 0, "- 00 -", NULL},           {"w", 0, "W 00 -", "- 00 -"},      {"g", 0, "G 00 -", NULL},
    {"wg", 0, "G 00 -", NULL},         {"gw", 0, "G 00 -", NULL},         {"i", 0, "i 00 -", NULL},
    {"wi", 0, "i 00 -", NULL},         {"gi", 0, "i 00 -", NULL},         {"ig", 0, "i 00 -", NULL},
    {"iw", 0, "i 00 -", NULL},         {"ij", TN_EDUP, "i 00 -", NULL},   {"ii", TN_EDUP, "i 00 -", NULL},
    {"p", 0, "i 10 p", NULL},          {"q", 0, "j 11 q", NULL},          {"wp", 0, "i 10 p", NULL},
    {"wq", 0, "j 11 q", NULL},         {"gq", 0, "j 11 q", NULL},         {"iq", 0, "j 11 q", NULL},
    {"qg", 0, "j 11 q", NULL},         {"qw", 0, "j 11 q", NULL},         {"pq", TN_EDUP, "i 10 p", NULL},
    {"qp", TN_EDUP, "j 11 q", NULL},   {"qq", TN_EDUP, "j 11 q", NULL},   {"qi", TN_EDUP, "j 11 q", NULL},
    {"qQ", 0, "j 11 q'", NULL},        {"pP", 0, "i 10 p'", NULL},        {"qP", TN_EDUP, "j 11 q", NULL},
    {"qQQ", TN_EDUP, "j 11 q'", NULL}, {"qQq", TN_EDUP, "j 11 q'", NULL}, {"Q", TN_EDUP, "- 00 -", NULL},
    {"iP", TN_EDUP, "i 00 -", NULL},   {"x", 0, "- 00 -", NULL},          {"wx", 0, "W 00 -", "- 00 -"},
    {"gx", 0, "G 00 -", NULL},         {"ix", 0, "G 00 -", NULL},         {"px", 0, "G 00 -", NULL},
    {"qx", 0, "G 00 -", NULL},         {"qQx", 0, "G 00 -", NULL},        {"qxx", 0, "G 00 -", NULL},
    {"qxQ", TN_EDUP, "G 00 -", NULL},  {"qxp", 0, "i 10 p", NULL},        {"qxi", 0, "i 00 -", NULL},
    {"qQxr", 0, "k 11 r", NULL},       {"pxrRxqQ", 0, "j 11 q'", NULL},
};

static int step(struct tn_instance *instance, char what)
{
    const char *number = strchr("ipPjqQkrR", what);
    int n = number ? (int)(number - "ipPjqQkrR") / 3 : 0;
    switch (what) {
    case 'w':
        tn_instance_promise(instance);
        return 0;
    case 'g':
        tn_instance_fall_back(instance);
        return 0;
    case 'x':
        withdraw(instance);
        return 0;
    case 'i':
    case 'j':
    case 'k':
        return publish_invoke(instance, n, NULL);
    case 'p':
    case 'q':
    case 'r':
        return publish(instance, n, NULL);
    default:
        return update(instance, n, NULL);
    }
}

static void transition(void **state)
{
    const struct row *row = *state;
    struct tn_instance instance;
    tn_instance_init(&instance, &entries);
    for (const char *at = row->steps; *at; at++) {
        int code = step(&instance, *at);
        assert_int_equal(code, at[1] ? 0 : row->code);
    }
    assert_string_equal(state_of(&instance, 1), row->state);
    assert_string_equal(state_of(&instance, 0), row->state_without_wait ? row->state_without_wait : row->state);
    assert_int_equal(instance.reserved, 0);
    tn_instance_finish(&instance);
}

static void bad_arguments(void **state)
{
    struct tn_instance instance = {.entries = &entries};
    static const char no_entry[] = "with an invoke entry at least", flags[] = "do not fit",
                      stand_in[] = "stand in for code";
    static const struct {
        struct tn_instance_code code;
        const char *says;
    } bad[] = {
        {{NULL, specptrs[0], 0}, no_entry},       {{NULL, NULL, 0}, no_entry},
        {{invokes[0], NULL, 1}, flags},           {{invokes[0], NULL, 2}, flags},
        {{invokes[0], specptrs[0][0], 4}, flags}, {{generic, NULL, 0}, stand_in},
        {{wait_entry, NULL, 0}, stand_in},        {{generic, specptrs[0][0], 0}, stand_in},
        {{invokes[0], specptrs[0][0], 8}, flags},
    };
    struct tn_error err;
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_error(tn_instance_publish(&instance, &bad[i].code, NULL, &err), TN_EINVAL, &err, bad[i].says);
    assert_error(tn_instance_publish(&instance, NULL, NULL, &err), TN_EINVAL, &err, no_entry);
    assert_error(tn_instance_publish(NULL, &bad[0].code, NULL, &err), TN_EINVAL, &err, no_entry);
    assert_error(tn_instance_update(&instance, NULL, generic, NULL, &err), TN_EINVAL, &err,
                 "from one specptr to another");
    assert_error(tn_instance_update(&instance, generic, NULL, NULL, &err), TN_EINVAL, &err,
                 "from one specptr to another");
    assert_string_equal(state_of(&instance, 1), "- 00 -");
    tn_instances_withdraw(NULL, 0);
}

static void without_entries_there_is_only_null(void **state)
{
    struct tn_instance instance = {.entries = &no_entries};
    (void)state;
    tn_instance_promise(&instance);
    tn_instance_fall_back(&instance);
    assert_string_equal(state_of(&instance, 1), "- 00 -");
    assert_int_equal(publish(&instance, 1, NULL), 0);
    withdraw(&instance);
    assert_string_equal(state_of(&instance, 1), "- 00 -");
    assert_int_equal(publish_invoke(&instance, 2, NULL), 0);
    withdraw(&instance);
    assert_string_equal(state_of(&instance, 0), "- 00 -");
}

/* ---- whose code it is ---- */

static struct tn_tracker *tracker_of(const struct fixture *f)
{
    struct tn_tracker *tracker;
    struct tn_error err;
    assert_ok(tn_tracker_create(f->library, &tracker, &err), &err);
    return tracker;
}

static void remove_tracker(struct tn_tracker *tracker)
{
    struct tn_error err;
    assert_ok(tn_tracker_remove(tracker, &err), &err);
}

static void trackers_remove_what_was_published(void **state)
{
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *a = tracker_of(&f), *b = tracker_of(&f);
    struct tn_instance instances[9];
    (void)state;
    for (size_t i = 0; i < COUNT(instances); i++) {
        tn_instance_init(&instances[i], &entries);
        struct tn_tracker *owner = i % 3 == 0 ? a : i % 3 == 1 ? b : NULL;
        assert_int_equal((i % 2 ? publish : publish_invoke)(&instances[i], 1, owner), 0);
    }
    tn_instance_finish(&instances[3]); /* keeps its code; may be gone once that is removed */
    remove_tracker(a);
    for (size_t i = 0; i < COUNT(instances); i++)
        assert_string_equal(state_of(&instances[i], 1), i % 3 == 0 && i != 3 ? "G 00 -" : i % 2 ? "j 11 q" : "j 00 -");
    assert_int_equal(publish(&instances[0], 2, a), 0); /* both are usable again */
    assert_int_equal(publish(&instances[6], 2, b), 0);
    remove_tracker(a);
    assert_string_equal(state_of(&instances[0], 1), "G 00 -");
    assert_string_equal(state_of(&instances[6], 1), "k 11 r");
    remove_tracker(b);
    for (size_t i = 0; i < COUNT(instances); i++)
        if (i != 3)
            assert_string_equal(state_of(&instances[i], 1), i % 3 != 2 ? "G 00 -" : i % 2 ? "j 11 q" : "j 00 -");
    close_fixture(&f);
}

static void upgraded_code_belongs_to_who_published_last(void **state)
{
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *a = tracker_of(&f), *b = tracker_of(&f);
    struct tn_instance instance = {.entries = &entries};
    (void)state;
    assert_int_equal(publish_invoke(&instance, 0, a), 0);
    assert_int_equal(publish(&instance, 1, b), 0);
    remove_tracker(a);
    assert_string_equal(state_of(&instance, 1), "j 11 q");
    remove_tracker(b);
    assert_string_equal(state_of(&instance, 1), "G 00 -");
    close_fixture(&f);
}

/* Whichever of the two is removed first; their order of creation does not matter. */
static void updated_code_has_two_owners(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct fixture f = open_fixture(NULL);
        struct tn_tracker *trackers[] = {tracker_of(&f), tracker_of(&f)};
        struct tn_instance instance = {.entries = &entries};
        assert_int_equal(publish(&instance, 1, trackers[0]), 0);
        assert_int_equal(update(&instance, 1, trackers[1]), 0);
        remove_tracker(trackers[first]);
        assert_string_equal(state_of(&instance, 1), "G 00 -");
        assert_int_equal(publish(&instance, 2, NULL), 0);
        remove_tracker(trackers[!first]);
        assert_string_equal(state_of(&instance, 1), "k 11 r");
        close_fixture(&f);
    }
}

static void destroying_trackers_and_sessions(void **state)
{
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *a = tracker_of(&f), *b = tracker_of(&f);
    struct tn_instance instances[3] = {{.entries = &entries}, {.entries = &entries}, {.entries = &entries}};
    (void)state;
    assert_int_equal(publish(&instances[0], 1, a), 0);
    assert_int_equal(publish(&instances[1], 1, b), 0);
    assert_int_equal(publish(&instances[2], 1, b), 0);
    assert_int_equal(update(&instances[2], 1, a), 0);
    tn_tracker_destroy(a);
    assert_string_equal(state_of(&instances[0], 1), "j 11 q");
    assert_string_equal(state_of(&instances[2], 1), "j 11 q'");
    remove_tracker(b);
    assert_string_equal(state_of(&instances[0], 1), "j 11 q");
    assert_string_equal(state_of(&instances[1], 1), "G 00 -");
    assert_string_equal(state_of(&instances[2], 1), "G 00 -");
    close_fixture(&f);
    assert_string_equal(state_of(&instances[0], 1), "G 00 -");
}

static void libraries_remove_what_was_published(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        struct tn_tracker *a = tracker_of(&f), *b = tracker_of(&f);
        struct tn_instance of_tracker = {.entries = &entries}, of_library = {.entries = &entries};
        assert_int_equal(publish(&of_tracker, 1, a), 0);
        assert_ok(tn_tracker_transfer(a, b, &err), &err);
        assert_int_equal(publish(&of_library, 2, tn_library_tracker(f.library)), 0);
        remove_tracker(a);
        assert_string_equal(state_of(&of_tracker, 1), "j 11 q");
        assert_ok((round ? tn_library_remove : tn_library_clear)(f.library, &err), &err);
        assert_string_equal(state_of(&of_tracker, 1), "G 00 -");
        assert_string_equal(state_of(&of_library, 1), "G 00 -");
        assert_int_equal(publish(&of_tracker, 2, NULL), 0);
        close_fixture(&f);
        assert_string_equal(state_of(&of_tracker, 1), "k 11 r");
    }
}

/* ---- removals that wait ---- */

struct removal {
    pthread_t thread;
    struct tn_tracker *tracker;
};

static void *remove_in_thread(void *removal)
{
    tn_tracker_remove(((struct removal *)removal)->tracker, NULL);
    return NULL;
}

static void start_removal(struct removal *removal, struct tn_tracker *tracker, const struct tn_instance *instance)
{
    removal->tracker = tracker;
    assert_int_equal(pthread_create(&removal->thread, NULL, remove_in_thread, removal), 0);
    while (strcmp(state_of(instance, 1), "G 00 -") != 0)
        sched_yield();
}

static void a_removal_that_waits(void **state)
{
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *a = tracker_of(&f), *b = tracker_of(&f);
    struct tn_instance instance = {.entries = &entries};
    struct removal removal;
    (void)state;
    assert_int_equal(publish(&instance, 1, a), 0);
    tn_thread_attach();
    start_removal(&removal, a, &instance);
    assert_ptr_equal(instance.specptr, specptrs[1][0]); /* for callers that came through the old invoke */
    assert_int_equal(publish(&instance, 2, b), TN_EDUP);
    assert_int_equal(publish_invoke(&instance, 2, b), TN_EDUP);
    assert_int_equal(update(&instance, 1, b), TN_EDUP);
    tn_instance_promise(&instance);
    assert_string_equal(state_of(&instance, 0), "G 00 -");
    tn_thread_begin_blocking(); /* a single quiescent point might come before the removal begins to wait */
    pthread_join(removal.thread, NULL);
    tn_thread_end_blocking();
    assert_null(instance.specptr);
    assert_int_equal(instance.specsigflags, 0);
    assert_int_equal(publish(&instance, 2, b), 0);

    struct tn_instance other = {.entries = &entries};
    assert_int_equal(publish(&other, 0, b), 0);
    start_removal(&removal, b, &instance);
    tn_instance_finish(&instance); /* while its code is being removed */
    tn_thread_detach();
    pthread_join(removal.thread, NULL);
    assert_string_equal(state_of(&other, 1), "G 00 -");
    assert_int_equal(publish(&other, 0, NULL), 0);
    close_fixture(&f);
}

/* Code published by a tracker that is being removed is removed too. */
static void publishing_during_a_removal(void **state)
{
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = tracker_of(&f);
    struct tn_instance early = {.entries = &entries}, late = {.entries = &entries};
    struct removal removal;
    (void)state;
    assert_int_equal(publish(&early, 1, tracker), 0);
    tn_thread_attach();
    start_removal(&removal, tracker, &early);
    assert_int_equal(publish(&late, 1, tracker), 0);
    tn_thread_detach();
    pthread_join(removal.thread, NULL);
    assert_string_equal(state_of(&early, 1), "G 00 -");
    assert_string_equal(state_of(&late, 1), "G 00 -");
    close_fixture(&f);
}

/* ---- reservations ---- */

enum { MANY = 64 };

static struct tn_instance wanted;
static uint32_t attempts;
static pthread_barrier_t barrier;

enum outcome { SUCCEED, FAIL, GIVE_UP };

static void *want(void *argument)
{
    enum outcome outcome = *(enum outcome *)argument;
    struct tn_lease lease;
    pthread_barrier_wait(&barrier);
    enum tn_reservation reservation = tn_instance_reserve(&wanted, &lease);
    if (reservation == TN_RESERVED) {
        __atomic_add_fetch(&attempts, 1, __ATOMIC_RELAXED);
        usleep(1000);
        if (outcome == SUCCEED)
            publish(&wanted, 1, NULL);
        else if (outcome == FAIL)
            tn_instance_fall_back(&wanted);
    }
    struct tn_instance_code code = tn_instance_read(&wanted, 0);
    tn_instance_release(&lease);
    if (reservation == TN_RESERVATION_CYCLE)
        return NULL;
    return outcome == SUCCEED ? code.specptr : code.invoke;
}

static void many_want_one(void **state)
{
    static const struct {
        enum outcome outcome;
        bool promised;
        uint32_t attempts;
        const void *found;
    } cases[] = {{SUCCEED, false, 1, specptrs[1][0]}, {SUCCEED, true, 1, specptrs[1][0]},
                 {FAIL, false, 1, generic},           {FAIL, true, 1, generic},
                 {GIVE_UP, false, MANY, NULL},        {GIVE_UP, true, MANY, NULL}};
    pthread_t threads[MANY];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pthread_barrier_init(&barrier, NULL, MANY);
        tn_instance_init(&wanted, &entries);
        attempts = 0;
        if (cases[i].promised)
            tn_instance_promise(&wanted);
        for (size_t k = 0; k < MANY; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, want, (void *)&cases[i].outcome), 0);
        for (size_t k = 0; k < MANY; k++) {
            void *found;
            pthread_join(threads[k], &found);
            assert_ptr_equal(found, cases[i].found);
        }
        /* Threads that come after the failed attempt may try again: they have not waited for it. */
        assert_true(attempts == cases[i].attempts || (cases[i].outcome == FAIL && attempts >= 1));
        pthread_barrier_destroy(&barrier);
    }
}

static void what_can_be_reserved(void **state)
{
    struct tn_instance instance = {.entries = &entries};
    struct tn_lease lease, second;
    (void)state;
    assert_int_equal(tn_instance_reserve(&instance, &lease), TN_RESERVED);
    assert_int_equal(tn_instance_reserve(&instance, &second), TN_RESERVATION_CYCLE); /* it would deadlock with itself */
    tn_instance_release(&second);
    assert_int_equal(tn_instance_reserve(&instance, &second), TN_RESERVATION_CYCLE);
    tn_instance_fall_back(&instance);
    tn_instance_release(&lease);
    tn_instance_release(&lease);
    assert_int_equal(tn_instance_reserve(&instance, &lease), TN_RESERVED); /* the generic version may be upgraded */
    assert_int_equal(publish_invoke(&instance, 0, NULL), 0);
    tn_instance_release(&lease);
    assert_int_equal(tn_instance_reserve(&instance, &lease), TN_ALREADY_COMPILED);
    tn_instance_release(&lease);
    withdraw(&instance);
    assert_int_equal(tn_instance_reserve(&instance, &lease), TN_RESERVED);
    assert_int_equal(publish(&instance, 0, NULL), 0);
    tn_instance_release(&lease);
    assert_int_equal(tn_instance_reserve(&instance, &lease), TN_ALREADY_COMPILED);
    tn_instance_release(&lease);
}

/* Each thread of a ring compiles its own instance, which needs the next thread's instance. */
enum { RING = 5 };

static struct tn_instance ring[RING];
static uint32_t ring_size, cycles;

static void *compile_in_ring(void *argument)
{
    size_t own = *(size_t *)argument, next = (own + 1) % ring_size;
    struct tn_lease lease, needed;
    enum tn_reservation first = tn_instance_reserve(&ring[own], &lease);
    pthread_barrier_wait(&barrier);
    enum tn_reservation second = tn_instance_reserve(&ring[next], &needed);
    if (second == TN_RESERVATION_CYCLE)
        __atomic_add_fetch(&cycles, 1, __ATOMIC_RELAXED);
    bool good = first == TN_RESERVED && second != TN_RESERVED;
    if (second == TN_ALREADY_COMPILED)
        good = good && tn_instance_read(&ring[next], 0).specptr == specptrs[1][0];
    tn_instance_release(&needed);
    good = good && publish(&ring[own], 1, NULL) == 0;
    tn_instance_release(&lease);
    return good ? argument : NULL;
}

static void cyclic_compilations_end(void **state)
{
    (void)state;
    for (ring_size = 2; ring_size <= RING; ring_size++)
        for (int round = 0; round < 20; round++) {
            pthread_t threads[RING];
            size_t numbers[RING];
            pthread_barrier_init(&barrier, NULL, ring_size);
            cycles = 0;
            for (size_t i = 0; i < ring_size; i++) {
                numbers[i] = i;
                tn_instance_init(&ring[i], &entries);
                assert_int_equal(pthread_create(&threads[i], NULL, compile_in_ring, &numbers[i]), 0);
            }
            for (size_t i = 0; i < ring_size; i++) {
                void *good;
                pthread_join(threads[i], &good);
                assert_non_null(good);
            }
            assert_int_equal(cycles, 1); /* only the thread that would close the cycle continues alone */
            pthread_barrier_destroy(&barrier);
        }
}

/* ---- forks ---- */

static struct tn_instance ours, theirs;

static void *hold(void *unused)
{
    struct tn_lease lease;
    if (tn_instance_reserve(&theirs, &lease) != TN_RESERVED)
        unused = &theirs;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    tn_instance_release(&lease);
    return unused;
}

static int in_a_child(struct tn_lease *lease)
{
    struct tn_lease other;
    bool good = tn_instance_reserve(&ours, &other) == TN_RESERVATION_CYCLE &&
                tn_instance_reserve(&theirs, &other) == TN_RESERVED && publish(&theirs, 1, NULL) == 0;
    tn_instance_release(&other);
    tn_instance_release(lease);
    return good && tn_instance_reserve(&ours, lease) == TN_RESERVED ? 0 : 1;
}

static void a_child_has_the_leases_of_its_thread(void **state)
{
    struct tn_lease lease;
    pthread_t holder;
    int status;
    (void)state;
    tn_instance_init(&ours, &entries);
    tn_instance_init(&theirs, &entries);
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(tn_instance_reserve(&ours, &lease), TN_RESERVED);
    assert_int_equal(pthread_create(&holder, NULL, hold, NULL), 0);
    pthread_barrier_wait(&barrier);
    pid_t pid = fork();
    if (!pid) {
        alarm(30);
        _exit(in_a_child(&lease));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    pthread_barrier_wait(&barrier);
    void *wrong;
    pthread_join(holder, &wrong);
    assert_null(wrong);
    tn_instance_release(&lease);
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(without_entries_there_is_only_null),
        cmocka_unit_test(trackers_remove_what_was_published),
        cmocka_unit_test(upgraded_code_belongs_to_who_published_last),
        cmocka_unit_test(updated_code_has_two_owners),
        cmocka_unit_test(destroying_trackers_and_sessions),
        cmocka_unit_test(libraries_remove_what_was_published),
        cmocka_unit_test(a_removal_that_waits),
        cmocka_unit_test(publishing_during_a_removal),
        cmocka_unit_test(many_want_one),
        cmocka_unit_test(what_can_be_reserved),
        cmocka_unit_test(cyclic_compilations_end),
        cmocka_unit_test(a_child_has_the_leases_of_its_thread),
    };
    int failed = cmocka_run_group_tests_name("link/instance", tests, NULL, NULL);
    return failed + RUN_ROWS("transition", rows, transition);
}
