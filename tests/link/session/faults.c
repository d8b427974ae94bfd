/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every allocation and every request to the system fails once, at each step from creating the session to running
 * initializers: the step returns an appropriate code, works when it is tried again, and nothing leaks. */

#include "stubs.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"

enum { MOST_REQUESTS = 90, MOST_ALLOCATIONS = 2000 };

static struct bytes archive;

/* ---- the steps ---- */

struct state {
    enum tn_strategy strategy;
    struct fixture f;
    void *run;
};

static struct tn_error *reported;

static void copy_error(void *context, const struct tn_error *err)
{
    (void)context;
    *reported = *err;
}

static int create_session(struct state *s, struct tn_error *err)
{
    const struct tn_session_options options = {
        .size = sizeof options, .window_size = 64 << 20, .strategy = s->strategy, .on_error = copy_error};
    return tn_session_create(&options, &s->f.session, err);
}

static int create_library(struct state *s, struct tn_error *err)
{
    return tn_library_create(s->f.session, "library", &s->f.library, err);
}

static int add_resolver(struct state *s, struct tn_error *err)
{
    return tn_add_resolver(s->f.library, tn_resolve_dlsym, NULL, err);
}

static int observe_functions(struct state *s, struct tn_error *err)
{
    return tn_observe_functions(s->f.session, err);
}

static int add_archive(struct state *s, struct tn_error *err)
{
    const struct tn_input input = {
        .size = sizeof input, .name = "matrix_b.a", .bytes = archive.at, .length = archive.size};
    return tn_add_archive(s->f.library, &input, err);
}

static int add_first(struct state *s, struct tn_error *err)
{
    return tn_add_file(s->f.library, data_file("matrix_a.o"), err);
}

/* Position-dependent code, which has to lie low: an object for x86-64. */
static int add_low(struct state *s, struct tn_error *err)
{
#ifdef __x86_64__
    return tn_add_file(s->f.library, data_file("low.o"), err);
#else
    return tn_define(s->f.library, "low", s->f.library, err);
#endif
}

static int add_small(struct state *s, struct tn_error *err)
{
    return tn_add_file(s->f.library, data_file("small.o"), err);
}

static int define_one(struct state *s, struct tn_error *err)
{
    return tn_define(s->f.library, "missing", NULL, err);
}

static int lookup_run(struct state *s, struct tn_error *err)
{
    return tn_lookup(s->f.library, "run", &s->run, err);
}

static int link_rest(struct state *s, struct tn_error *err)
{
    return tn_link(s->f.library, err);
}

static int define_alias(struct state *s, struct tn_error *err)
{
    return tn_define_alias(s->f.library, "other_name", "digits", err);
}

static int add_gather_1(struct state *s, struct tn_error *err)
{
    return tn_add_file(s->f.library, data_file("gather_1.o"), err);
}

static int add_gather_2(struct state *s, struct tn_error *err)
{
    return tn_add_file(s->f.library, data_file("gather_2.o"), err);
}

static int link_roots(struct state *s, struct tn_error *err)
{
    static const char *const roots[] = {"other_name"};
    return tn_link_roots(s->f.library, roots, COUNT(roots), err);
}

static int run_initializers(struct state *s, struct tn_error *err)
{
    return tn_run_initializers(s->f.library, 0, NULL, NULL, err);
}

static int define_lazy_functions(struct state *s, struct tn_error *err)
{
    static const struct tn_lazy_symbol symbols[] = {{.name = "lazy_small", .target = "small"},
                                                    {.name = "lazy_digits", .target = "digits"}};
    return tn_define_lazy(s->f.library, symbols, COUNT(symbols), s->f.library, &stub_options, err);
}

static int define_redirectable(struct state *s, struct tn_error *err)
{
    return tn_define_redirectable(s->f.library, "redirectable", NULL, &stub_options, err);
}

/* A call has no code: its error is the one that the session reports. */
static int call_lazy(struct state *s, struct tn_error *err)
{
    void *stub;
    int code = tn_lookup(s->f.library, "lazy_small", &stub, err);
    if (code)
        return code;
    err->code = 0;
    reported = err;
    int answer = call_int(stub, 0);
    return answer == -1 ? err->code : 0;
}

typedef int step(struct state *s, struct tn_error *err);

static step *const steps[] = {
    create_session,        create_library,      add_resolver, observe_functions, add_archive,     add_first, define_one,
    define_lazy_functions, define_redirectable, add_small,    call_lazy,         lookup_run,      add_low,   link_rest,
    define_alias,          add_gather_1,        add_gather_2, link_roots,        run_initializers};

/* ---- what must be as before ---- */

static unsigned count_tenon_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    unsigned count = 0;
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:tenon") != NULL;
    fclose(maps);
    return count;
}

static unsigned long long address_space(void)
{
    FILE *statm = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;
    assert_int_equal(fscanf(statm, "%llu", &pages), 1);
    fclose(statm);
    return pages * 4096;
}

static unsigned long long space_at_start;

static int host(int x)
{
    return x + 1;
}

/* Runs all steps under the plan. A step that fails is checked and tried again without the plan. Returns the code of the
 * failed step, or 0. */
static int run_steps(const char *plan, enum tn_strategy strategy, const int *allowed)
{
    struct state s = {.strategy = strategy};
    struct tn_error err;
    int failed = 0;
    unsigned descriptors = count_descriptors();
    assert_int_equal(tn__os_set_faults(plan), 0);
    for (size_t i = 0; i < COUNT(steps); i++) {
        int code = steps[i](&s, &err);
        if (!code)
            continue;
        tn__os_set_faults(NULL);
        bool fits = false;
        for (const int *a = allowed; *a; a++)
            fits |= *a == code;
        if (!fits || failed || err.code != code || !err.text[0])
            fail_msg("step %zu under '%s': %s: %s", i, plan, tn_error_name(code), err.text);
        failed = code;
        check_maps();
        if (s.f.session)
            check_still_works(&s.f);
        assert_ok(steps[i](&s, &err), &err);
    }
    tn__os_set_faults(NULL);
    int (*run)(int (*)(int));
    memcpy(&run, &s.run, sizeof run);
    assert_int_equal(run(host), 0);
    assert_int_equal(call(&s.f, "small"), 2 + 3);
    assert_int_equal(call(&s.f, "lazy_small"), 2 + 3);
#ifdef __x86_64__
    assert_int_equal(call(&s.f, "low"), 77);
#endif
    assert_int_equal(call(&s.f, "other_name"), 1234);
    check_maps();
    tn_run_finalizers(s.f.library);
    close_fixture(&s.f);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(count_tenon_mappings(), 0);
    if (!space_at_start) /* by now the allocator has its own reserve */
        space_at_start = address_space();
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer keeps what it knew of memory that was given back; so does an emulator */
    assert_true(address_space() < space_at_start + (32 << 20) || getenv("EMULATOR"));
#endif
    return failed;
}

/* ---- rows ---- */

struct row {
    const char *name;
    enum tn_strategy strategy;
};

static const struct row rows[] = {
    {"auto", TN_STRATEGY_AUTO},
    {"dual", TN_STRATEGY_DUAL},
    {"sealed", TN_STRATEGY_SEALED},
    {"mprotect", TN_STRATEGY_MPROTECT},
};

static const struct row *take_row(void **state)
{
    const struct row *row = *state;
    if (row->strategy != TN_STRATEGY_MPROTECT && files_are_limited())
        skip();
    return row;
}

static void each_allocation_fails(void **state)
{
    const struct row *row = take_row(state);
    const int allowed[] = {TN_ENOMEM, 0};
    int n = 1;
    for (; n < MOST_ALLOCATIONS; n++) {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", n);
        if (!run_steps(plan, row->strategy, allowed))
            break;
    }
    assert_in_range(n, 20, MOST_ALLOCATIONS - 1);
}

static void each_request_fails(const struct row *row, char fault, const int *allowed)
{
    int failures = 0;
    for (int n = 0; n < MOST_REQUESTS; n++) {
        char plan[2 * MOST_REQUESTS + 2];
        for (int i = 0; i < n; i++)
            memcpy(plan + 2 * i, ". ", 2);
        plan[2 * n] = fault;
        plan[2 * n + 1] = '\0';
        failures += run_steps(plan, row->strategy, allowed) != 0;
    }
    assert_true(failures >= 8 && failures < MOST_REQUESTS - 10);
}

static void each_request_is_out_of_memory(void **state)
{
    const int allowed[] = {TN_ENOMEM, 0};
    each_request_fails(take_row(state), 'F', allowed);
}

static void each_request_is_forbidden(void **state)
{
    const int allowed[] = {TN_EPERM, TN_EIO, TN_ENOMEM, 0}; /* reserving address space is not subject to policy */
    each_request_fails(take_row(state), 'P', allowed);
}

static void executable_memory_is_refused_from_the_start(void **state)
{
    static const char *const policies[] = {"vm.memfd_noexec", "PR_SET_MDWE"};
    const struct row *row = take_row(state);
    const struct tn_session_options options = {.size = sizeof options, .strategy = row->strategy};
    struct tn_session *session;
    struct tn_error err;
    bool automatic = row->strategy == TN_STRATEGY_AUTO, mprotect = row->strategy == TN_STRATEGY_MPROTECT;
    unsigned descriptors = count_descriptors();
    tn__os_set_faults("x");
    int code = tn_session_create(&options, &session, &err);
    tn__os_set_faults(NULL);
    assert_error(code, TN_EPERM, &err, automatic ? "dual" : row->name, automatic ? "mprotect" : row->name,
                 policies[mprotect], policies[automatic || mprotect]);
    assert_int_equal(count_descriptors(), descriptors);
}

static void executable_memory_is_refused_later(void **state)
{
    const struct row *row = take_row(state);
    const struct tn_session_options options = {.size = sizeof options, .strategy = row->strategy};
    struct fixture f = open_fixture(&options);
    struct tn_stats before = stats_of(&f);
    struct tn_error err;
    add_file(&f, "small.o");
    for (int i = 0; i < 3; i++) {
        tn__os_set_faults("x");
        int code = tn_link(f.library, &err);
        tn__os_set_faults(NULL);
        assert_error(code, TN_EPERM, &err, "no memory for ", "refused by", before.strategy);
        struct tn_stats after = stats_of(&f);
        assert_same_memory(&before, &after);
    }
    check_still_works(&f);
    assert_int_equal(call(&f, "small"), 2 + 3);
    close_fixture(&f);
}

static int read_archive(void **state)
{
    (void)state;
    archive = read_bytes(data_file("matrix_b.a"));
    return 0;
}

static int free_archive(void **state)
{
    (void)state;
    free(archive.at);
    return 0;
}

int main(void)
{
    int failed = read_archive(NULL);
    failed += RUN_ROWS("each allocation fails", rows, each_allocation_fails);
    failed += RUN_ROWS("each request is out of memory", rows, each_request_is_out_of_memory);
    failed += RUN_ROWS("each request is forbidden", rows, each_request_is_forbidden);
    failed +=
        RUN_ROWS("executable memory is refused from the start", rows, executable_memory_is_refused_from_the_start);
    failed += RUN_ROWS("executable memory is refused later", rows, executable_memory_is_refused_later);
    return failed + free_archive(NULL);
}
