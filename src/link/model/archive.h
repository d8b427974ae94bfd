/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Archives of ar(1), read member by member. */

#ifndef TENON_ARCHIVE_H
#define TENON_ARCHIVE_H

#include "base/tree.h"

#pragma GCC visibility push(hidden)

/* Where an input's bytes come from, beyond what clients say. */
struct tn__partial_file;
struct tn__input_bytes {
    bool may_change;                  /* they are those of a mapped file */
    struct tn__partial_file *partial; /* they have to be read before they are looked at; NULL: they are there */
    bool may_be_late;                 /* its definitions may be entered later: see late.h */
    bool *refused;                    /* out: whether the client has refused the object; NULL: not wanted */
};

struct tn__archive {
    const struct tn_allocator *from;
    struct tn__archive *next;
    struct tn_input input;
    struct tn__input_bytes source;
    const uint8_t *bytes; /* of the input or, if that is universal, of its part for one of the formats */
    size_t size;
    const struct tn_format *const *formats; /* of its members */
    char *name;
    bool thin;
    uint64_t number; /* among the library's inputs */
    /* For the last link that has wanted members: its number; the bytes of those that it has loaded; the others, and
     * where it looks for the next one; and the next archive of the link, by number (passes/resolve.c). */
    uint64_t link, loaded;
    struct tn__tree *wanted;
    uint64_t at;
    struct tn__archive *next_wanted;
    /* The index by name and member, once it was needed, and members that were read for it (archive_find.c). */
    struct tn__arena arena;
    struct tn__archive_symbol {
        const char *name;
        uint64_t member;
        bool is_value; /* the member was read, and defines it as no function, and as neither weak nor common */
    } * by_name;
    size_t symbol_count;
    bool is_sorted;
    struct tn__tree *read; /* by offset */
    uint64_t read_size;
    struct tn__archive_names {
        const char *text; /* the GNU table of long names */
        size_t size;
    } long_names;
};

struct tn__member {
    const char *name; /* not terminated */
    size_t name_length;
    const uint8_t *bytes; /* NULL in a thin archive */
    size_t size;
    uint64_t offset, next; /* of this member's header and of the next one */
};

/* True for archives, and for universal files whose part for the first of the formats that has one is an archive. The
 * formats, up to NULL, may be NULL. */
bool tn__archive_claims(const struct tn_format *const *formats, const uint8_t *bytes, size_t size);
/* Finds that part, checks the magic and finds the table of long names. TN_EFORMAT. */
int tn__archive_open(struct tn__archive *archive, struct tn_error *err);
/* Reads the member whose header is at `offset`; 0: the first one. Sets *end if there is none. */
int tn__archive_member(const struct tn__archive *archive, uint64_t offset, struct tn__member *member, bool *end,
                       struct tn_error *err);
/* True for the archive's own tables: symbols, long names. */
bool tn__archive_is_table(const struct tn__member *member);
/* Loads a member and visits it; each member that is no table, until `visit` returns an error or sets *enough. The bytes
 * and the name of `member` are the visitor's for the call only. */
typedef int tn__archive_visit(void *context, const struct tn_input *member, uint64_t offset, bool *enough,
                              struct tn_error *err);
int tn__archive_visit_member(const struct tn__archive *archive, uint64_t offset, tn__archive_visit *visit,
                             void *context, bool *enough, struct tn_error *err);
int tn__archive_each(const struct tn__archive *archive, tn__archive_visit *visit, void *context, struct tn_error *err);
/* Calls `define` for every symbol of the archive's index or, without an index, for every definition of every member. */
typedef int tn__archive_define(void *context, const char *symbol, uint64_t member, struct tn_error *err);
int tn__archive_symbols(const struct tn__archive *archive, tn__archive_define *define, void *context,
                        struct tn_error *err);
/* Who defines the names of an index. If the members' format has others than a session, tn__archive_rename
 * (archive_names.c) puts itself before: it turns them into the session's. TN_EFORMAT, TN_EIO, TN_ENOMEM. */
struct tn__archive_renaming {
    tn__archive_define *define;
    void *context;
    char c_prefix; /* from here on tn__archive_rename's; 0: no member is an object, or names are the same in both */
    const struct tn_format *const *formats;
    const struct tn_allocator *from;
    tn__archive_define *next_define;
    void *next_context;
};
int tn__archive_rename(const struct tn__archive *archive, struct tn__archive_renaming *renaming, struct tn_error *err);
/* Finds the members that define a name, the first of the archive first: in its index, which the first call sorts.
 * *count is 0 after an error. TN_EFORMAT, TN_EIO, TN_ENOMEM. */
int tn__archive_find(struct tn__archive *archive, const char *name, struct tn__archive_symbol **found, size_t *count,
                     struct tn_error *err);
/* Reads one of them, once. *has: its definition is a value, as above. TN_EFORMAT, TN_EIO, TN_ENOMEM. */
int tn__archive_has_value(struct tn__archive *archive, const char *name, uint64_t member, bool *has,
                          struct tn_error *err);
void tn__archive_forget_index(struct tn__archive *archive);
/* "archive.a(member.o)", which belongs to the caller; NULL when memory is out. */
char *tn__archive_member_name(const struct tn_allocator *from, const char *archive, const struct tn__member *member);
/* Loads the bytes and full name of a member. `input->release`, if set, unmaps the bytes; the name belongs to the
 * caller. */
int tn__archive_load(const struct tn__archive *archive, uint64_t offset, struct tn_input *input, char **name,
                     struct tn_error *err);

/* For tn_input.release: gives up a file that was opened with tn__os_map_file or tn__os_map_open_file. */
void tn__release_file(void *unused, const void *bytes, size_t length);

#pragma GCC visibility pop
#endif
