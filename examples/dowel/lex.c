/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tokens. A line ends a statement, unless a bracket is open or something has to follow; then it is no token. */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dowel.h"

enum { NESTING = 200 };

struct memory {
    struct memory *next;
    max_align_t bytes[];
};

void *keep(struct compiler *c, size_t size)
{
    struct memory *memory = calloc(1, sizeof *memory + size);
    if (!memory) {
        fprintf(stderr, "dowel: out of memory\n");
        exit(1);
    }
    memory->next = c->memory;
    c->memory = memory;
    return memory->bytes;
}

void forget(struct compiler *c)
{
    for (struct memory *next; c->memory; c->memory = next) {
        next = c->memory->next;
        free(c->memory);
    }
}

const char *keep_text(struct compiler *c, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    size_t size = (size_t)vsnprintf(NULL, 0, format, list) + 1;
    char *text = keep(c, size);
    vsnprintf(text, size, format, again);
    va_end(again);
    va_end(list);
    return text;
}

void fail(struct compiler *c, const char *format, ...)
{
    char what[400];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    snprintf(c->mistake, sizeof c->mistake, "%.80s:%d:%d: %s", c->file, c->at ? c->at->line : 1,
             c->at ? c->at->column : 1, what);
    longjmp(c->failed, 1);
}

struct lexer {
    const char *at, *line_start;
    int line;
    char open[NESTING]; /* the brackets around */
    int depth;
    struct token last;
};

static size_t while_in(const char *text, int (*is)(int))
{
    size_t length = 0;
    while (is((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

static bool is_one_of(const struct token *token, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == token->length && strncmp(*words, token->text, token->length) == 0)
            return true;
    return false;
}

/* A line that ends here ends a statement. */
static bool ends_statement(const struct lexer *l)
{
    static const char *const closing[] = {")", "]", "}", "return", "break", "continue", "true", "false", "null", NULL};
    if (l->depth && l->open[l->depth - 1] != '{')
        return false;
    return l->last.text && l->last.kind != LINE && (l->last.kind != WORD || is_one_of(&l->last, closing));
}

/* Passes blanks and comments. True: at the end of a line that is a token. */
static bool pass_blanks(struct lexer *l)
{
    for (;; l->at++) {
        if (*l->at == '#')
            l->at += strcspn(l->at, "\n");
        if (*l->at == '\n' && ends_statement(l))
            return true;
        if (*l->at == '\n') {
            l->line++;
            l->line_start = l->at + 1;
        }
        if (!isspace((unsigned char)*l->at))
            return false;
    }
}

/* A number: digits, and with a point or an exponent a real one. */
static size_t number(const char *text, enum token_kind *kind)
{
    size_t length = strspn(text, "0123456789");
    *kind = WHOLE;
    if (text[length] == '.' && isdigit((unsigned char)text[length + 1])) {
        *kind = REAL;
        length += 1 + strspn(text + length + 1, "0123456789");
    }
    bool has_exponent = text[length] == 'e' || text[length] == 'E';
    size_t exponent = length + 1;
    if (has_exponent && (text[exponent] == '+' || text[exponent] == '-'))
        exponent++;
    if (has_exponent && isdigit((unsigned char)text[exponent])) {
        *kind = REAL;
        length = exponent + strspn(text + exponent, "0123456789");
    }
    return length;
}

static size_t string(const char *text)
{
    size_t length = 1;
    while (text[length] && text[length] != '"' && text[length] != '\n')
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length;
}

static enum token_kind kind_of_name(const struct token *token)
{
    static const char *const words[] = {"fn",   "struct", "extern", "import", "let",   "if",    "else",     "while",
                                        "for",  "in",     "return", "try",    "catch", "throw", "continue", "break",
                                        "true", "false",  "null",   "and",    "or",    "not",   NULL};
    return is_one_of(token, words) ? WORD : NAME;
}

/* NULL, or what is wrong with the brackets. */
static const char *count_bracket(struct lexer *l, char bracket)
{
    const char *opening = bracket == ')' ? "(" : bracket == ']' ? "[" : "{";
    if (strchr("([{", bracket)) {
        if (l->depth == NESTING)
            return "nested too deeply";
        l->open[l->depth++] = bracket;
    } else if (strchr(")]}", bracket)) {
        if (!l->depth || l->open[--l->depth] != *opening)
            return "a bracket that nothing opened is closed";
    }
    return NULL;
}

/* Reads a token into l->last. NULL, or what is wrong. */
static const char *next(struct lexer *l)
{
    static const char *const pairs[] = {"==", "!=", "<=", ">=", "..", NULL};
    bool is_line = pass_blanks(l);
    struct token *token = &l->last;
    const char *mistake = NULL;
    *token = (struct token){WORD, l->at, 1, l->line, (int)(l->at - l->line_start) + 1};
    if (is_line || !*l->at) {
        token->kind = is_line ? LINE : END;
        token->length = is_line;
        l->line += is_line;
        l->line_start = l->at + is_line;
    } else if (isdigit((unsigned char)*l->at)) {
        token->length = number(l->at, &token->kind);
    } else if (isalpha((unsigned char)*l->at) || *l->at == '_') {
        token->length = while_in(l->at, isalnum);
        token->kind = kind_of_name(token);
    } else if (*l->at == '"') {
        size_t length = string(l->at);
        *token = (struct token){STRING, l->at + 1, length - 1, token->line, token->column};
        if (l->at[length] != '"')
            mistake = "a string that is not closed";
        l->at += length + 1 - token->length;
    } else if (strchr("()[]{},:.=<>+-*/%!", *l->at)) {
        token->length = 2;
        token->length -= !is_one_of(token, pairs);
        mistake = *l->at == '!' && token->length == 1 ? "this letter means nothing here" : count_bracket(l, *l->at);
    } else {
        mistake = "this letter means nothing here";
    }
    l->at += token->length;
    return mistake;
}

const struct token *lex(struct compiler *c, const char *text)
{
    size_t count = 0;
    struct token *tokens = keep(c, (strlen(text) + 1) * sizeof *tokens);
    struct lexer lexer = {.at = text, .line_start = text, .line = 1};
    do {
        const char *mistake = next(&lexer);
        tokens[count++] = lexer.last;
        c->at = &lexer.last;
        if (mistake)
            fail(c, "%s", mistake);
    } while (lexer.last.kind != END);
    if (lexer.depth)
        fail(c, "a '%c' is not closed", lexer.open[lexer.depth - 1]);
    return c->at = tokens;
}

bool is_complete(const char *text)
{
    struct lexer lexer = {.at = text, .line_start = text, .line = 1};
    do
        if (next(&lexer))
            return true; /* it is wrong already */
    while (lexer.last.kind != END);
    return !lexer.depth;
}

/* ---- reading them ---- */

bool is(const struct token *token, const char *word)
{
    return token->kind == WORD && strlen(word) == token->length && strncmp(word, token->text, token->length) == 0;
}

bool accept(struct compiler *c, const char *word)
{
    bool found = is(c->at, word);
    c->at += found;
    return found;
}

/* The same, where lines may end before the word. */
bool accept_below(struct compiler *c, const char *word)
{
    const struct token *token = c->at;
    while (token->kind == LINE)
        token++;
    if (is(token, word))
        c->at = token + 1;
    return is(token, word);
}

const char *shown(struct compiler *c)
{
    return c->at->kind == END    ? "the end"
           : c->at->kind == LINE ? "the end of the line"
                                 : keep_text(c, "'%.*s'", (int)c->at->length, c->at->text);
}

void expect(struct compiler *c, const char *word)
{
    if (!accept(c, word))
        fail(c, "a '%s' is missing before %s", word, shown(c));
}

const char *take_name(struct compiler *c)
{
    if (c->at->kind != NAME)
        fail(c, "a name is missing before %s", shown(c));
    const char *name = keep_text(c, "%.*s", (int)c->at->length, c->at->text);
    c->at++;
    return name;
}

void fail_at(struct compiler *c, const struct token *token, const char *text)
{
    c->at = token;
    fail(c, "%s", text);
}

void go_deeper(struct compiler *c)
{
    if (++c->depth > NESTING)
        fail(c, "nested too deeply");
}
