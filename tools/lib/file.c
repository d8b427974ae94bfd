/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reading inputs, telling their kind, and writing outputs so that no partial file stays behind. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "image/format/format.h"
#include "lib/watch.h"
#include "link/model/archive.h"
#include "link/model/object.h"

/* ---- kinds ---- */

static const struct {
    const char *bytes;
    size_t length;
    enum file_kind kind;
} magics[] = {
    {TN__IMAGE_SHARD_MAGIC, 8, FILE_SHARD},
    {"Tnf1", 4, FILE_FLAT},
    {"BC\xC0\xDE", 4, FILE_IR},
    {"\xDE\xC0\x17\x0B", 4, FILE_IR}, /* bitcode in Darwin's wrapper */
};

/* Other kinds of files that an ordinary build has. */
static const struct {
    const char *bytes;
    size_t length;
    const char *name;
} strangers[] = {
    {"\xCE\xFA\xED\xFE", 4, "a Mach-O file for a 32-bit machine"},
    {"\xCA\xFE\xBA\xBE", 4, "a Java class"},
    {"MZ", 2, "a Windows program or library"},
    {"\0asm", 4, "a WebAssembly module"},
    {"\x1F\x8B", 2, "compressed by gzip"},
    {"\xFD"
     "7zXZ",
     5, "compressed by xz"},
    {"\x28\xB5\x2F\xFD", 4, "compressed by zstd"},
};

/* Text, unless its first bytes contain control characters that do not occur in source files. */
static bool looks_like_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size && i < 512; i++)
        if (bytes[i] < ' ' && !strchr("\t\n\v\f\r", bytes[i] ? bytes[i] : 1))
            return false;
    return true;
}

static bool tell_kind(struct file *file)
{
    for (size_t i = 0; i < TN_COUNT(magics); i++) {
        if (file->size >= magics[i].length && memcmp(file->bytes, magics[i].bytes, magics[i].length) == 0) {
            file->kind = magics[i].kind;
            return true;
        }
    }
    bool is_archive = tn__archive_claims(tool_seen_formats, file->bytes, file->size);
    if (is_archive || tn__object_is_known(file->bytes, file->size)) {
        file->kind = is_archive ? FILE_ARCHIVE : FILE_OBJECT;
        return true;
    }
    file->kind = FILE_IR;
    file->is_text = looks_like_text(file->bytes, file->size);
    for (size_t i = 0; !file->is_text && i < TN_COUNT(strangers); i++)
        if (file->size >= strangers[i].length && memcmp(file->bytes, strangers[i].bytes, strangers[i].length) == 0)
            return tool_fail(STATUS_FAILURE, "'%s' is %s; it must be LLVM IR, an object or an archive", file->name,
                             strangers[i].name),
                   false;
    if (!file->is_text) {
        const unsigned char *b = file->bytes;
        tool_fail(STATUS_FAILURE,
                  "'%s' is neither LLVM IR nor an object nor an archive; it begins with bytes %02x %02x", file->name,
                  b[0], file->size > 1 ? b[1] : 0);
    }
    return file->is_text;
}

const char *tool_kind_name(const struct file *file)
{
    static const char *const names[] = {[FILE_IR] = "LLVM IR",
                                        [FILE_OBJECT] = "an object",
                                        [FILE_ARCHIVE] = "an archive",
                                        [FILE_SHARD] = "a shard",
                                        [FILE_FLAT] = "a flat file"};
    return names[file->kind];
}

/* ---- reading ---- */

/* Reads to the end: of standard input, a pipe, a device. */
static int read_stream(int fd, struct file *file)
{
    size_t capacity = 0;
    char *bytes = NULL;
    for (;;) {
        if (file->size == capacity) {
            capacity = capacity ? capacity * 2 : 1 << 16;
            char *larger = realloc(bytes, capacity);
            if (!larger)
                return free(bytes), ENOMEM;
            bytes = larger;
        }
        ssize_t got = read(fd, bytes + file->size, capacity - file->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return free(bytes), errno;
        file->bytes = bytes;
        file->size += (size_t)got;
        if (!got)
            return 0;
    }
}

/* A pipe or a device: waits for whatever writes there. */
static int read_device(const char *name, struct file *file)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = read_stream(fd, file);
    close(fd);
    return error;
}

static int map_file(const char *name, struct file *file)
{
    struct tn__os_file mapped;
    int error = tn__os_map_file(name, &mapped);
    if (error)
        return error;
    file->bytes = mapped.bytes;
    file->size = mapped.size;
    file->is_mapped = true;
    return 0;
}

static int read_file(const char *name, struct file *file)
{
    struct stat status;
    if (strcmp(name, "-") == 0)
        return read_stream(STDIN_FILENO, file);
    if (stat(name, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)))
        return read_device(name, file);
    return map_file(name, file);
}

bool tool_read_any(const char *name, struct file *file)
{
    *file = (struct file){.name = strcmp(name, "-") == 0 ? "<stdin>" : name};
    int error = read_file(name, file);
    if (error == EISDIR)
        return tool_fail(STATUS_FAILURE, "'%s' is a directory; name the files in it", file->name), false;
    if (error)
        return tool_fail(STATUS_FAILURE, "cannot read '%s': %s", file->name, strerror(error)), false;
    return true;
}

bool tool_read(const char *name, struct file *file)
{
    if (!tool_read_any(name, file))
        return false;
    if (!file->size)
        tool_fail(STATUS_FAILURE, "'%s' is empty; it must be LLVM IR, an object or an archive", file->name);
    if (file->size && tell_kind(file))
        return true;
    tool_release(file);
    return false;
}

void tool_release(struct file *file)
{
    if (file->is_mapped)
        tn__os_unmap_file(&(struct tn__os_file){.bytes = file->bytes, .size = file->size});
    else
        free((void *)file->bytes);
    file->bytes = NULL;
}

bool tool_is_same_file(const char *name, const char *other)
{
    struct stat a, b;
    return stat(name, &a) == 0 && stat(other, &b) == 0 && S_ISREG(a.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* ---- writing ---- */

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno != EINTR)
            return errno;
        if (put > 0) {
            bytes += put;
            size -= (size_t)put;
        }
    }
    return 0;
}

enum { SUFFIX = 32, ATTEMPTS = 1000 };

/* Creates a new file called `name` and a suffix, which is appended. mkstemp would make it private, and to ask for the
 * umask is to change it for all threads. */
static int create_temporary(char *name, mode_t mode)
{
    size_t length = strlen(name);
    int fd = -1;
    for (int i = 0; i < ATTEMPTS && fd < 0 && (i == 0 || errno == EEXIST); i++) {
        snprintf(name + length, SUFFIX, ".%d-%d", (int)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return fd;
}

static int write_and_rename(const char *name, char *temporary, const void *bytes, size_t size, mode_t mode)
{
    int fd = create_temporary(temporary, mode);
    int error = fd < 0 ? errno : write_all(fd, bytes, size);
    if (fd >= 0) {
        if (!error && fsync(fd) < 0) /* or a crash of the system could leave the new name with nothing in it */
            error = errno;
        if (close(fd) < 0 && !error)
            error = errno;
        if (!error && rename(temporary, name) < 0)
            error = errno;
        if (error)
            unlink(temporary);
    }
    return error;
}

void tool_outlive_limit(bool on)
{
    static struct sigaction before;
    if (on)
        sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
    else
        sigaction(SIGXFSZ, &before, NULL);
}

/* Signals that end the command are blocked until the file is complete, or gone. */
static int replace(const char *name, const void *bytes, size_t size, mode_t mode)
{
    size_t length = strlen(name);
    char *temporary = malloc(length + SUFFIX);
    if (!temporary)
        return ENOMEM;
    memcpy(temporary, name, length + 1);
    sigset_t all, mask;
    sigfillset(&all);
    sigdelset(&all, SIGXFSZ); /* what is blocked cannot be ignored */
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    tool_outlive_limit(true);
    int error = write_and_rename(name, temporary, bytes, size, mode);
    tool_outlive_limit(false);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    free(temporary);
    return error;
}

/* A device or pipe is written in place: renaming would replace it. */
static int write_in_place(FILE *out, const void *bytes, size_t size)
{
    if (!out)
        return errno;
    int error = write_all(fileno(out), bytes, size);
    if (out != stdout && fclose(out) != 0 && !error)
        error = errno;
    return error;
}

static bool write_as(const char *name, const void *bytes, size_t size, mode_t mode)
{
    struct stat status;
    int error;
    if (strcmp(name, "-") == 0) {
        tool_progress_hold();
        error = write_in_place(stdout, bytes, size);
        tool_progress_release();
    } else if (stat(name, &status) == 0 && S_ISDIR(status.st_mode)) {
        error = EISDIR;
    } else if (stat(name, &status) == 0 && !S_ISREG(status.st_mode)) {
        error = write_in_place(fopen(name, "wb"), bytes, size);
    } else {
        error = replace(name, bytes, size, mode);
    }
    if (error)
        tool_fail(STATUS_FAILURE, "cannot write '%s': %s", name, strerror(error));
    return error == 0;
}

void tool_keep_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/", O_PATH); /* which exists without /dev as well; takes the lowest number that is free */
}

int tool_finish_output(int status)
{
    bool lost = ferror(stdout);
    errno = 0;
    if (fflush(stdout) == 0 && !lost)
        return status;
    return tool_fail(STATUS_FAILURE, "cannot write to standard output%s%s", errno ? ": " : "",
                     errno ? strerror(errno) : "");
}

bool tool_write(const char *name, const void *bytes, size_t size)
{
    return write_as(name, bytes, size, 0666);
}

bool tool_write_program(const char *name, const void *bytes, size_t size)
{
    return write_as(name, bytes, size, 0777);
}
