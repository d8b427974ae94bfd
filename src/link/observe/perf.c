/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files that perf reads: the map, a line "START SIZE name" in hexadecimal per function (Linux,
 * tools/perf/Documentation/ jit-interface.txt), and jitdump, binary records with the code itself
 * (jitdump-specification.txt, version 1). There is one of each per process, so sessions that name one folder share
 * it. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/fork.h"
#include "link/observe/lines.h"
#include "link/observe/observer.h"

struct log;

struct kind {
    const char *file; /* format of its name */
    bool anonymous;   /* perf asks the map only about memory that has no file, which a memfd is */
    bool has_lines;
    int (*begin)(struct log *log);
    size_t (*size_of)(const struct tn_function *function, const struct tn__lines *lines);
    /* Returns how many bytes it wrote. */
    size_t (*write)(struct log *log, const struct tn_function *function, const struct tn__lines *lines, char *out);
    void (*end)(struct log *log);
};

struct log {
    struct log *next;
    const struct kind *kind;
    unsigned users;
    int fd;
    uint64_t generation;               /* of forks: a child has a file of its own */
    uint64_t marker;                   /* jitdump: where its first page is mapped, */
    uint64_t count;                    /* and functions so far */
    tn_decompress *_Atomic decompress; /* that of a session that has one */
    char folder[];
};

static struct log *logs; /* under the observers' lock */

/* ---- the map ---- */

static int begin_map(struct log *log)
{
    (void)log;
    return 0;
}

static size_t map_size(const struct tn_function *function, const struct tn__lines *lines)
{
    (void)lines;
    return 16 + 1 + 16 + 1 + strlen(function->name) + 1;
}

static size_t write_map(struct log *log, const struct tn_function *function, const struct tn__lines *lines, char *out)
{
    (void)log;
    size_t length =
        (size_t)snprintf(out, map_size(function, lines), "%" PRIx64 " %" PRIx64 " ", function->address, function->size);
    size_t name = strlen(function->name);
    memcpy(out + length, function->name, name);
    tn__quote(out + length, name);
    out[length + name] = '\n';
    return length + name + 1;
}

static void end_map(struct log *log)
{
    (void)log;
}

/* ---- jitdump ---- */

enum { JITDUMP_MAGIC = 0x4A695444, JITDUMP_VERSION = 1, JIT_CODE_LOAD = 0, JIT_CODE_DEBUG_INFO = 2, JIT_CODE_CLOSE };

struct jitdump_header {
    uint32_t magic, version, total_size, elf_machine, padding, pid;
    uint64_t timestamp, flags;
};

struct jitdump_record {
    uint32_t id, total_size;
    uint64_t timestamp;
};

struct jitdump_load {
    struct jitdump_record record;
    uint32_t pid, tid;
    uint64_t vma, code_address, code_size, code_index;
}; /* then the name with its NUL, then the code */

struct jitdump_lines {
    struct jitdump_record record;
    uint64_t code_address, entry_count;
}; /* then the entries */

struct jitdump_line {
    uint64_t address;
    uint32_t line, discriminator;
}; /* then the path with its NUL */

enum { E_MACHINE = 18 }; /* in an ELF header */

/* Each line has the path of its file. Paths may be long, and lines many: for an image of debug data, so many bytes of
 * lines are written. */
enum { LINES_LEAST = 16 << 20, LINES_FACTOR = 256 };

static int begin_jitdump(struct log *log)
{
    uint64_t start, end;
    tn__os_program_range(&start, &end);
    const struct jitdump_header header = {
        .magic = JITDUMP_MAGIC,
        .version = JITDUMP_VERSION,
        .total_size = sizeof header,
        .elf_machine = tn__get16((const char *)(uintptr_t)start + E_MACHINE),
        .pid = tn__os_process_id(),
        .timestamp = tn__os_now_ns(),
    };
    int error = tn__os_append(log->fd, &header, sizeof header);
    log->count = 0;
    return error ? error : tn__os_map_marker(log->fd, &log->marker);
}

/* The lines of a function: returns how many, the first is *from. */
static size_t lines_of(const struct tn__lines *lines, const struct tn_function *function, const struct tn__line **from)
{
    const struct tn__line *end = lines->items + lines->count;
    size_t count = 0;
    *from = tn__lines_find(lines, function->address);
    while (*from && *from + count < end && (*from)[count].address < function->address + function->size)
        count++;
    return count;
}

/* The size of an entry with its path; 0: the line is unknown. */
static size_t line_size(const struct tn__line *line)
{
    return line->file && line->line ? sizeof(struct jitdump_line) + (size_t)tn__source_path(line->file, NULL, 0) + 1
                                    : 0;
}

static size_t lines_size(const struct tn_function *function, const struct tn__lines *lines)
{
    const struct tn__line *line;
    size_t size = 0, count = lines_of(lines, function, &line);
    for (size_t i = 0; i < count && size <= lines->most; i++)
        size += line_size(&line[i]);
    return size ? size + sizeof(struct jitdump_lines) : 0;
}

static size_t load_size(const struct tn_function *function)
{
    return sizeof(struct jitdump_load) + strlen(function->name) + 1 + function->size;
}

static size_t jitdump_size(const struct tn_function *function, const struct tn__lines *lines)
{
    return lines_size(function, lines) + load_size(function);
}

/* perf wants the lines of a function ahead of its code. */
static size_t write_lines(const struct tn_function *function, const struct tn__lines *lines, char *out)
{
    const struct tn__line *line;
    size_t size = lines_size(function, lines), at = sizeof(struct jitdump_lines),
           count = lines_of(lines, function, &line);
    struct jitdump_lines head = {.record = {JIT_CODE_DEBUG_INFO, (uint32_t)size, tn__os_now_ns()},
                                 .code_address = function->address};
    for (size_t i = 0; size && i < count; i++) {
        size_t line_bytes = line_size(&line[i]);
        if (!line_bytes)
            continue;
        const struct jitdump_line entry = {.address = tn__max64(line[i].address, function->address),
                                           .line = line[i].line};
        memcpy(out + at, &entry, sizeof entry);
        tn__source_path(line[i].file, out + at + sizeof entry, line_bytes - sizeof entry);
        tn__quote(out + at + sizeof entry, line_bytes - sizeof entry - 1);
        at += line_bytes;
        head.entry_count++;
    }
    if (size)
        memcpy(out, &head, sizeof head);
    return size;
}

static size_t write_jitdump(struct log *log, const struct tn_function *function, const struct tn__lines *lines,
                            char *out)
{
    size_t name_size = strlen(function->name) + 1, lines_bytes = write_lines(function, lines, out);
    const struct jitdump_load load = {
        .record = {JIT_CODE_LOAD, (uint32_t)load_size(function), tn__os_now_ns()},
        .pid = tn__os_process_id(),
        .tid = tn__os_thread_id(),
        .vma = function->address,
        .code_address = function->address,
        .code_size = function->size,
        .code_index = log->count++,
    };
    out += lines_bytes;
    memcpy(out, &load, sizeof load);
    memcpy(out + sizeof load, function->name, name_size);
    tn__quote(out + sizeof load, name_size - 1);
    memcpy(out + sizeof load + name_size, (const void *)(uintptr_t)function->address, function->size);
    return lines_bytes + load.record.total_size;
}

static void end_jitdump(struct log *log)
{
    const struct jitdump_record record = {JIT_CODE_CLOSE, sizeof record, tn__os_now_ns()};
    tn__os_append(log->fd, &record, sizeof record);
    tn__os_release(log->marker, tn__os_page_size());
}

static const struct kind kinds[] = {
    [TN_PERF_MAP] = {"%s/perf-%" PRIu32 ".map", true, false, begin_map, map_size, write_map, end_map},
    [TN_PERF_JITDUMP] = {"%s/jit-%" PRIu32 ".dump", false, true, begin_jitdump, jitdump_size, write_jitdump,
                         end_jitdump},
};

/* ---- logs ---- */

static int fail_with(int error, const struct log *log, struct tn_error *err)
{
    int code = error == ENOMEM ? TN_ENOMEM : error == EPERM || error == EACCES ? TN_EPERM : TN_EIO;
    return tn__fail(err, code, "a file for perf in %s: %s", log->folder, strerror(error));
}

static int open_log(struct log *log)
{
    char path[4096];
    int length = snprintf(path, sizeof path, log->kind->file, log->folder, tn__os_process_id());
    if (length < 0 || (size_t)length >= sizeof path)
        return ENAMETOOLONG;
    int error = tn__os_create_log(path, &log->fd);
    if (error)
        return error;
    error = log->kind->begin(log);
    if (error) {
        tn__os_close(log->fd);
        log->fd = -1;
        return error;
    }
    log->generation = tn__fork_generation();
    return 0;
}

static bool is_own(const struct log *log)
{
    return log->generation == tn__fork_generation();
}

/* The parent goes on with its file. */
static int leave_after_fork(struct log *log)
{
    if (is_own(log))
        return 0;
    tn__os_close(log->fd);
    return open_log(log);
}

static struct log *find_log(const struct kind *kind, const char *folder)
{
    struct log *log = logs;
    while (log && (log->kind != kind || strcmp(log->folder, folder)))
        log = log->next;
    return log;
}

static int new_log(const struct kind *kind, const char *folder, struct log **out, struct tn_error *err)
{
    size_t size = strlen(folder) + 1;
    struct log *log = tn__alloc_zeroed(NULL, 1, sizeof *log + size);
    if (!log)
        return tn__no_memory(err, NULL);
    log->kind = kind;
    memcpy(log->folder, folder, size);
    int error = open_log(log);
    if (error) {
        int code = fail_with(error, log, err);
        tn__free(NULL, log);
        return code;
    }
    log->next = logs;
    logs = log;
    *out = log;
    return 0;
}

static int use_log(const struct kind *kind, const char *folder, tn_decompress *decompress, struct log **out,
                   struct tn_error *err)
{
    tn__observers_lock();
    *out = find_log(kind, folder);
    int code = *out ? 0 : new_log(kind, folder, out, err);
    if (!code)
        (*out)->users++;
    if (!code && decompress)
        (*out)->decompress = decompress;
    tn__observers_unlock();
    return code;
}

static void drop_log(struct log *log)
{
    tn__observers_lock();
    if (!--log->users) {
        struct log **link = &logs;
        while (*link != log)
            link = &(*link)->next;
        *link = log->next;
        if (is_own(log))
            log->kind->end(log);
        tn__os_close(log->fd);
        tn__free(NULL, log);
    }
    tn__observers_unlock();
}

/* ---- observing ---- */

static int write_functions(struct log *log, const struct tn_linked_object *const *objects, size_t count,
                           const struct tn__lines *lines, struct tn_error *err)
{
    size_t size = 0, at = 0, others = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < objects[i]->function_count; k++) {
            size += log->kind->size_of(&objects[i]->functions[k], lines);
            others += load_size(&objects[i]->functions[k]);
            if (size > others && size - others > lines->most)
                return tn__fail(err, TN_EFORMAT, "%s: the paths of its lines are too long in sum for a file for perf",
                                objects[i]->name);
        }
    char *bytes = tn__alloc(NULL, size + 1);
    if (!bytes)
        return tn__no_memory(err, NULL);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < objects[i]->function_count; k++)
            at += log->kind->write(log, &objects[i]->functions[k], lines, bytes + at);
    int error = tn__os_append(log->fd, bytes, at);
    tn__free(NULL, bytes);
    return error ? fail_with(error, log, err) : 0;
}

static int write_all(struct log *log, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    struct tn__debug_image image = {.from = NULL};
    struct tn__lines lines = {.most = UINT64_MAX};
    int code = 0;
    if (log->kind->has_lines) {
        code = tn__debug_image_make(&image, NULL, log->decompress, objects, count, err);
        if (!code)
            code = tn__lines_add(&lines, &image, err);
        lines.most = LINES_LEAST + LINES_FACTOR * (uint64_t)image.size;
    }
    if (!code)
        code = write_functions(log, objects, count, &lines, err);
    tn__lines_free(&lines);
    tn__debug_image_free(&image);
    return code;
}

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    struct log *log = context;
    tn__observers_lock();
    int error = leave_after_fork(log);
    int code = error ? fail_with(error, log, err) : write_all(log, objects, count, err);
    tn__observers_unlock();
    return code;
}

static void closed(void *context)
{
    drop_log(context);
}

/* perf looks for maps in one place only. Everything else it finds by the mapping. */
static int default_folder(enum tn_perf kind, char *folder, size_t size, struct tn_error *err)
{
    if (kind == TN_PERF_MAP)
        return snprintf(folder, size, "/tmp") < 0;
    int error = tn__os_own_folder(folder, size);
    return error ? tn__fail(err, error == EACCES ? TN_EPERM : TN_EIO,
                            "%s, which has to be a folder of this user's alone: %s", folder, strerror(error))
                 : 0;
}

int tn_observe_perf(struct tn_session *session, enum tn_perf kind, const char *folder, struct tn_error *err)
{
    if (!session)
        return tn__fail(err, TN_EINVAL, "no session given");
    if ((unsigned)kind >= TN_COUNT(kinds))
        return tn__fail(err, TN_EINVAL, "unknown kind of file for perf: %d", (int)kind);
    char own[64];
    int code = tn__session_check_here(session, "profilers", err);
    if (!code && !folder)
        code = default_folder(kind, own, sizeof own, err);
    if (code)
        return code;
    folder = folder ? folder : own;
    tn__session_lock(session);
    struct log *log;
    code = kinds[kind].anonymous ? tn__codemem_make_private(&session->memory, err) : 0;
    if (!code)
        code = use_log(&kinds[kind], folder, session->decompress, &log, err);
    tn__session_unlock(session);
    if (code)
        return code;
    const struct tn_observer observer = {.size = sizeof observer, .context = log, .linked = linked, .closed = closed};
    code = tn_add_observer(session, &observer, err);
    if (code)
        drop_log(log);
    return code;
}
