/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compile servers with a compiler that crashes, hangs and eats memory when it is told to. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "fake.h"

static struct tn_compile_server_stats stats_of(const struct tn_compiler *server)
{
    struct tn_compile_server_stats stats = {.size = sizeof stats};
    tn_compile_server_stats(server, &stats);
    return stats;
}

/* ---- what works ---- */

static void same_as_in_process(void **state)
{
    (void)state;
    struct left before = count_left();
    struct tn_compiler *server = start(NULL);
    struct tn_buffer identity = {0};
    expect_object(server, "plain");
    expect_object(server, "");
    expect_object(server, "large");
    assert_int_equal(server->identify(server->context, &identity, NULL), 0);
    assert_memory_equal(identity.data, "fake 1", 6);
    tn_buffer_free(&identity);
    assert_int_equal(stats_of(server).workers, 1);
    assert_int_equal(stats_of(server).requests, 6);
    tn_compile_server_stop(server);
    expect_left(before);
}

/* Around the size from which IR is a file. */
static void all_sizes(void **state)
{
    (void)state;
    enum { EDGE = 64 << 10 };
    static char ir[EDGE + 2] = "plain";
    struct left before = count_left();
    struct tn_compiler *server = start(NULL);
    for (size_t size = EDGE - 1; size <= EDGE + 1; size++) {
        struct tn_buffer here, there;
        assert_int_equal(compile_ir(&fake, ir, size, 2, &here, NULL), 0);
        assert_int_equal(compile_ir(server, ir, size, 2, &there, NULL), 0);
        assert_memory_equal(here.data, there.data, here.size);
        tn_buffer_free(&here);
        tn_buffer_free(&there);
    }
    tn_compile_server_stop(server);
    expect_left(before);
}

static void errors_come_back(void **state)
{
    (void)state;
    struct tn_compiler *server = start(NULL);
    struct tn_buffer object;
    struct tn_error err;
    assert_int_equal(compile(server, "refuse", &object, &err), TN_ECOMPILE);
    assert_string_equal(err.text, "module:1: refused");
    expect_object(server, "plain");
    assert_int_equal(stats_of(server).workers, 1);
    tn_compile_server_stop(server);
}

/* ---- crashes ---- */

struct crash {
    int signal;
    char ir[20];
};

static void on_crash(void *context, const char *name, int number, const void *ir, size_t length)
{
    struct crash *crash = context;
    assert_non_null(strstr(name, "module"));
    crash->signal = number;
    memcpy(crash->ir, ir, length);
}

static void crashes_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *ir;
        int signal;
        const char *text;
    } rows[] = {{"crash", SIGSEGV, "module (f): the compiler has crashed twice, by signal 11 (SIGSEGV)"},
                {"abort", SIGABRT, "module (f): the compiler has crashed twice, by signal 6 (SIGABRT)"},
                {"opencrash", SIGSEGV, "module: the compiler has crashed twice, by signal 11 (SIGSEGV)"},
                {"exec", SIGSYS, "module (f): the compiler has crashed twice, by signal 31 (SIGSYS)"}};
    struct crash crash;
    const struct tn_compile_server_options options = {.size = sizeof options, .crashed = on_crash, .context = &crash};
    struct left before = count_left();
    struct tn_compiler *server = start(&options);
    size_t count = TN_COUNT(rows) - (fake_is_sanitized != 0); /* the last one is the sandbox's */
    for (size_t i = 0; i < count; i++) {
        struct tn_buffer object;
        struct tn_error err;
        crash = (struct crash){0};
        assert_int_equal(compile(server, rows[i].ir, &object, &err), TN_EFATAL);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(crash.signal, rows[i].signal);
        assert_string_equal(crash.ir, rows[i].ir);
        expect_object(server, "plain");
    }
    assert_int_equal(stats_of(server).crashed, 2 * count);
    assert_int_equal(stats_of(server).retried, count);
    tn_compile_server_stop(server);
    expect_left(before);
}

static void a_crash_is_tried_again(void **state)
{
    (void)state;
    struct tn_compiler *server = start(NULL);
    struct tn_buffer object;
    fake_reset();
    assert_int_equal(compile(server, "once", &object, NULL), 0);
    tn_buffer_free(&object);
    assert_int_equal(stats_of(server).retried, 1);
    tn_compile_server_stop(server);
}

/* The second time in a new worker, although there is an idle one. */
static void compile_another(void *context, const char *module, enum tn_phase phase, uint64_t begin_ns, uint64_t end_ns)
{
    (void)module, (void)phase, (void)begin_ns, (void)end_ns;
    expect_object(context, "plain");
}

static void a_new_worker_tries_again(void **state)
{
    (void)state;
    static const unsigned char digest[32];
    const struct tn_compile_server_options workers = {.size = sizeof workers, .workers = 2};
    struct tn_compiler *server = start(&workers);
    const struct tn_compile_observer observer = {.size = sizeof observer, .context = server, .phase = compile_another};
    const struct tn_compile_options options = {.size = sizeof options, .observer = &observer};
    const struct tn_ir ir = {.size = sizeof ir, .name = "m", .bytes = "once", .length = 4, .digest = digest};
    const struct tn_module_description *description;
    struct tn_buffer object;
    void *module;
    fake_reset();
    assert_int_equal(server->open(server->context, &ir, &options, &module, &description, NULL), 0);
    assert_int_equal(stats_of(server).workers, 2);
    server->close(module);
    assert_int_equal(compile(server, "once", &object, NULL), 0);
    tn_buffer_free(&object);
    assert_int_equal(stats_of(server).retried, 1);
    assert_int_equal(stats_of(server).workers, 3);
    tn_compile_server_stop(server);
}

/* What a worker did with IR is not tried here. */
static void the_fallback_is_spared(void **state)
{
    (void)state;
    static const struct {
        const char *ir, *text;
    } rows[] = {{"exit", "module (f): the compiler has failed twice: the other process has closed the connection"},
                {"chatter", "module (f): the compiler has failed twice: the other process broke the protocol: "
                            "no frame begins so"}};
    const struct tn_compile_server_options options = {.size = sizeof options, .fallback = &fake};
    struct left before = count_left();
    struct tn_compiler *server = start(&options);
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_buffer object;
        struct tn_error err;
        assert_int_equal(compile(server, rows[i].ir, &object, &err), TN_EFATAL);
        assert_string_equal(err.text, rows[i].text);
        expect_object(server, "plain");
    }
    assert_int_equal(stats_of(server).retried, TN_COUNT(rows));
    assert_int_equal(stats_of(server).fallbacks, 0);
    tn_compile_server_stop(server);
    expect_left(before);
}

static void deadlines(void **state)
{
    (void)state;
    const struct tn_compile_server_options options = {.size = sizeof options, .deadline_ms = 50};
    struct tn_compiler *server = start(&options);
    struct tn_buffer object;
    struct tn_error err;
    assert_int_equal(compile(server, "hang", &object, &err), TN_EFATAL);
    assert_string_equal(err.text, "module (f): it took longer than 50 ms, the deadline");
    assert_int_equal(stats_of(server).expired, 1);
    assert_int_equal(stats_of(server).retried, 0);
    expect_object(server, "plain");
    tn_compile_server_stop(server);
}

static void memory_is_limited(void **state)
{
    (void)state;
    const struct tn_compile_server_options options = {.size = sizeof options, .memory = 64 << 20};
    if (fake_is_sanitized) /* shadow memory counts, too */
        skip();
    struct tn_compiler *server = start(&options);
    struct tn_buffer object;
    assert_int_equal(compile(server, "eat", &object, NULL), TN_ENOMEM);
    assert_int_equal(stats_of(server).retried, 0);
    tn_compile_server_stop(server);
}

static void workers_are_confined(void **state)
{
    (void)state;
    static const char *const words[] = {"file", "socket", "fork", "owner", "signal", "async"};
    if (fake_is_sanitized)
        skip();
    struct tn_compiler *server = start(NULL);
    for (size_t i = 0; i < TN_COUNT(words); i++) {
        struct tn_buffer object;
        assert_int_equal(compile(server, words[i], &object, NULL), 0);
        assert_non_null(strstr(object.data, ", error 1")); /* EPERM */
        tn_buffer_free(&object);
    }
    tn_compile_server_stop(server);
}

/* A system that has no such filters, or refuses them. */
static bool refuses_filters;

int __real_tn__os_enter_sandbox(void);
int __wrap_tn__os_enter_sandbox(void);

int __wrap_tn__os_enter_sandbox(void)
{
    return refuses_filters ? EACCES : __real_tn__os_enter_sandbox();
}

static void workers_that_cannot_be_confined(void **state)
{
    (void)state;
    struct tn_buffer object;
    struct tn_error err;
    if (fake_is_sanitized)
        skip();
    refuses_filters = true;
    struct tn_compiler *server = start(NULL);
    refuses_filters = false;
    assert_int_equal(compile(server, "plain", &object, &err), TN_EREMOTE);
    assert_string_equal(err.text, "the compile server cannot confine its workers: error 13");
    tn_compile_server_stop(server);
}

static void workers_are_recycled(void **state)
{
    (void)state;
    enum { REQUESTS = 4, MODULES = 6 };
    const struct tn_compile_server_options options = {.size = sizeof options, .recycle_requests = REQUESTS};
    struct left before = count_left();
    struct tn_compiler *server = start(&options);
    for (int i = 0; i < MODULES; i++)
        expect_object(server, "plain");
    assert_int_equal(stats_of(server).workers, MODULES * 2 / REQUESTS);
    assert_int_equal(stats_of(server).recycled, MODULES * 2 / REQUESTS);
    tn_compile_server_stop(server);
    expect_left(before);
}

/* ---- the server is gone ---- */

static void without_a_server(void **state)
{
    (void)state;
    struct left before = count_left();
    struct tn_buffer object;
    struct tn_error err;
    int child;
    struct tn_compiler *server = connect_child(NULL, &child);
    expect_object(server, "plain");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(compile(server, "plain", &object, &err), TN_EREMOTE);
    assert_int_equal(compile(server, "plain", &object, &err), TN_EREMOTE);
    tn_compile_server_stop(server);
    expect_left(before);
}

static void the_fallback_compiles(void **state)
{
    (void)state;
    const struct tn_compile_server_options options = {.size = sizeof options, .fallback = &fake};
    int child;
    struct tn_compiler *server = connect_child(&options, &child);
    expect_object(server, "plain");
    assert_int_equal(stats_of(server).fallbacks, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    expect_object(server, "plain");
    assert_true(stats_of(server).fallbacks > 0);
    tn_compile_server_stop(server);
}

static void the_host_may_reap(void **state)
{
    (void)state;
    struct left before = count_left();
    struct tn_compiler *server = start(NULL);
    expect_object(server, "plain");
    signal(SIGCHLD, SIG_IGN); /* the system forgets the server when it ends */
    tn_compile_server_stop(server);
    signal(SIGCHLD, SIG_DFL);
    expect_left(before);
}

static void *open_plain(const struct tn_compiler *server)
{
    static const unsigned char digest[32];
    static const struct tn_compile_observer observer = {.size = sizeof observer};
    static const struct tn_compile_options options = {.size = sizeof options, .observer = &observer};
    const struct tn_ir ir = {.size = sizeof ir, .name = "m", .bytes = "plain", .length = 5, .digest = digest};
    const struct tn_module_description *description;
    void *module;
    assert_int_equal(server->open(server->context, &ir, &options, &module, &description, NULL), 0);
    return module;
}

static void children_have_no_server(void **state)
{
    (void)state;
    struct tn_compiler *server = start(NULL);
    struct tn_buffer object;
    int status;
    void *module = open_plain(server);
    pid_t child = fork();
    if (!child) {
        int code = compile(server, "plain", &object, NULL);
        server->close(module);
        tn_compile_server_stop(server);
        _exit(code != TN_EREMOTE);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_object(server, "plain");
    server->close(module);
    tn_compile_server_stop(server);
}

static void children_keep_nothing_open(void **state)
{
    (void)state;
    struct left before = count_left();
    int child, status;
    struct tn_compiler *server = connect_child(NULL, &child);
    expect_object(server, "plain");
    pid_t holder = fork();
    if (!holder) {
        pause();
        _exit(0);
    }
    tn_compile_server_stop(server);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    expect_left(before);
}

/* Programs that are started later do not inherit a connection, and Ctrl-C does not end a server. */
static void programs_are_apart(void **state)
{
    (void)state;
    static const char *const sleeps[] = {"/bin/sleep", "1000", NULL};
    const struct tn_compile_server_options options = {.size = sizeof options};
    char address[20];
    struct tn_compiler *server;
    struct tn__os_child child;
    int pair[2], number;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t served = fork();
    if (!served) {
        snprintf(address, sizeof address, "fd:%d", pair[1]);
        const struct tn_serve_options serve = {.size = sizeof serve, .address = address};
        _exit(fake_serve(&serve, NULL) != 0);
    }
    close(pair[1]);
    snprintf(address, sizeof address, "fd:%d", pair[0]);
    assert_int_equal(tn_compile_server_connect(address, &options, &server, NULL), 0);
    assert_int_equal(fcntl(pair[0], F_GETFD), FD_CLOEXEC);
    tn_compile_server_stop(server);
    waitpid(served, NULL, 0);
    assert_int_equal(tn_compile_server_connect("fd:1000000", &options, &server, NULL), TN_EINVAL);
    assert_int_equal(tn__os_socket_pair(pair), 0);
    assert_int_equal(tn__os_spawn(sleeps, pair[1], &child), 0);
    assert_int_equal(getsid((pid_t)child.id), child.id);
    tn__os_end_child(&child, 0, &number);
    assert_int_equal(number, SIGKILL);
    close(pair[0]);
    close(pair[1]);
}

/* ---- threads ---- */

enum { THREADS = 8, TURNS = 20 };

static void *compile_many(void *context)
{
    static const char *const words[] = {"plain", "large", "refuse", "plain", "crash"};
    for (int i = 0; i < TURNS; i++) {
        struct tn_buffer object;
        const char *word = words[i % TN_COUNT(words)];
        int code = compile(context, word, &object, NULL);
        if (code != (*word == 'r' ? TN_ECOMPILE : *word == 'c' ? TN_EFATAL : 0))
            return context;
        tn_buffer_free(&object);
    }
    return NULL;
}

static void threads_share_a_server(void **state)
{
    (void)state;
    const struct tn_compile_server_options options = {.size = sizeof options, .workers = 3, .recycle_requests = 7};
    struct left before = count_left();
    struct tn_compiler *server = start(&options);
    pthread_t threads[THREADS];
    void *failed;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_many, server), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    tn_compile_server_stop(server);
    expect_left(before);
}

/* ---- what an observer sees ---- */

struct seen {
    unsigned phases, functions, stages, warnings, optimized, remarks;
};

static void on_phase(void *context, const char *module, enum tn_phase phase, uint64_t begin_ns, uint64_t end_ns)
{
    assert_string_equal(module, "m");
    assert_int_equal(phase, TN_PHASE_PARSE);
    assert_int_equal(begin_ns + end_ns, 3);
    ((struct seen *)context)->phases++;
}

static void on_compiled(void *context, const struct tn_compiled *function)
{
    assert_string_equal(function->name, "m (f)");
    assert_int_equal(function->ns, 5);
    ((struct seen *)context)->functions++;
}

static void on_stage(void *context, const char *module, enum tn_stage stage, const void *bytes, size_t length)
{
    assert_string_equal(module, "m");
    assert_int_equal(stage, TN_STAGE_OBJECT);
    assert_int_equal(length, 2);
    assert_memory_equal(bytes, "\0x", 2);
    ((struct seen *)context)->stages++;
}

static void on_warning(void *context, const char *text)
{
    assert_string_equal(text, "beware");
    ((struct seen *)context)->warnings++;
}

static void on_optimized(void *context, const struct tn_optimized *optimized)
{
    assert_int_equal(optimized->before_count, 2);
    assert_int_equal(optimized->after_count, 1);
    assert_string_equal(optimized->before[1].name, "g");
    assert_int_equal(optimized->before[1].blocks, 5);
    ((struct seen *)context)->optimized++;
}

static void on_remark(void *context, const struct tn_remark *remark)
{
    assert_string_equal(remark->yaml, "y");
    assert_null(remark->file);
    assert_int_equal(remark->line, 3);
    ((struct seen *)context)->remarks++;
}

static void observers_are_told(void **state)
{
    (void)state;
    struct seen seen = {0};
    const struct tn_compile_observer observer = {.size = sizeof observer,
                                                 .context = &seen,
                                                 .phase = on_phase,
                                                 .compiled = on_compiled,
                                                 .stage = on_stage,
                                                 .stages = 1 << TN_STAGE_OBJECT,
                                                 .remark = on_remark,
                                                 .warning = on_warning,
                                                 .optimized = on_optimized};
    static const unsigned char digest[32];
    const struct tn_compile_options options = {.size = sizeof options, .observer = &observer};
    const struct tn_ir ir = {.size = sizeof ir, .name = "m", .bytes = "plain", .length = 5, .digest = digest};
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_part_request request = {
        .size = sizeof request, .name = "m (f)", .observer = &observer, .stats = &stats};
    const struct tn_module_description *description;
    struct tn_buffer object = {0};
    void *module;
    struct tn_compiler *server = start(NULL);
    assert_int_equal(server->check(server->context, &options, NULL), 0);
    assert_int_equal(server->open(server->context, &ir, &options, &module, &description, NULL), 0);
    assert_int_equal(server->compile(module, &request, &object, NULL), 0);
    server->close(module);
    tn_buffer_free(&object);
    tn_compile_server_stop(server);
    const struct seen once = {1, 1, 1, 1, 1, 1};
    assert_memory_equal(&seen, &once, sizeof seen);
}

/* ---- whom it is talking to ---- */

static void identities_are_compared(void **state)
{
    (void)state;
    struct tn_compile_server_options options = {.size = sizeof options, .identity = "fake 1", .serve = fake_serve};
    struct left before = count_left();
    struct tn_compiler *server;
    struct tn_error err;
    if (fake_is_threaded)
        skip();
    assert_int_equal(tn_compile_server_start(&options, &server, &err), 0);
    tn_compile_server_stop(server);
    options.identity = "fake 2";
    assert_int_equal(tn_compile_server_start(&options, &server, &err), TN_EREMOTE);
    assert_string_equal(err.text, "the compile server has 'fake 1', not 'fake 2'");
    assert_null(server);
    expect_left(before);
}

static void expect_listener(const char *faults, int any_user)
{
    const struct tn_compile_server_options defaults = {.size = sizeof defaults};
    char folder[] = "/tmp/tenon-test-XXXXXX", address[60];
    struct stat status;
    struct tn_compiler *servers[2];
    assert_non_null(mkdtemp(folder));
    snprintf(address, sizeof address, "unix:%s/socket", folder);
    pid_t child = fork();
    if (!child) {
        const struct tn_serve_options serve = {.size = sizeof serve, .address = address, .any_user = any_user};
        tn__os_set_faults(faults);
        _exit(fake_serve(&serve, NULL) != 0);
    }
    for (int i = 0; i < 2; i++)
        while (tn_compile_server_connect(address, &defaults, &servers[i], NULL) == TN_EREMOTE)
            usleep(1000); /* it is not listening yet */
    for (int i = 0; i < 2; i++)
        expect_object(servers[i], "large");
    assert_int_equal(stat(address + 5, &status), 0);
    assert_int_equal(status.st_mode & 0777, any_user ? 0666 : 0600);
    tn_compile_server_stop(servers[0]);
    expect_object(servers[1], "plain");
    tn_compile_server_stop(servers[1]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(address + 5);
    rmdir(folder);
}

static void a_server_listens(void **state)
{
    (void)state;
    expect_listener(NULL, 0);
    expect_listener(NULL, 1);
}

/* The first connections cannot be taken, or have no process; later ones have. */
static void a_server_goes_on_listening(void **state)
{
    (void)state;
    static const char *const faults[] = {". . M", ". . F F", ". . . F", ". . . . . M M"};
    for (size_t i = 0; i < TN_COUNT(faults); i++)
        expect_listener(faults[i], 0);
}

static int serve_for_ever(const struct tn_serve_options *options, struct tn_error *err)
{
    struct tn_serve_options longest = *options;
    longest.deadline_ms = UINT64_MAX;
    return fake_serve(&longest, err);
}

static void deadlines_may_be_long(void **state)
{
    (void)state;
    const struct tn_compile_server_options options = {.size = sizeof options, .serve = serve_for_ever};
    struct tn_compiler *server;
    if (fake_is_threaded)
        skip();
    assert_int_equal(tn_compile_server_start(&options, &server, NULL), 0);
    expect_object(server, "plain");
    tn_compile_server_stop(server);
}

static void commands_that_are_no_servers(void **state)
{
    (void)state;
    static const char *const silent[] = {"/bin/true", NULL}, *const missing[] = {"/nonexistent", NULL},
                             *const talking[] = {"/bin/sh", "-c", "echo something that is no frame at all >&3", NULL};
    static const struct {
        const char *const *command;
        int code;
    } rows[] = {{silent, TN_EREMOTE}, {talking, TN_EREMOTE}, {missing, TN_EIO}};
    struct left before = count_left();
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        const struct tn_compile_server_options options = {.size = sizeof options, .command = rows[i].command};
        struct tn_compiler *server;
        struct tn_error err;
        assert_int_equal(tn_compile_server_start(&options, &server, &err), rows[i].code);
        expect_left(before);
    }
}

static void what_cannot_be_sent(void **state)
{
    (void)state;
    struct tn_compiler *server = start(NULL);
    struct tn_error err;
    const struct tn_compile_options files = {.size = sizeof files, .assembly_files = 1};
    assert_int_equal(server->check(server->context, &files, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "'assembly_files'"));
    const struct tn_compile_options high = {.size = sizeof high, .opt_level = 4},
                                    low = {.size = sizeof low, .opt_level = -1},
                                    flags = {.size = sizeof flags, .verify_ir = -1, .baseline = UINT64_MAX};
    struct tn_buffer out;
    assert_int_equal(server->check(server->context, &high, &err), TN_EINVAL);
    assert_string_equal(err.text, "opt_level is 4; it must be 0 to 3");
    assert_int_equal(tn_compile_server_compile(server, "m", "", 0, &low, &out, NULL, &err), TN_EINVAL);
    assert_string_equal(err.text, "opt_level is -1; it must be 0 to 3");
    assert_int_equal(server->check(server->context, &flags, &err), 0);
    assert_int_equal(tn_compile_server_compile(server, "m", "", 0, NULL, &out, NULL, &err), TN_ENOTSUP);
    assert_int_equal(tn_compile_server_compile(&fake, "m", "", 0, NULL, &out, NULL, &err), TN_EINVAL);
    tn_compile_server_stop(server);
    tn_compile_server_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_in_process),
        cmocka_unit_test(all_sizes),
        cmocka_unit_test(errors_come_back),
        cmocka_unit_test(crashes_are_errors),
        cmocka_unit_test(a_crash_is_tried_again),
        cmocka_unit_test(a_new_worker_tries_again),
        cmocka_unit_test(the_fallback_is_spared),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(workers_are_confined),
        cmocka_unit_test(workers_are_recycled),
        cmocka_unit_test(workers_that_cannot_be_confined),
        cmocka_unit_test(without_a_server),
        cmocka_unit_test(the_fallback_compiles),
        cmocka_unit_test(the_host_may_reap),
        cmocka_unit_test(children_have_no_server),
        cmocka_unit_test(children_keep_nothing_open),
        cmocka_unit_test(programs_are_apart),
        cmocka_unit_test(threads_share_a_server),
        cmocka_unit_test(observers_are_told),
        cmocka_unit_test(identities_are_compared),
        cmocka_unit_test(a_server_listens),
        cmocka_unit_test(a_server_goes_on_listening),
        cmocka_unit_test(deadlines_may_be_long),
        cmocka_unit_test(commands_that_are_no_servers),
        cmocka_unit_test(what_cannot_be_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
