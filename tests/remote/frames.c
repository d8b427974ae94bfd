/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Servers and clients that send what they should not: each byte of a conversation is the last one, or another one; the
 * system refuses each request; processes are killed at any moment. Nothing hangs, is left behind, or is answered
 * wrongly. */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "fake.h"
#include "remote/wire.h"

/* ---- what is sent is changed ---- */

/* In memory that all processes share. */
static struct plan {
    enum { LEAVE, CUT, FLIP } what;
    bool of_server;
    size_t at;      /* the byte that is the first not to be sent, or that is sent otherwise */
    size_t sent[2]; /* so far, by clients and by the server with its workers */
} * plan;

static pid_t client;

int __real_tn__os_send(int fd, const void *bytes, size_t size, int passed, uint64_t until);
int __wrap_tn__os_send(int fd, const void *bytes, size_t size, int passed, uint64_t until);

int __wrap_tn__os_send(int fd, const void *bytes, size_t size, int passed, uint64_t until)
{
    bool is_server = getpid() != client;
    size_t before = __atomic_fetch_add(&plan->sent[is_server], size, __ATOMIC_SEQ_CST);
    bool hits = plan->what != LEAVE && is_server == plan->of_server && plan->at >= before && plan->at < before + size;
    if (!hits)
        return __real_tn__os_send(fd, bytes, size, passed, until);
    size_t at = plan->at - before;
    if (plan->what == CUT) {
        __real_tn__os_send(fd, bytes, at, passed, until);
        shutdown(fd, SHUT_RDWR);
        return EPIPE;
    }
    char *changed = malloc(size);
    memcpy(changed, bytes, size);
    changed[at] ^= 0xff;
    int error = __real_tn__os_send(fd, changed, size, passed, until);
    free(changed);
    return error;
}

/* A server is told what is wrong in frames, and ends by itself or is killed, but never crashes; workers may. */
enum tn__os_end __real_tn__os_end_child(struct tn__os_child *child, uint64_t until, int *number);
enum tn__os_end __wrap_tn__os_end_child(struct tn__os_child *child, uint64_t until, int *number);

enum tn__os_end __wrap_tn__os_end_child(struct tn__os_child *child, uint64_t until, int *number)
{
    enum tn__os_end end = __real_tn__os_end_child(child, until, number);
    if (getpid() == client && end == TN__OS_SIGNALLED)
        assert_int_equal(*number, SIGKILL);
    return end;
}

enum { SHORT_NS = 30000000, STRIDE = 3 };
static uint64_t usual_ns;

/* make test-slow tries all. */
static bool is_whole(void)
{
    const char *wish = getenv("WHOLE");
    return wish && *wish == '1';
}

static void set_plan(struct plan next)
{
    fake_is_strict = next.what != FLIP;
    tn__prompt_ns = next.what == FLIP ? SHORT_NS : usual_ns; /* a frame may seem to be longer */
    *plan = next;
}

/* A conversation from beginning to end. Any code but 0 has to be an error that says what is wrong. */
static int converse(const char *word, bool may_differ)
{
    const struct tn_compile_server_options options = {.size = sizeof options, .deadline_ms = 500, .serve = fake_serve};
    struct tn_compiler *server;
    struct tn_buffer here, there;
    struct tn_error err = {0};
    int code = tn_compile_server_start(&options, &server, &err);
    if (!code) {
        code = compile(server, word, &there, &err);
        tn__os_set_faults(NULL);
        if (!code) {
            assert_int_equal(compile(&fake, word, &here, NULL), 0);
            bool same = here.size == there.size && memcmp(here.data, there.data, here.size) == 0;
            assert_true(same || may_differ);
            tn_buffer_free(&here);
            tn_buffer_free(&there);
        }
        tn_compile_server_stop(server);
    }
    assert_true(!code || (err.code == code && err.text[0]));
    return code;
}

static void change_each_byte(bool of_server, int what)
{
    struct left before = count_left();
    set_plan((struct plan){LEAVE});
    assert_int_equal(converse("plain", false), 0);
    size_t total = plan->sent[of_server], failed = 0;
    assert_true(total > 300);
    for (size_t at = 0; at < total; at += is_whole() ? 1 : STRIDE) {
        set_plan((struct plan){.what = what, .of_server = of_server, .at = at});
        failed += converse("plain", what == FLIP) != 0;
        expect_left(before);
    }
    assert_true(failed > 10);
    set_plan((struct plan){LEAVE});
    assert_int_equal(converse("plain", false), 0);
}

static void clients_are_cut(void **state)
{
    (void)state;
    change_each_byte(false, CUT);
}

static void servers_are_cut(void **state)
{
    (void)state;
    change_each_byte(true, CUT);
}

static void clients_are_wrong(void **state)
{
    (void)state;
    change_each_byte(false, FLIP);
}

static void servers_are_wrong(void **state)
{
    (void)state;
    change_each_byte(true, FLIP);
}

/* The server says what it does not like, also if its caller does not want to know. */
static void greetings_are_refused(void **state)
{
    (void)state;
    static const uint64_t versions[] = {0x65746f6d65526e54 /* "TnRemote" */, 7, 9};
    struct tn__message hello = TN__MESSAGE;
    struct tn__frame response;
    char address[20];
    bool is_end;
    int pair[2], status;
    assert_int_equal(tn__os_socket_pair(pair), 0);
    pid_t child = fork();
    if (!child) {
        snprintf(address, sizeof address, "fd:%d", pair[1]);
        const struct tn_serve_options options = {.size = sizeof options, .address = address};
        _exit(fake_serve(&options, NULL) == TN_EREMOTE ? 7 : 1);
    }
    close(pair[1]);
    tn__put_bytes(&hello, versions, sizeof versions);
    tn__put_text(&hello, "some architecture");
    for (int limits = 0; limits < 3; limits++)
        tn__put_number(&hello, 0);
    assert_int_equal(tn__wire_send(pair[0], 1 /* HELLO */, 0, 1, &hello, tn__prompt_end(), NULL), 0);
    assert_int_equal(tn__wire_receive(pair[0], &response, &is_end, tn__prompt_end(), NULL), 0);
    struct tn__body body = tn__frame_body(&response);
    assert_int_equal(tn__get_number(&body), -TN_EREMOTE);
    assert_string_equal(tn__get_text(&body), "the client speaks versions 7 to 9, the server 1 to 1");
    tn__frame_free(&response);
    tn__message_free(&hello);
    close(pair[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* ---- requests to the system ---- */

static void the_system_refuses(void **state)
{
    (void)state;
    static const char words[] = "FPNIMBsi";
    enum { MOST = 90 };
    struct left before = count_left();
    set_plan((struct plan){LEAVE});
    for (const char *word = words; *word; word++) {
        unsigned failed = 0;
        for (unsigned at = 0; at < MOST; at++) {
            char text[2 * MOST + 2] = "";
            for (unsigned i = 0; i < at; i++)
                memcpy(text + 2 * i, ". ", 2);
            text[2 * at] = *word;
            assert_int_equal(tn__os_set_faults(text), 0);
            failed += converse("large", false) != 0;
            tn__os_set_faults(NULL);
            expect_left(before);
        }
        assert_true(strchr("si", *word) ? !failed : failed > 2);
    }
}

static void memory_is_out(void **state)
{
    (void)state;
    enum { MOST = 60 };
    struct left before = count_left();
    unsigned failed = 0;
    for (unsigned at = 1; at < MOST; at++) {
        char text[20];
        snprintf(text, sizeof text, "a%u", at);
        assert_int_equal(tn__os_set_faults(text), 0);
        failed += converse("plain", false) == TN_ENOMEM;
        tn__os_set_faults(NULL);
        expect_left(before);
    }
    assert_true(failed > 5);
}

/* ---- processes are killed ---- */

static void kill_children(int of)
{
    char path[60];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", of, of);
    FILE *list = fopen(path, "r");
    while (list && fscanf(list, "%d", &child) == 1)
        kill(child, SIGKILL);
}

/* Kills the server, or all of its workers, at some moment of a conversation. */
static void kill_at_random(bool whole)
{
    const int turns = is_whole() ? 1000 : 60;
    struct left before = count_left();
    unsigned seed = 1;
    for (int i = 0; i < turns; i++) {
        struct tn_buffer object;
        struct tn_error err;
        int child;
        struct tn_compiler *server = connect_child(NULL, &child);
        pid_t killer = fork();
        if (!killer) {
            usleep((useconds_t)(rand_r(&seed) % 3000));
            if (whole)
                kill(child, SIGKILL);
            else
                kill_children(child);
            _exit(0);
        }
        rand_r(&seed);
        for (int turn = 0; turn < 10; turn++) {
            int code = compile(server, "large", &object, &err);
            assert_true(!code || code == TN_EREMOTE || (!whole && code == TN_EFATAL));
            assert_true(code || strncmp(object.data, "module (f) large", 16) == 0);
            tn_buffer_free(&object);
        }
        waitpid(killer, NULL, 0);
        tn_compile_server_stop(server);
        waitpid(child, NULL, 0);
        expect_left(before);
    }
}

static void servers_are_killed(void **state)
{
    (void)state;
    kill_at_random(true);
}

static void workers_are_killed(void **state)
{
    (void)state;
    kill_at_random(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_are_cut),       cmocka_unit_test(servers_are_cut),
        cmocka_unit_test(clients_are_wrong),     cmocka_unit_test(servers_are_wrong),
        cmocka_unit_test(the_system_refuses),    cmocka_unit_test(memory_is_out),
        cmocka_unit_test(servers_are_killed),    cmocka_unit_test(workers_are_killed),
        cmocka_unit_test(greetings_are_refused),
    };
    const struct CMUnitTest with_threads[] = {cmocka_unit_test(servers_are_killed),
                                              cmocka_unit_test(workers_are_killed)};
    client = getpid();
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    usual_ns = tn__prompt_ns;
    return fake_is_threaded ? cmocka_run_group_tests(with_threads, NULL, NULL)
                            : cmocka_run_group_tests(tests, NULL, NULL);
}
