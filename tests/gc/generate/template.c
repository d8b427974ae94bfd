/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Random numbers, and texts with places that they fill:
 *     $r $x     a local variable of references or numbers, another one each time; only in statements
 *     $A $B     a local variable of references, $X $Y of numbers, which is the same in the whole statement
 *     $100      a random number below 100, another one each time; only in statements
 *     $E..$M    numbers from 0 to 3, $N from 1 to 4, $I from 0 to 999, the same in the whole statement or step
 *     $n        a number that no other statement of the program has
 *     $f $g     a call of an earlier function, of the latest one; $h a call of one that is weak, or in the other module
 *     $u $i $w  names of functions that unwind, that are in IR, that threads run
 *     $v $x     in IR: the current vector and number; a line `=v VALUE` or `=x VALUE` makes this the current one
 *     $b        in IR: the basic block in which the step begins
 *     $t        in IR: a type of 32 bytes, and an alignment
 *     $S $T     numbers of steps that defined a slot, four words of stack memory; they have a line `=s`
 * In IR, a line `=a INSTRUCTION` is in the entry block, after what is there already. */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

enum language language;
unsigned program, outer, function;
int indent = 1;

static uint64_t state;
static unsigned drawn['Z' + 1], statements;
static unsigned slots[100], slot_count;
static char vector[40], number[40], block[40], next_block[40]; /* the next: at the end of the step */

/* The body of a function in IR, without its entry block: lines may still be added to that. */
static FILE *after_entry;
static char *text_after_entry;
static size_t size_after_entry;
static int entry_ended;

/* ---- random numbers ---- */

unsigned pick(unsigned count)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11) % count;
}

void seed_with(uint64_t seed)
{
    state = seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
    for (int i = 0; i < 8; i++)
        pick(2);
    statements = 0;
}

void draw(void)
{
    statements++;
    memcpy(block, next_block, sizeof block);
    for (int letter = 'A'; letter <= 'Z'; letter++)
        drawn[letter] = letter <= 'B'                                    ? pick(REFERENCES)
                        : letter >= 'X'                                  ? pick(NUMBERS)
                        : letter == 'N'                                  ? 1 + pick(4)
                        : letter == 'I'                                  ? pick(1000)
                        : slot_count && (letter == 'S' || letter == 'T') ? slots[pick(slot_count)]
                                                                         : pick(4);
}

/* ---- places in texts ---- */

static char written[4000];
static size_t length;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(written + length, sizeof written - length, format, arguments);
    va_end(arguments);
    if (length >= sizeof written)
        abort();
}

static void add_call(unsigned callee)
{
    add("f%u_%u(", callee, program);
    for (unsigned i = 0; i < 4 + callee % 3 * 3; i++)
        add(i % 2 ? "x%u, " : "r%u, ", i % 2 ? pick(NUMBERS) : pick(REFERENCES));
    add("depth - 1)");
}

static void add_outer_call(unsigned callee)
{
    add("g%u_%u(r%u, r%u, x%u)", callee, program, pick(REFERENCES), pick(REFERENCES), pick(NUMBERS));
}

static void add_type(void)
{
    static const char *const types[] = {
        "[4 x i64]",
        "[32 x i8]",
        "[8 x i32]",
        "[2 x i128]",
        "[4 x double]",
        "i256",
        "<4 x i64>",
        "[4 x ptr]",
        "{ i64, [3 x i64] }",
        "i64, i64 4",
        "i8, i64 32",
        "[4 x ptr addrspace(10)]",
        "<4 x ptr addrspace(10)>",
        "{ ptr addrspace(10), [3 x i64] }",
        "[2 x { i64, ptr addrspace(10) }]",
        "ptr addrspace(10), i64 4",
    };
    add("%s, align %u", types[drawn['C'] * 4 + drawn['D']], drawn['K'] & 1 ? 16 : 8);
}

static void add_place(char what)
{
    switch (what) {
    case 'r':
        add("r%u", pick(REFERENCES));
        break;
    case 'x':
        language == IR ? add("%s", number) : add("x%u", pick(NUMBERS));
        break;
    case 'A':
    case 'B':
        add("r%u", drawn[(int)what]);
        break;
    case 'X':
    case 'Y':
        add("x%u", drawn[(int)what]);
        break;
    case 'n':
        add("%u", statements);
        break;
    case 'f':
        function ? add_call(pick(function)) : add("globals[2]");
        break;
    case 'g':
        add_call(function - 1);
        break;
    case 'h':
        outer ? add_outer_call(pick(outer)) : add("globals[3]");
        break;
    case 'u':
        add("u%u_%u", pick(UNWOUND), program);
        break;
    case 'i':
        add("v%u_%u", pick(IN_IR), program);
        break;
    case 't':
        add_type();
        break;
    case 'w':
        function ? add("w%u_%u", pick(function), program) : add("plain_work");
        break;
    case 'v':
        add("%s", vector);
        break;
    case 'b':
        add("%s", block);
        break;
    default:
        add("%u", drawn[(int)what]);
    }
}

/* Fills the places of one line; answers what follows it. */
static const char *fill(const char *text)
{
    length = 0;
    add("%s", "");
    while (*text && *text != '\n')
        if (*text != '$') {
            add("%c", *text++);
        } else if (isdigit(*++text)) {
            add("%u", pick((unsigned)strtoul(text, (char **)&text, 10)));
        } else {
            add_place(*text++);
        }
    return *text ? text + 1 : text;
}

static void set(char value[static 40], const char *to, size_t size)
{
    snprintf(value, 40, "%.*s", (int)size, to);
}

/* A line that is not output but changes what places stand for. */
static int is_directive(void)
{
    if (strncmp(written, "=v ", 3) == 0)
        set(vector, written + 3, length - 3);
    else if (strncmp(written, "=x ", 3) == 0)
        set(number, written + 3, length - 3);
    else if (strcmp(written, "=s") == 0)
        slots[slot_count++ % (sizeof slots / sizeof *slots)] = statements;
    else
        return 0;
    return 1;
}

static void write_ir(void)
{
    int in_entry = strncmp(written, "=a ", 3) == 0, is_label = length && written[length - 1] == ':';
    if (strncmp(written, "br ", 3) == 0 || strstr(written, "invoke "))
        entry_ended = 1;
    if (is_label)
        set(next_block, written, length - 1);
    fprintf(entry_ended && !in_entry ? after_entry : stdout, "%s%s\n", is_label ? "" : "  ", written + 3 * in_entry);
}

void begin_body(const char *v, const char *x)
{
    set(vector, v, strlen(v));
    set(number, x, strlen(x));
    set(next_block, "0", 1);
    slot_count = 0;
    entry_ended = 0;
    after_entry = open_memstream(&text_after_entry, &size_after_entry);
    if (!after_entry)
        abort();
}

void end_body(void)
{
    fclose(after_entry);
    fputs(text_after_entry, stdout);
    free(text_after_entry);
}

void write_text(const char *text)
{
    while (*text) {
        text = fill(text);
        if (is_directive())
            continue;
        if (language == IR)
            write_ir();
        else
            printf("%*s%s\n", 4 * indent, "", written);
    }
}

void write_step(const char *c, const char *ir)
{
    write_text(language == IR ? ir : c);
}

/* ---- kinds ---- */

const char *wanted;

static const struct kind *find_wanted(const struct kinds *const *tables, unsigned count)
{
    for (unsigned t = 0; wanted && t < count; t++)
        for (unsigned i = 0; i < tables[t]->count; i++)
            if (strcmp(tables[t]->rows[i].name, wanted) == 0)
                return &tables[t]->rows[i];
    return NULL;
}

static const struct kind *pick_kind(const struct kinds *const *tables, unsigned count)
{
    unsigned all = 0;
    for (unsigned t = 0; t < count; t++)
        all += tables[t]->count;
    unsigned which = pick(all);
    while (which >= (*tables)->count)
        which -= (*tables++)->count;
    return &(*tables)->rows[which];
}

void write_one_of(const struct kinds *const *tables, unsigned count)
{
    const struct kind *picked = pick_kind(tables, count), *only = find_wanted(tables, count);
    const struct kind *kind = only && pick(4) ? only : picked;
    draw();
    if (kind->write)
        kind->write();
    else if (kind->ir)
        write_step(kind->c, kind->ir);
    else
        write_text(kind->c);
}
