/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The program that `tenon run` and `tenon link` put together and call.
 *
 * It runs in this very process: its exit() is ours, so whatever has to happen at the end (finalizers, statistics) is
 * left to atexit. */

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "link/demand/promise.h"
#include "link/file/detached.h"
#include "base/os.h"
#include "lib/watch.h"
#include "tenon_ahead.h"
#include "lib/tool.h"

/* ---- name services ---- */

/* Name services for loaded programs. /etc/nsswitch.conf may name services that are shared objects (systemd, db, ldap);
 * a static glibc would load them into this process with a second libc, and those that have thread-local variables crash
 * there. So lookups go to what is built in: files and DNS. */

/* <nss.h> of glibc declares it for modules only. */
int __nss_configure_lookup(const char *database, const char *services);

static const struct {
    const char *database, *services;
} built_in[] = {
    {"passwd", "files"},   {"group", "files"},     {"initgroups", "files"}, {"shadow", "files"},
    {"gshadow", "files"},  {"hosts", "files dns"}, {"networks", "files"},   {"protocols", "files"},
    {"services", "files"}, {"ethers", "files"},    {"rpc", "files"},        {"netgroup", "files"},
    {"aliases", "files"},  {"publickey", "files"},
};

void tool_use_built_in_name_services(void)
{
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        __nss_configure_lookup(built_in[i].database, built_in[i].services);
}

/* ---- programs ---- */

struct program tool_program;

static struct {
    struct undefined {
        char *text; /* a line per symbol and place */
        size_t size;
        FILE *stream;
    } undefined;
    pid_t process;
    bool is_windows; /* some object is COFF, */
    bool is_mixed;   /* and some is not */
    bool looks_ahead;
} self;

/* ---- undefined symbols ---- */

static void note_undefined(void *context, const char *symbol, const char *needed_by)
{
    struct undefined *undefined = context;
    if (!undefined->stream)
        undefined->stream = open_memstream(&undefined->text, &undefined->size);
    long start = undefined->stream ? ftell(undefined->stream) : 0;
    if (!undefined->stream || fprintf(undefined->stream, "  %s, needed by %s", symbol, needed_by) < 0)
        return;
    if (!fflush(undefined->stream)) /* names may contain anything, also line breaks */
        tn__quote(undefined->text + start, undefined->size - (size_t)start);
    putc('\n', undefined->stream);
}

static void report_link_error(const struct tn_error *error)
{
    struct undefined *undefined = &self.undefined;
    if (error->code != TN_EUNDEF || !undefined->stream || fclose(undefined->stream) != 0) {
        tool_fail(STATUS_FAILURE, "%s", error->text);
        return;
    }
    tool_fail(STATUS_FAILURE, "undefined symbols; name the object or archive that defines them:");
    char *spelled = tool_spell_names(undefined->text);
    fputs(spelled ? spelled : undefined->text, stderr);
    free(spelled);
}

/* ---- inputs ---- */

static void release_file(void *context, const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    tool_release(context);
}

static void release_buffer(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){.data = (void *)bytes, .size = length});
}

static bool add_input(const struct tn_input *input, bool is_archive)
{
    struct tn_error error;
    uint64_t start = tn__os_now_ns();
    int rc = is_archive ? tn_add_archive(tool_program.library, input, &error)
                        : tn_add_object(tool_program.library, input, &error);
    tool_program.stats.link_ns += tn__os_now_ns() - start;
    tool_program.stats.object_bytes += input->length;
    if (rc)
        tool_fail(STATUS_FAILURE, "%s", error.text);
    return rc == 0;
}

/* ---- programs for Windows ---- */

static void do_nothing(void)
{
}

/* MinGW's main first calls __main, which runs constructors; here they have run. A definition in the program comes
 * before ours. */
static bool note_format(const void *bytes, size_t length)
{
    const struct tn_format *format = tn__format_of(tool_formats, bytes, length);
    const struct tn_definition definition = {"__main", (const void *)do_nothing, TN_SYMBOL_WEAK};
    struct tn_error error;
    self.is_mixed |= format && format->reader != &tn__reader_coff;
    if (self.is_windows || !format || format->reader != &tn__reader_coff)
        return true;
    self.is_windows = true;
    int rc = tn_define_all(tool_program.library, &definition, 1, NULL, &error);
    if (rc)
        tool_fail(STATUS_FAILURE, "%s", error.text);
    return rc == 0;
}

void *tool_resolve_host(void *unused, const char *name)
{
    (void)unused;
    bool is_callable = !self.is_windows || self.is_mixed;
    void *own = is_callable ? tool_crash_function(name) : NULL;
    return own || !is_callable ? own : tn_resolve_table((void *)&tn__host_symbols, name);
}

/* To be compiled later. */
static bool add_module(struct file *file)
{
    struct tn_jit_module module = {.size = sizeof module, .name = file->name, .ir = file->bytes, .length = file->size};
    struct tn_error error;
    int rc = tn_jit_add_module(tool_program.jit, tool_program.library, &module, &error);
    if (rc)
        tool_fail_ir(file, 1, rc, &error);
    tool_release(file);
    return rc == 0;
}

static bool add_ir(struct file *file, const struct settings *settings)
{
    if (tool_program.jit)
        return add_module(file);
    struct tn_buffer object;
    bool compiled = tool_compile(file, settings, NULL, &object, &tool_program.stats.compile);
    tool_release(file);
    if (!compiled)
        return false;
    struct tn_input input = {.size = sizeof input,
                             .name = file->name,
                             .bytes = object.data,
                             .length = object.size,
                             .release = release_buffer};
    return note_format(input.bytes, input.length) && add_input(&input, false);
}

bool tool_program_add(const char *name, const struct settings *settings, uint64_t flags)
{
    struct file *file = malloc(sizeof *file); /* archives are borrowed as long as the session lives */
    if (!file)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    if (!tool_read(name, file))
        return free(file), false;
    tool_program.stats.files++;
    if (file->kind == FILE_IR || file->kind == FILE_FLAT) {
        tool_program.stats.ir_files++;
        return add_ir(file, settings);
    }
    struct tn_input input = {.size = sizeof input,
                             .name = file->name,
                             .bytes = file->bytes,
                             .length = file->size,
                             .release = release_file,
                             .flags = flags | (settings->thin_anywhere ? TN_INPUT_ANY_FOLDER : 0),
                             .context = file};
    return note_format(input.bytes, input.length) && add_input(&input, file->kind == FILE_ARCHIVE);
}

/* ---- the program ---- */

static void run_finalizers(void)
{
    tn_run_finalizers(tool_program.library);
    tool_time_event("run", "program", tool_program.stats.run_start, tn__os_now_ns());
}

static void print_cache(void)
{
    struct tn_cache_stats s = {.size = sizeof s};
    tn_cache_stats(tool_program.cache, &s);
    fprintf(stderr,
            "cache       %" PRIu64 " of %" PRIu64 " modules and %" PRIu64 " of %" PRIu64 " objects found, %" PRIu64
            " damaged, %" PRIu64 " excluded\n",
            s.found, s.modules, s.found_objects, s.objects, s.damaged, s.excluded);
}

static void print_ahead(void)
{
    enum { MICROSECOND = 1000 };
    struct tn_ahead_stats s = {.size = sizeof s};
    tn_ahead_stats(tool_program.jit, &s);
    fprintf(stderr,
            "ahead       %" PRIu64 " compiled, %" PRIu64 " used, %" PRIu64 " unused, %" PRIu64 " cancelled, %" PRIu64
            " failed; %" PRIu64 " us spent, %" PRIu64 " us used, %" PRIu64 " us waited\n",
            s.compiled, s.used, s.unused, s.cancelled, s.failed, s.spent_ns / MICROSECOND, s.used_ns / MICROSECOND,
            s.waited_ns / MICROSECOND);
}

/* A child that the program forked leaves through the same atexit functions; it is not the one that was measured. */
static void print_stats(void)
{
    if (getpid() != self.process)
        return;
    tool_program.stats.run_ns = tn__os_now_ns() - tool_program.stats.run_start;
    fflush(stdout); /* the program's last words come before ours */
    tool_print_stats(&tool_program.stats, tool_program.session, stderr);
    if (tool_program.cache)
        print_cache();
    if (self.looks_ahead)
        print_ahead();
}

/* Errors on other threads, or within calls; the call that needs what failed goes to end_program. */
static void report_error(void *context, const struct tn_error *error)
{
    (void)context;
    tool_fail(STATUS_FAILURE, "%s", error->text);
}

static void end_program(void)
{
    exit(STATUS_FAILURE);
}

/* The folder is not closed: what the program compiles at its very end goes there too. NULL: an error was reported. */
static struct tn_store *open_folder(const char *option, const char *path)
{
    enum { LIMIT = 1 << 30 };
    struct tn_folder_options folder = {.size = sizeof folder, .path = path, .limit = LIMIT};
    struct tn_store *store;
    struct tn_error error;
    if (!tn_store_open_folder(&folder, &store, &error))
        return store;
    tool_fail(STATUS_FAILURE, "option '%s': %s", option, error.text);
    return NULL;
}

/* What compiles for a JIT. */
static const struct tn_compiler *compiler(void)
{
    return tool_isolated() ? tool_isolated() : tool_compiler();
}

static bool use_cache(struct tn_store *store)
{
    struct tn_error error;
    const struct tn_cache_options options = {
        .size = sizeof options, .stores = &store, .store_count = 1, .compiler = compiler()};
    return store && (!tn_cache_create(&options, &tool_program.cache, &error) ||
                     (tool_fail(STATUS_FAILURE, "option '--cache': %s", error.text), false));
}

/* Sets up what a value of the option other than "none" means. */
static bool look_ahead(int kind, const struct tn_store *store)
{
    struct tn_error error;
    const struct tn_ahead_options options = {.size = sizeof options,
                                             .callees = kind == AHEAD_CALLS || kind == AHEAD_ALL,
                                             .orders = kind >= AHEAD_ORDER ? store : NULL};
    self.looks_ahead = true;
    return !tn_jit_compile_ahead(tool_program.jit, &options, &error) ||
           (tool_fail(STATUS_FAILURE, "option '--ahead': %s", error.text), false);
}

static void end_ahead(void)
{
    tn_jit_end_ahead(tool_program.jit);
}

static void flush_cache(void)
{
    tn_cache_flush(tool_program.cache, NULL);
}

bool tool_program_use_jit(const struct settings *settings)
{
    struct tn_compile_options compile;
    struct tn_error error;
    struct tn_store *cached = settings->cache ? open_folder("--cache", settings->cache) : NULL;
    struct tn_store *orders = settings->orders ? open_folder("--orders", settings->orders) : cached;
    if (!tool_compile_options(settings, &compile) || (settings->cache && !use_cache(cached)) ||
        (settings->orders && !orders))
        return false;
    struct tn_jit_options options = {.size = sizeof options,
                                     .session = tool_program.session,
                                     .compiler = settings->cache ? tool_program.cache : compiler(),
                                     .compile = &compile,
                                     .lazy = settings->lazy || settings->tiers || settings->ahead,
                                     .on_failure = end_program};
    const struct tn_tier tiers[] = {tool_first_tier, {.opt_level = settings->opt_level}};
    if (settings->tiers) {
        options.tiers = tiers;
        options.tier_count = 1 + (settings->opt_level > tiers[0].opt_level);
        options.tiering = tn_jit_tiering();
    }
    if (tn_jit_create(&options, &tool_program.jit, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    return !settings->ahead || look_ahead(settings->ahead, orders);
}

bool tool_program_create(const struct settings *settings, struct tn__detached *where, bool with_host, size_t threads)
{
    struct tn_session_options options = {.size = sizeof options,
                                         .on_undefined = note_undefined,
                                         .context = &self.undefined,
                                         .on_error = report_error,
                                         .threads = threads,
                                         .formats = (where ? tool_formats_for : tool_formats_to_run)(settings),
                                         .decompress = tn_codegen_decompress,
                                         .flags = TN_SESSION_TIMINGS | TN_SESSION_OWN_THREADS};
    struct tn_error error;
    uint64_t start = tn__os_now_ns();
    if (!options.formats || (!where && !tool_thread_data_start()))
        return false;
    const char *faults = secure_getenv("TENON_TEST_MEM");
    if (faults)
        tn__os_set_faults(faults);
    bool ok = !(where ? tn__session_create_detached(&options, where, &tool_program.session, &error)
                      : tn_session_create(&options, &tool_program.session, &error)) &&
              !tn_library_create(tool_program.session, "program", &tool_program.library, &error) &&
              (!with_host || !tn_add_resolver(tool_program.library, tool_resolve_host, NULL, &error));
    tool_program.stats.session_ns = tn__os_now_ns() - start;
    if (ok)
        tn_session_defer_signals(tool_program.session);
    else
        tool_fail(STATUS_FAILURE, "%s", error.text);
    return ok;
}

/* Links all objects and the entry. Initializers run later, with the program's arguments. */
static int link_with_entry(struct tn_wanted *entry, struct tn_error *error)
{
    int rc = tool_program.jit ? tn_jit_link(tool_program.jit, tool_program.library, &entry->name, 1, error)
                              : tn_link(tool_program.library, error);
    return rc ? rc : tn__lookup_only(tool_program.library, entry, 1, error);
}

static int look_up(const char *entry, const char *const *roots, void **address, struct tn_error *error)
{
    bool may_be_hidden = strcmp(entry, "main") == 0; /* as with -fvisibility=hidden */
    struct tn_wanted wanted = {entry, may_be_hidden ? TN_WANTED_HIDDEN : 0, NULL};
    int rc = roots ? tn__lookup_only(tool_program.library, &wanted, 1, error) : link_with_entry(&wanted, error);
    if (!rc)
        *address = wanted.address;
    if (rc == TN_EUNDEF && !self.undefined.stream)
        return tool_fail(rc, "%s; --entry names another function to call", error->text);
    if (rc)
        report_link_error(error);
    return rc;
}

bool tool_program_link(const char *entry, const char *const *roots, size_t root_count, void **address)
{
    struct tn_error error;
    uint64_t start = tn__os_now_ns();
    int rc = 0;
    if (roots)
        rc = tn_link_roots(tool_program.library, roots, root_count, &error);
    else if (!entry)
        rc = tn_link(tool_program.library, &error);
    if (rc)
        report_link_error(&error);
    else if (entry)
        rc = look_up(entry, roots, address, &error);
    if (!rc && entry)
        tool_report_crashes(tool_program.stats.command);
    uint64_t end = tn__os_now_ns();
    tool_program.stats.link_ns += end - start;
    tool_time_event("link", "program", start, end);
    return rc == 0;
}

/* Copies pointers up to the NULL that ends them; returns where the copy goes on. */
static char **copy_list(char **to, char *const *from)
{
    while ((*to++ = *from++))
        ;
    return to;
}

static size_t length_of(char *const *list)
{
    size_t length = 0;
    while (list[length])
        length++;
    return length;
}

/* The types of <elf.h> end at 51. */
enum { AUXV_TYPES = 64 };

/* Writes the entries of this process's auxiliary vector, AT_NULL last. */
static void copy_auxv(char **to)
{
    for (unsigned long type = AT_NULL + 1; type < AUXV_TYPES; type++) {
        errno = 0;
        unsigned long value = getauxval(type);
        if (errno)
            continue;
        *to++ = (char *)type;
        *to++ = (char *)value;
    }
    *to++ = (char *)AT_NULL;
    *to = NULL;
}

/* Lays out what the program starts with as the kernel does (System V ABI for AMD64, 3.4.1): arguments, the first of
 * which is the first FILE, environment and auxiliary vector follow each other, because programs step from one to the
 * next. */
static char **make_arguments(const struct settings *settings)
{
    size_t words = (size_t)settings->argument_count + 2 + length_of(environ) + 1 + 2 * (AUXV_TYPES + 1);
    char **argv = calloc(words, sizeof *argv);
    if (!argv)
        return NULL;
    argv[0] = settings->files[0];
    for (int i = 0; i < settings->argument_count; i++)
        argv[i + 1] = settings->arguments[i];
    char **envp = argv + settings->argument_count + 2;
    copy_auxv(copy_list(envp, environ));
    environ = envp;
    /* What err(), error() and assert() of the program print. */
    program_invocation_name = argv[0];
    program_invocation_short_name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    return argv;
}

int tool_program_call(const struct settings *settings, void *entry)
{
    char **argv = make_arguments(settings);
    int argc = settings->argument_count + 1;
    self.process = getpid();
    if (!tool_profile_start(settings))
        return STATUS_FAILURE;
    if (!argv || (tool_program.cache && atexit(flush_cache) != 0) || (self.looks_ahead && atexit(end_ahead) != 0) ||
        (settings->stats && atexit(print_stats) != 0) || atexit(run_finalizers) != 0)
        return tool_fail(STATUS_FAILURE, "out of memory");
    tool_thread_data_run();
    tool_use_built_in_name_services();
    struct tn_error error;
    tool_progress_stop();
    tool_program.stats.run_start = tn__os_now_ns();
    int rc = tool_program.jit
                 ? tn_jit_run_initializers(tool_program.jit, tool_program.library, argc, argv, environ, &error)
                 : tn_run_initializers(tool_program.library, argc, argv, environ, &error);
    if (rc)
        return tool_fail(STATUS_FAILURE, "%s", error.text);
    /* On x86-64, functions of Windows have their first two arguments where the fourth and the third one are otherwise,
     * and write to the four words above the return address. */
    int (*function)(int, char **, char **, int, int, int, long, long, long, long);
    memcpy(&function, &entry, sizeof function);
    errno = 0;
    return function(argc, argv, self.is_windows ? argv : environ, argc, 0, 0, 0, 0, 0, 0);
}
