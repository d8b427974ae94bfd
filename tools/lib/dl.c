/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* dlopen for the programs that `tenon run` runs: behind a path is an object, an archive, IR, which is compiled at
 * once, an image, or a shared library of the system. Names without a slash are looked for in the folders of
 * LD_LIBRARY_PATH, then in the system's. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "lib/tool.h"
#include "link/shared/libc.h"

/* ---- paths ---- */

/* The file in the folder, if it can be read; NULL: it cannot. To be freed. */
static char *file_in(const char *folder, size_t length, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s/%s", (int)length, folder, name) < 0)
        return NULL;
    if (!access(path, R_OK))
        return path;
    free(path);
    return NULL;
}

/* Folders are separated by colons; an empty one is the current one. */
static char *file_in_any(const char *folders, const char *name)
{
    for (const char *at = folders; at;) {
        size_t length = strcspn(at, ":");
        char *found = length ? file_in(at, length, name) : file_in(".", 1, name);
        if (found)
            return found;
        at = at[length] ? at + length + 1 : NULL;
    }
    return NULL;
}

static char *find_file(const char *path)
{
    static const char system_folders[] =
        "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib";
    if (strchr(path, '/'))
        return access(path, R_OK) ? NULL : strdup(path);
    char *found = file_in_any(secure_getenv("LD_LIBRARY_PATH"), path);
    return found ? found : file_in_any(system_folders, path);
}

/* The path of what is found by this one, without links and dots. NULL: nothing is, see errno. To be freed. */
static char *real_path(const char *path)
{
    char *file = find_file(path), *real = file ? realpath(file, NULL) : NULL;
    int error = errno;
    free(file);
    errno = error;
    return real;
}

/* The program has its own: a process has one C library, and two C++ runtimes in it would not know each other's
 * exceptions. */
static bool is_of_program(const char *path)
{
    static const char *const names[] = {"libstdc++.so.6", "libgcc_s.so.1", "libc++.so.1", "libc++abi.so.1"};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *libc = tn__libc_of(name);
    if (libc)
        return !strcmp(libc, tn__libc_name());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return tool_resolve_host(NULL, "__cxa_throw");
    return false;
}

/* ---- contents ---- */

static void release_object(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){.data = (void *)bytes, .size = length});
}

static int add_ir(struct tn_library *library, struct file *file, const struct settings *settings, struct tn_error *err)
{
    struct tn_buffer object;
    if (!tool_compile(file, settings, NULL, &object, &tool_program.stats.compile))
        return tn__fail(err, TN_ECOMPILE, "%s cannot be compiled", file->name);
    struct tn_input input = {.size = sizeof input,
                             .name = file->name,
                             .bytes = object.data,
                             .length = object.size,
                             .release = release_object};
    return tn_add_object(library, &input, err);
}

/* What cannot be read or compiled has a message of its own. */
static int load_file(const struct settings *settings, const char *path, struct tn_library *library,
                     struct tn_error *err)
{
    struct file file;
    if (!tool_read(path, &file))
        return tn__fail(err, TN_EIO, "%s cannot be loaded", path);
    bool is_ir = file.kind == FILE_IR || file.kind == FILE_FLAT;
    int code = is_ir                   ? add_ir(library, &file, settings, err)
               : tool_has_image(&file) ? tool_add_image(library, path, err)
                                       : tn_add_file(library, path, err);
    tool_release(&file);
    return code;
}

/* What it does not define itself is the program's, or the command's. */
static int open_scope(struct tn_library *library, struct tn_error *err)
{
    const struct tn_search program = {tool_program.library, 0};
    int code = tn_library_search(library, &program, 1, err);
    return code ? code : tn_add_resolver(library, tool_resolve_host, NULL, err);
}

/* A file has one library, whatever names and paths lead there. */
static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *err)
{
    if (is_of_program(path))
        return open_scope(*library, err);
    char *real = real_path(path);
    if (!real)
        return tn__fail(err, TN_EIO, "%s: cannot open shared object file: %s", path, strerror(errno));
    bool is_real = !strcmp(real, path);
    int code = is_real ? open_scope(*library, err) : tn_dl_library(from, real, library, err);
    if (is_real && !code)
        code = load_file(context, real, *library, err);
    free(real);
    return code;
}

bool tool_offer_dl(const struct settings *settings)
{
    struct tn_error error;
    const struct tn_dl_options options = {
        .size = sizeof options, .load = load, .context = (void *)settings, .program = tool_program.library};
    return !tn_dl_offer(tool_program.session, &options, &error) || (tool_fail(STATUS_FAILURE, "%s", error.text), false);
}
