/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "fake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

struct opened {
    char word[16];
    size_t length;
    struct tn_module_symbol symbols[FAKE_PARTS];
    struct tn_module_description description;
};

bool fake_is_strict = true;

static int *crashes;           /* in memory that all processes share */
static volatile char *nowhere; /* in memory that cannot be written */

__attribute__((constructor)) static void share(void)
{
    crashes = mmap(NULL, sizeof *crashes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    nowhere = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void fake_reset(void)
{
    __atomic_store_n(crashes, 0, __ATOMIC_SEQ_CST);
}

static void crash(void)
{
    *nowhere = 0;
}

static bool is(const struct opened *o, const char *word)
{
    return strcmp(o->word, word) == 0;
}

/* ---- the compiler ---- */

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context, (void)err;
    return tn__buffer_fill(text, "fake 1", 6) ? 0 : TN_ENOMEM;
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    static const char *const names[FAKE_PARTS] = {"data", "f", "g"};
    (void)context;
    struct opened *o = tn__alloc_zeroed(NULL, 1, sizeof *o);
    *module = NULL;
    if (!o)
        return tn__no_memory(err, ir->name);
    const char *word = ir->bytes;
    for (size_t i = 0; i < ir->length && i < sizeof o->word - 1 && word[i]; i++)
        o->word[i] = word[i];
    if (is(o, "opencrash"))
        crash();
    if (is(o, "refuse")) {
        tn__free(NULL, o);
        return tn__fail(err, TN_ECOMPILE, "%s:1: refused", ir->name);
    }
    o->length = ir->length;
    for (unsigned i = 0; i < FAKE_PARTS; i++)
        o->symbols[i] = (struct tn_module_symbol){.part = i, .name = names[i], .body = i ? "body" : NULL};
    o->description = (struct tn_module_description){.parts = FAKE_PARTS, .count = FAKE_PARTS, .symbols = o->symbols};
    if (options->observer && options->observer->phase)
        options->observer->phase(options->observer->context, ir->name, TN_PHASE_PARSE, 1, 2);
    *module = o;
    *description = &o->description;
    return 0;
}

static void eat(void)
{
    enum { STEP = 1 << 20, MOST = 2000 };
    for (int i = 0; i < MOST; i++) {
        void *block = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            return;
        memset(block, 1, STEP);
    }
    crash();
}

static int try(const struct opened *o)
{
    char *const arguments[] = {NULL};
    errno = 0;
    if (is(o, "file"))
        open("/etc/passwd", O_RDONLY);
    if (is(o, "socket"))
        socket(AF_INET, SOCK_STREAM, 0);
    if (is(o, "fork") && fork() == 0)
        _exit(0);
    if (is(o, "owner")) /* whom the kernel sends a signal when something comes */
        fcntl(TN__OS_CHILD_SOCKET, F_SETOWN, getppid());
    if (is(o, "signal"))
        fcntl(TN__OS_CHILD_SOCKET, F_SETSIG, SIGKILL);
    if (is(o, "async"))
        fcntl(TN__OS_CHILD_SOCKET, F_SETFL, O_ASYNC);
    if (is(o, "exec"))
        execve("/bin/true", arguments, arguments);
    return errno;
}

static int act(const struct opened *o, struct tn_error *err)
{
    if (is(o, "crash") || (is(o, "once") && __atomic_fetch_add(crashes, 1, __ATOMIC_SEQ_CST) == 0))
        crash();
    if (is(o, "abort"))
        abort();
    if (is(o, "exit"))
        _exit(3);
    if (is(o, "chatter") && write(TN__OS_CHILD_SOCKET, "something that is no frame at all", 33))
        _exit(0);
    while (is(o, "hang"))
        pause();
    if (!is(o, "eat"))
        return 0;
    eat();
    return tn__no_memory(err, o->word);
}

static void tell(const struct tn_part_request *request)
{
    const struct tn_compile_observer *observer = request->observer;
    const struct tn_compiled compiled = {.size = sizeof compiled, .name = request->name, .opt_level = 1, .ns = 5};
    const struct tn_function_size sizes[] = {{"f", 2, 3}, {"g", 4, 5}};
    const struct tn_optimized optimized = {
        .size = sizeof optimized, .module = "m", .before = sizes, .before_count = 2, .after = sizes, .after_count = 1};
    const struct tn_remark remark = {
        .size = sizeof remark, .pass = "inline", .name = "N", .function = "f", .line = 3, .text = "t", .yaml = "y"};
    if (observer->compiled)
        observer->compiled(observer->context, &compiled);
    if (observer->warning)
        observer->warning(observer->context, "beware");
    if (observer->stage && observer->stages & 1 << TN_STAGE_OBJECT)
        observer->stage(observer->context, "m", TN_STAGE_OBJECT, "\0x", 2);
    if (observer->optimized)
        observer->optimized(observer->context, &optimized);
    if (observer->remark)
        observer->remark(observer->context, &remark);
}

static int compile_part(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                        struct tn_error *err)
{
    enum { LARGE = 1 << 20 };
    const struct opened *o = module;
    size_t size = is(o, "large") ? LARGE : 200;
    int code = act(o, err), error = try(o);
    char *bytes = code ? NULL : tn__alloc_zeroed(NULL, size, 1);
    if (!bytes)
        return code ? code : tn__no_memory(err, request->name);
    snprintf(bytes, size, "%s %s %zu: part %d at level %d, error %d", request->name, o->word, o->length,
             (int)request->part, request->opt_level, error);
    *object = (struct tn_buffer){bytes, size};
    request->stats->functions = request->part;
    tell(request);
    return 0;
}

static void close_module(void *module)
{
    tn__free(NULL, module);
}

const struct tn_compiler fake = {
    .size = sizeof fake, .identify = identify, .open = open_module, .compile = compile_part, .close = close_module};

int fake_serve(const struct tn_serve_options *options, struct tn_error *err)
{
    struct tn_serve_options o = *options;
    o.no_sandbox = fake_is_sanitized;
    return tn_serve_compiler(&fake, &o, err);
}

/* ---- clients ---- */

struct tn_compiler *start(const struct tn_compile_server_options *options)
{
    struct tn_compile_server_options o = {.size = sizeof o};
    struct tn_compiler *server;
    struct tn_error err = {0};
    if (options)
        o = *options;
    int child;
    if (fake_is_threaded)
        return connect_child(&o, &child);
    o.serve = fake_serve;
    if (tn_compile_server_start(&o, &server, &err))
        fail_msg("%s", err.text);
    return server;
}

struct tn_compiler *connect_child(const struct tn_compile_server_options *options, int *child)
{
    const struct tn_compile_server_options defaults = {.size = sizeof defaults};
    struct tn_compiler *server;
    struct tn_error err = {0};
    char address[20];
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    *child = fork();
    if (!*child) {
        snprintf(address, sizeof address, "fd:%d", pair[1]);
        const struct tn_serve_options serve = {.size = sizeof serve, .address = address};
        _exit(fake_serve(&serve, NULL) != 0);
    }
    close(pair[1]);
    snprintf(address, sizeof address, "fd:%d", pair[0]);
    if (tn_compile_server_connect(address, options ? options : &defaults, &server, &err))
        fail_msg("%s", err.text);
    return server;
}

int compile_ir(const struct tn_compiler *compiler, const void *ir, size_t length, unsigned part,
               struct tn_buffer *object, struct tn_error *err)
{
    static const unsigned char digest[32] = {1};
    const struct tn_compile_observer observer = {.size = sizeof observer};
    const struct tn_compile_options options = {.size = sizeof options, .opt_level = 2, .cpu = "some"};
    const struct tn_ir module_ir = {
        .size = sizeof module_ir, .name = "module", .bytes = ir, .length = length, .digest = digest};
    const struct tn_module_description *description;
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_part_request request = {.size = sizeof request,
                                            .part = part,
                                            .name = "module (f)",
                                            .observer = &observer,
                                            .stats = &stats,
                                            .opt_level = 1};
    void *module;
    *object = (struct tn_buffer){0};
    int code = compiler->open(compiler->context, &module_ir, &options, &module, &description, err);
    if (code)
        return code;
    if (fake_is_strict) {
        assert_int_equal(description->parts, FAKE_PARTS);
        assert_string_equal(description->symbols[2].name, "g");
    }
    code = compiler->compile(module, &request, object, err);
    if (!code && fake_is_strict)
        assert_int_equal(stats.functions, part);
    compiler->close(module);
    return code;
}

int compile(const struct tn_compiler *compiler, const char *ir, struct tn_buffer *object, struct tn_error *err)
{
    return compile_ir(compiler, ir, strlen(ir), 1, object, err);
}

void expect_object(const struct tn_compiler *compiler, const char *ir)
{
    struct tn_buffer here, there;
    struct tn_error err = {0};
    assert_int_equal(compile(&fake, ir, &here, NULL), 0);
    if (compile(compiler, ir, &there, &err))
        fail_msg("%s", err.text);
    assert_int_equal(here.size, there.size);
    assert_memory_equal(here.data, there.data, here.size);
    tn_buffer_free(&here);
    tn_buffer_free(&there);
}

/* ---- what is left ---- */

struct left count_left(void)
{
    struct left left = {0};
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        left.descriptors++;
    closedir(folder);
    return left;
}

void expect_left(struct left before)
{
    assert_int_equal(count_left().descriptors, before.descriptors);
    while (fake_is_threaded && waitpid(-1, NULL, 0) > 0)
        ; /* those of connect_child, which end with their clients */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}
