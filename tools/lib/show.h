/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a command shows, as text for people or, with --json, as one document of JSON (RFC 8259). One walk over the data
 * serves both: each value has a key, which text leaves out, and a width, which JSON leaves out.
 *
 * Lists and items nest at most 63 deep. A key is NULL where the value is an item of a list. */

#ifndef TENON_TOOL_SHOW_H
#define TENON_TOOL_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct show {
    FILE *out;
    bool json;
    unsigned depth;
    uint64_t lists, filled; /* a bit for each depth: what is open there is a list; it has a value already */
};

/* Text that JSON has no use for: titles, spaces, ends of lines. */
void show_plain(const struct show *show, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Values. Text is padded to the width, numbers to the left of it and words to the right; 0: not padded. */
void show_number(struct show *show, const char *key, int width, uint64_t number);
void show_text(struct show *show, const char *key, int width, const char *text);
void show_address(struct show *show, const char *key, int width, uint64_t address); /* "0x...": JSON's numbers are often
                                                                                     * read as double */
/* True or false; text has the words only if it is true. */
void show_flag(struct show *show, const char *key, bool value, const char *words);

/* Begins a list, or an object: the whole, a value of an object, or an item of a list. */
void show_list(struct show *show, const char *key);
void show_item(struct show *show, const char *key);
/* Ends what was begun last. */
void show_end(struct show *show);
/* The same until `depth` is reached, after an error in between. */
void show_end_to(struct show *show, unsigned depth);

/* The length of the character of UTF-8 that `length` bytes, at least one, begin with; 0: they begin with none. */
size_t show_character(const char *text, size_t length);

/* A string of JSON, with its quotes. What is no UTF-8 is taken for Latin-1, byte by byte. */
void show_quoted(FILE *out, const char *text, size_t length);

#endif
