/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build: what is loaded of an image contains no path of the machine that built it. Such a path tells others about
 * that machine, and equal inputs would give other images elsewhere. Debug information, which is not loaded, may have
 * paths. */

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"
#include "lib/elf_file.h"
#include "link/model/archive.h"

enum {
    FOLDERS = 6, /* three, each as it is written and without symbolic links */
    SHOWN = 200  /* characters of a path that the message has */
};

struct search {
    char folders[FOLDERS][PATH_MAX];
    size_t count;
    char found[SHOWN + 1]; /* the first path; "": none */
};

/* ---- what is looked for ---- */

/* Names of single folders, such as /root, occur in texts that have nothing to do with a build. */
static bool is_deep(const char *path)
{
    size_t components = 0;
    for (const char *at = path; *at; at++)
        components += *at == '/' && at[1] && at[1] != '/';
    return *path == '/' && components >= 2;
}

static void add_path(struct search *s, const char *path)
{
    size_t length = strlen(path);
    while (length && path[length - 1] == '/')
        length--;
    bool is_known = false;
    for (size_t i = 0; i < s->count; i++)
        is_known |= strncmp(s->folders[i], path, length) == 0 && !s->folders[i][length];
    if (is_deep(path) && !is_known && length < PATH_MAX)
        snprintf(s->folders[s->count++], PATH_MAX, "%.*s", (int)length, path);
}

/* A folder that cannot be found has no other path; that nothing can be written there is another error. */
static void add_folder(struct search *s, const char *path)
{
    char real[PATH_MAX];
    if (!path)
        return;
    add_path(s, path);
    if (realpath(path, real))
        add_path(s, real);
}

static bool is_here(const char *path)
{
    char here[PATH_MAX], there[PATH_MAX];
    return path && realpath(".", here) && realpath(path, there) && strcmp(here, there) == 0;
}

static void add_folders(struct search *s, const char *output)
{
    const char *slash = strrchr(output, '/'), *here = getenv("PWD");
    char folder[PATH_MAX];
    add_folder(s, is_here(here) ? here : ".");
    add_folder(s, getenv("HOME"));
    if (slash && slash - output < PATH_MAX) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - output), output);
        add_folder(s, folder);
    }
}

/* ---- where ---- */

/* False: the folder there is another one, whose name only begins in the same way. */
static bool is_end(const char *at, const char *end)
{
    return at == end || !(isalnum((unsigned char)*at) || (*at && strchr("_-.+~", *at)));
}

static void note(struct search *s, const char *at, const char *end)
{
    size_t length = 0;
    while (length < SHOWN && at + length < end && isprint((unsigned char)at[length]))
        length++;
    snprintf(s->found, sizeof s->found, "%.*s", (int)length, at);
}

static void search_bytes(struct search *s, const char *bytes, size_t size)
{
    const char *end = bytes + size;
    for (size_t i = 0; i < s->count && !*s->found; i++) {
        size_t length = strlen(s->folders[i]);
        const char *at = bytes;
        while ((at = memmem(at, (size_t)(end - at), s->folders[i], length)) && !is_end(at + length, end))
            at++;
        if (at)
            note(s, at, end);
    }
}

static bool search_segments(struct search *s, Elf *elf, size_t count)
{
    size_t size = 0;
    const char *bytes = elf_rawfile(elf, &size);
    const Elf64_Phdr *segments = elf64_getphdr(elf);
    for (size_t i = 0; bytes && segments && i < count; i++) {
        const Elf64_Phdr *segment = &segments[i];
        bool is_inside = segment->p_offset <= size && segment->p_filesz <= size - segment->p_offset;
        if (segment->p_type == PT_LOAD && !is_inside)
            return false;
        if (segment->p_type == PT_LOAD)
            search_bytes(s, bytes + segment->p_offset, segment->p_filesz);
    }
    return bytes && segments;
}

static bool search_sections(struct search *s, Elf *elf)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        const Elf_Data *data = elf_rawdata(section, NULL);
        if (!header || !data)
            return false;
        if ((header->sh_flags & SHF_ALLOC) && data->d_buf)
            search_bytes(s, data->d_buf, data->d_size);
    }
    return true;
}

static int search_file(struct search *s, const char *name, const void *bytes, size_t size, struct tn_error *err)
{
    size_t segments = 0;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)bytes, size);
    bool good = elf && elf_getphdrnum(elf, &segments) == 0;
    if (good)
        good = segments ? search_segments(s, elf, segments) : search_sections(s, elf);
    int code = good ? 0 : tn__fail(err, TN_EFORMAT, "%s: cannot be searched for paths: %s", name, elf_errmsg(-1));
    elf_end(elf);
    return code;
}

static int search_member(void *context, const struct tn_input *member, uint64_t offset, bool *enough,
                         struct tn_error *err)
{
    struct search *s = context;
    (void)offset;
    *enough = *s->found;
    return *enough ? 0 : search_file(s, member->name, member->bytes, member->length, err);
}

static int search_archive(struct search *s, const char *name, const void *bytes, size_t size, struct tn_error *err)
{
    struct tn__archive archive = {.name = (char *)(uintptr_t)name,
                                  .input = {.size = sizeof archive.input, .bytes = bytes, .length = size}};
    int code = tn__archive_open(&archive, err);
    return code ? code : tn__archive_each(&archive, search_member, s, err);
}

bool tool_check_paths(const struct job *job)
{
    const struct settings *settings = job->settings;
    const struct tn_buffer *out = &job->out[TN_IMAGE_OBJECTS];
    struct search search = {.count = 0};
    struct tn_error err;
    if (settings->allows_path || !out->size)
        return true;
    add_folders(&search, settings->output);
    int code = (settings->kind == KIND_ARCHIVE ? search_archive : search_file)(&search, settings->output, out->data,
                                                                               out->size, &err);
    if (code)
        tool_fail(STATUS_FAILURE, "%s", err.text);
    else if (*search.found)
        tool_fail(STATUS_FAILURE,
                  "what is loaded contains '%s', a path of this machine: compile with -ffile-prefix-map=FOLDER=, or "
                  "give --allow-path",
                  search.found);
    return !code && !*search.found;
}
