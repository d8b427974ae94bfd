/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads archives of ar(1): the common layout of ar(5), GNU's symbol tables "/" and "/SYM64/", long names "//" and thin
 * archives, BSD's "__.SYMDEF" tables and "#1/length" names. Libraries of Windows ("PE Format", Archive File Format)
 * begin as GNU's, and have a second "/" with the same names in another order, which is skipped. Every field is checked
 * against the size of the archive. */

#include <errno.h>

#include "base/partial_file.h"
#include "link/model/archive.h"
#include "link/model/object.h"
#include "link/model/open_file.h"

enum { MAGIC = 8, HEADER = 60, NAME = 16, SIZE_AT = 48, SIZE_DIGITS = 10, END_AT = 58 };

#define FAIL(...) tn__fail(err, TN_EFORMAT, __VA_ARGS__)

static bool has_magic(const uint8_t *bytes, size_t size, const char *magic)
{
    return size >= MAGIC && !memcmp(bytes, magic, MAGIC);
}

static void take_part(const struct tn_format *const *formats, const uint8_t **bytes, size_t *size)
{
    bool taken = false;
    for (; formats && *formats && !taken; formats++)
        taken = (*formats)->reader->take_part && (*formats)->reader->take_part(bytes, size, (*formats)->machine);
}

bool tn__archive_claims(const struct tn_format *const *formats, const uint8_t *bytes, size_t size)
{
    take_part(formats, &bytes, &size);
    return has_magic(bytes, size, "!<arch>\n") || has_magic(bytes, size, "!<thin>\n");
}

/* Reads a range that lies within the archive. */
static int need(const struct tn__archive *archive, uint64_t offset, uint64_t size, struct tn_error *err)
{
    offset += (uint64_t)(archive->bytes - (const uint8_t *)archive->input.bytes);
    int error = archive->source.partial ? tn__partial_file_need(archive->source.partial, offset, size) : 0;
    return error ? tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: %llu bytes at %llu cannot be read: %s",
                            archive->name, (unsigned long long)size, (unsigned long long)offset, strerror(error))
                 : 0;
}

static int need_contents(const struct tn__archive *archive, const struct tn__member *member, struct tn_error *err)
{
    return member->bytes ? need(archive, (uint64_t)(member->bytes - archive->bytes), member->size, err) : 0;
}

/* ---- members ---- */

/* Decimal digits, then spaces. */
static bool parse_number(const uint8_t *text, size_t width, uint64_t *value)
{
    size_t i = 0;
    for (*value = 0; i < width && text[i] >= '0' && text[i] <= '9'; i++)
        *value = *value * 10 + (uint64_t)(text[i] - '0');
    size_t digits = i;
    while (i < width && text[i] == ' ')
        i++;
    return digits && i == width;
}

bool tn__archive_is_table(const struct tn__member *member)
{
    static const char *const names[] = {"/",
                                        "//",
                                        "/SYM64/",
                                        "__.SYMDEF",
                                        "__.SYMDEF SORTED",
                                        "__.SYMDEF_64",
                                        "__.SYMDEF_64 SORTED",
                                        "/<ECSYMBOLS>/",
                                        "/<XFGHASHMAP>/",
                                        "/<HYBRIDMAP>/"};
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (member->name_length == strlen(names[i]) && !memcmp(member->name, names[i], member->name_length))
            return true;
    return false;
}

static bool is_named(const struct tn__member *member, const char *name)
{
    return member->name_length == strlen(name) && !memcmp(member->name, name, member->name_length);
}

/* Each member's name is looked at whenever the member is, and names in the table may share bytes. */
enum { MOST_NAME = 4096 };

/* "/123": an offset in the table of long names, each of which ends with a slash and a newline. */
static int long_name(const struct tn__archive *archive, struct tn__member *member, struct tn_error *err)
{
    uint64_t at;
    const struct tn__archive_names *names = &archive->long_names;
    if (archive->thin && memchr(member->name, ':', member->name_length))
        return tn__fail(err, TN_ENOTSUP,
                        "%s: member at %llu: it is a member of another archive; name that archive itself instead",
                        archive->name, (unsigned long long)member->offset);
    /* Where a name of 15 bytes was to stand, GNU ar leaves the slash that would have ended it. */
    if (!parse_number((const uint8_t *)member->name + 1, member->name_length - 1, &at) || at >= names->size)
        return FAIL("%s: member at %llu: its name lies outside the table of long names", archive->name,
                    (unsigned long long)member->offset);
    member->name = names->text + at;
    size_t most = (size_t)tn__min64(names->size - at, MOST_NAME);
    const char *end = memchr(member->name, '\n', most);
    member->name_length = end ? (size_t)(end - member->name) : most;
    if (member->name_length == MOST_NAME)
        return FAIL("%s: member at %llu: its name has %d bytes or more", archive->name,
                    (unsigned long long)member->offset, MOST_NAME);
    if (member->name_length && member->name[member->name_length - 1] == '/')
        member->name_length--;
    return 0;
}

/* "#1/20": the first 20 bytes of the contents are the name. */
static int bsd_name(const struct tn__archive *archive, struct tn__member *member, struct tn_error *err)
{
    uint64_t length;
    if (!parse_number((const uint8_t *)member->name + 3, NAME - 3, &length) || length > member->size)
        return FAIL("%s: member at %llu: its name is longer than the member", archive->name,
                    (unsigned long long)member->offset);
    int code = need(archive, (uint64_t)(member->bytes - archive->bytes), length, err);
    if (code)
        return code;
    member->name = (const char *)member->bytes;
    member->name_length = strnlen(member->name, (size_t)length);
    member->bytes += length;
    member->size -= (size_t)length;
    return 0;
}

static void short_name(struct tn__member *member)
{
    size_t length = NAME;
    while (length && member->name[length - 1] == ' ')
        length--;
    member->name_length = length;
    if (!tn__archive_is_table(member) && length > 1 && member->name[length - 1] == '/')
        member->name_length--;
}

int tn__archive_member(const struct tn__archive *archive, uint64_t offset, struct tn__member *member, bool *end,
                       struct tn_error *err)
{
    const uint8_t *bytes = archive->bytes;
    size_t total = archive->size;
    if (!offset)
        offset = MAGIC;
    *end = offset >= total;
    if (*end)
        return 0;
    if (!tn__inside(offset, HEADER, total))
        return FAIL("%s: truncated: a member header at %llu of %zu bytes", archive->name, (unsigned long long)offset,
                    total);
    int code = need(archive, offset, HEADER, err);
    if (code)
        return code;
    const uint8_t *header = bytes + offset;
    uint64_t size;
    if (header[END_AT] != '`' || header[END_AT + 1] != '\n' || !parse_number(header + SIZE_AT, SIZE_DIGITS, &size))
        return FAIL("%s: no member header at %llu", archive->name, (unsigned long long)offset);
    *member = (struct tn__member){.name = (const char *)header, .size = (size_t)size, .offset = offset};
    short_name(member);
    bool stored = !archive->thin || tn__archive_is_table(member);
    if (stored && !tn__inside(offset + HEADER, size, total))
        return FAIL("%s: truncated: the member at %llu has %llu bytes", archive->name, (unsigned long long)offset,
                    (unsigned long long)size);
    uint64_t contents = offset + HEADER;
    member->bytes = stored ? bytes + contents : NULL;
    member->next = contents + (stored ? size + (size & 1) : 0);
    if (member->name[0] == '/' && member->name[1] >= '0' && member->name[1] <= '9')
        return long_name(archive, member, err);
    if (stored && !memcmp(member->name, "#1/", 3))
        return bsd_name(archive, member, err);
    return 0;
}

int tn__archive_open(struct tn__archive *archive, struct tn_error *err)
{
    archive->bytes = archive->input.bytes;
    archive->size = archive->input.length;
    int code = need(archive, 0, tn__min64(archive->size, MAGIC), err);
    if (code)
        return code;
    if (!tn__archive_claims(archive->formats, archive->bytes, archive->size))
        return FAIL("%s: not an archive%s", archive->name,
                    tn__is_universal(archive->bytes, archive->size)
                        ? ", but a universal file without an archive for the session's machine"
                        : "");
    take_part(archive->formats, &archive->bytes, &archive->size);
    archive->thin = has_magic(archive->bytes, archive->size, "!<thin>\n");
    /* Special members come first, the table of long names after the symbol tables. */
    struct tn__member member;
    bool end;
    for (uint64_t offset = 0;; offset = member.next) {
        code = tn__archive_member(archive, offset, &member, &end, err);
        if (code || end || !tn__archive_is_table(&member))
            return code;
        code = need_contents(archive, &member, err);
        if (code)
            return code;
        if (is_named(&member, "//")) {
            archive->long_names.text = (const char *)member.bytes;
            archive->long_names.size = member.size;
        }
    }
}

/* Joins several pieces into one text; the last piece ends with a NUL. */
static char *join(const struct tn_allocator *from, const struct tn__piece *pieces, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].size;
    char *text = tn__alloc(from, size), *at = text;
    for (size_t i = 0; text && i < count; at += pieces[i++].size)
        memcpy(at, pieces[i].bytes, pieces[i].size);
    return text;
}

/* ---- the index ---- */

static uint64_t big_endian(const uint8_t *p, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value = value << 8 | p[i];
    return value;
}

static uint64_t little_endian(const uint8_t *p, size_t width)
{
    return width == 8 ? tn__get64(p) : tn__get32(p);
}

static int bad_index(const struct tn__archive *archive, struct tn_error *err)
{
    return FAIL("%s: malformed symbol index", archive->name);
}

/* GNU: a count, that many offsets, then the names one after the other. */
static int gnu_index(const struct tn__archive *archive, const struct tn__member *index, size_t width,
                     tn__archive_define *define, void *context, struct tn_error *err)
{
    uint64_t count = index->size >= width ? big_endian(index->bytes, width) : UINT64_MAX;
    if (count > (index->size - width) / width)
        return bad_index(archive, err);
    const char *name = (const char *)index->bytes + width * (size_t)(count + 1);
    const char *limit = (const char *)index->bytes + index->size;
    for (uint64_t i = 0; i < count; i++) {
        const char *end = name < limit ? memchr(name, '\0', (size_t)(limit - name)) : NULL;
        if (!end)
            return bad_index(archive, err);
        int code = define(context, name, big_endian(index->bytes + width * (size_t)(i + 1), width), err);
        if (code)
            return code;
        name = end + 1;
    }
    return 0;
}

/* BSD: the size of an array of (name, member) pairs, the array, the size of the names, the names. */
static int bsd_index(const struct tn__archive *archive, const struct tn__member *index, size_t width,
                     tn__archive_define *define, void *context, struct tn_error *err)
{
    const uint8_t *bytes = index->bytes;
    uint64_t pairs = index->size >= width ? little_endian(bytes, width) : UINT64_MAX;
    if (pairs > index->size - width || index->size - width - pairs < width)
        return bad_index(archive, err);
    const uint8_t *array = bytes + width;
    uint64_t names_size = little_endian(array + pairs, width);
    const char *names = (const char *)array + pairs + width;
    if (names_size > index->size - 2 * width - pairs)
        return bad_index(archive, err);
    uint64_t sum = 0, most = (1 << 20) + 64 * (uint64_t)archive->size; /* as tn__names_limit */
    for (uint64_t at = 0; at + 2 * width <= pairs; at += 2 * width) {
        uint64_t name = little_endian(array + at, width);
        const char *end = name < names_size ? memchr(names + name, '\0', (size_t)(names_size - name)) : NULL;
        if (!end)
            return bad_index(archive, err);
        sum += (uint64_t)(end - names) - name + 1;
        if (sum > most)
            return FAIL("%s: the names of its symbol index are too long in sum, for a file of %zu bytes: they share "
                        "bytes",
                        archive->name, archive->size);
        int code = define(context, names + name, little_endian(array + at + width, width), err);
        if (code)
            return code;
    }
    return 0;
}

int tn__archive_visit_member(const struct tn__archive *archive, uint64_t offset, tn__archive_visit *visit,
                             void *context, bool *enough, struct tn_error *err)
{
    struct tn_input input;
    char *name;
    int code = tn__archive_load(archive, offset, &input, &name, err);
    if (code)
        return code;
    code = visit(context, &input, offset, enough, err);
    tn__free(archive->from, name);
    if (input.release)
        input.release(input.context, input.bytes, input.length);
    return code;
}

int tn__archive_each(const struct tn__archive *archive, tn__archive_visit *visit, void *context, struct tn_error *err)
{
    struct tn__member member;
    bool enough = false;
    for (uint64_t offset = 0;; offset = member.next) {
        int code = tn__archive_member(archive, offset, &member, &enough, err);
        if (code || enough)
            return code;
        if (!tn__archive_is_table(&member))
            code = tn__archive_visit_member(archive, member.offset, visit, context, &enough, err);
        if (code || enough)
            return code;
    }
}

struct definer {
    const struct tn__archive *archive;
    tn__archive_define *define;
    void *context;
};

/* Reads what a member defines, if it is an object. */
static int define_member(void *context, const struct tn_input *member, uint64_t offset, bool *enough,
                         struct tn_error *err)
{
    const struct definer *definer = context;
    struct tn__object_data object = {
        .name = member->name, .bytes = member->bytes, .size = member->length, .arena.from = definer->archive->from};
    (void)enough;
    if (!tn__object_is_known(object.bytes, object.size))
        return 0;
    int code = tn__object_read(&object, definer->archive->formats, err);
    for (uint32_t i = 1; !code && i < object.symbol_count; i++) {
        const struct tn__symbol *symbol = &object.symbols[i];
        if (symbol->binding != TN__BIND_LOCAL && symbol->place != TN__PLACE_UNDEFINED)
            code = definer->define(definer->context, symbol->name, offset, err);
    }
    tn__arena_free(&object.arena);
    return code;
}

/* The first format with names of its own knows how; which format the members are of, the first of them tells. */
static int rename_index(const struct tn__archive *archive, struct tn__archive_renaming *to, struct tn_error *err)
{
    const struct tn_format *const *formats = archive->formats;
    while (formats && *formats && !(*formats)->reader->rename)
        formats++;
    return formats && *formats ? (*formats)->reader->rename(archive, to, err) : 0;
}

/* Who defines the names of an index in which NAME@@VERSION stands for NAME and NAME@VERSION. */
struct versions {
    tn__archive_define *define;
    void *context;
    const struct tn_allocator *from;
};

static int define_versions(void *context, const char *symbol, uint64_t member, struct tn_error *err)
{
    const struct versions *to = context;
    const char *end = tn__default_version(symbol);
    if (!end)
        return to->define(to->context, symbol, member, err);
    const struct tn__piece stem[] = {{symbol, (size_t)(end - symbol)}, {"", sizeof ""}};
    const struct tn__piece with[] = {{symbol, (size_t)(end - symbol)}, {end + 1, strlen(end)}};
    char *const names[] = {join(to->from, stem, TN_COUNT(stem)), join(to->from, with, TN_COUNT(with))};
    int code = 0;
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        if (!code)
            code = names[i] ? to->define(to->context, names[i], member, err) : tn__no_memory(err, NULL);
        tn__free(to->from, names[i]);
    }
    return code;
}

/* Members may be objects whose names have versions, and some have. */
static bool has_versions(const struct tn__archive *archive, const struct tn__member *index)
{
    const struct tn_format *const *formats = archive->formats;
    while (formats && *formats && !(*formats)->reader->has_versions)
        formats++;
    return formats && *formats && memchr(index->bytes, '@', index->size);
}

int tn__archive_symbols(const struct tn__archive *archive, tn__archive_define *define, void *context,
                        struct tn_error *err)
{
    static const struct {
        const char *name;
        int (*read)(const struct tn__archive *, const struct tn__member *, size_t, tn__archive_define *, void *,
                    struct tn_error *);
        size_t width;
    } indexes[] = {
        {"/", gnu_index, 4},
        {"/SYM64/", gnu_index, 8},
        {"__.SYMDEF", bsd_index, 4},
        {"__.SYMDEF SORTED", bsd_index, 4},
        {"__.SYMDEF_64", bsd_index, 8},
        {"__.SYMDEF_64 SORTED", bsd_index, 8},
    };
    struct tn__member member;
    bool end;
    int code = tn__archive_member(archive, 0, &member, &end, err);
    if (code || end)
        return code;
    for (size_t i = 0; i < TN_COUNT(indexes); i++)
        if (is_named(&member, indexes[i].name)) {
            struct tn__archive_renaming to = {.define = define, .context = context};
            struct versions versions = {define, context, archive->from};
            if (has_versions(archive, &member))
                to = (struct tn__archive_renaming){.define = define_versions, .context = &versions};
            code = rename_index(archive, &to, err);
            return code ? code : indexes[i].read(archive, &member, indexes[i].width, to.define, to.context, err);
        }
    struct definer definer = {archive, define, context};
    return tn__archive_each(archive, define_member, &definer, err);
}

/* ---- loading ---- */

char *tn__archive_member_name(const struct tn_allocator *from, const char *archive, const struct tn__member *member)
{
    const struct tn__piece pieces[] = {
        {archive, strlen(archive)}, {"(", 1}, {member->name, member->name_length}, {")", sizeof ")"}};
    return join(from, pieces, TN_COUNT(pieces));
}

void tn__release_file(void *unused, const void *bytes, size_t length)
{
    (void)unused;
    tn__os_unmap_file(&(struct tn__os_file){.bytes = bytes, .size = length});
}

void tn__release_open_file(void *context, const void *bytes, size_t length)
{
    struct tn__open_file *file = context;
    tn__release_file(NULL, bytes, length);
    if (tn__os_is(file->fd, file->identity))
        tn__os_close(file->fd);
    tn__free(file->from, file);
}

/* True for a path that leads out of the folder it begins in. An absolute one begins in the archive's, if it names
 * that. */
static bool leads_out(const char *archive, const char *name, size_t length)
{
    const char *slash = strrchr(archive, '/');
    size_t folder = slash ? (size_t)(slash - archive) + 1 : 0;
    if (*archive == '/' && folder <= length && !memcmp(archive, name, folder)) {
        name += folder;
        length -= folder;
    }
    bool out = length && name[0] == '/';
    for (size_t i = 0, next; i < length && !out; i = next + 1) {
        const char *end = memchr(name + i, '/', length - i);
        next = end ? (size_t)(end - name) : length;
        out = next - i == 2 && !memcmp(name + i, "..", 2);
    }
    return out;
}

/* Members of a thin archive are files, with names relative to the archive's directory. */
static int map_thin_member(const struct tn__archive *archive, const struct tn__member *member, struct tn_input *input,
                           struct tn_error *err)
{
    if (!(archive->input.flags & TN_INPUT_ANY_FOLDER) && leads_out(archive->name, member->name, member->name_length))
        return tn__fail(err, TN_EPERM,
                        "%s: member %.*s lies outside of the archive's folder; TN_INPUT_ANY_FOLDER permits that",
                        archive->name, (int)tn__min64(member->name_length, 4096), member->name);
    const char *slash = strrchr(archive->name, '/');
    size_t folder = slash && member->name[0] != '/' ? (size_t)(slash - archive->name) + 1 : 0;
    const struct tn__piece pieces[] = {{archive->name, folder}, {member->name, member->name_length}, {"", sizeof ""}};
    char *path = join(archive->from, pieces, TN_COUNT(pieces));
    if (!path)
        return tn__no_memory(err, archive->name);
    struct tn__os_file file;
    int error = tn__os_map_file(path, &file);
    int code = error ? tn__fail(err, TN_EIO, "%s: member %s: %s", archive->name, path, strerror(error)) : 0;
    tn__free(archive->from, path);
    input->bytes = file.bytes;
    input->length = file.size;
    input->release = tn__release_file;
    return code;
}

int tn__archive_load(const struct tn__archive *archive, uint64_t offset, struct tn_input *input, char **name,
                     struct tn_error *err)
{
    struct tn__member member;
    bool end;
    int code = tn__archive_member(archive, offset, &member, &end, err);
    if (!code && end)
        code =
            FAIL("%s: the index refers to a member at %llu, behind the end", archive->name, (unsigned long long)offset);
    if (code)
        return code;
    *input = (struct tn_input){.size = sizeof *input, .bytes = member.bytes, .length = member.size};
    code = member.bytes ? need_contents(archive, &member, err) : map_thin_member(archive, &member, input, err);
    if (code)
        return code;
    *name = tn__archive_member_name(archive->from, archive->name, &member);
    if (*name) {
        input->name = *name;
        return 0;
    }
    if (input->release)
        input->release(NULL, input->bytes, input->length);
    return tn__no_memory(err, archive->name);
}
