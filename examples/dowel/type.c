/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types. Each exists once: types are the same if their names are.
 *
 *     type        NAME | [ type ] | [ type : type ] | fn ( [type {, type}] ) [: type]
 *     signature   ( fields ) [: type]
 *     fields      [NAME : type {, NAME : type}] */

#include <string.h>

#include "dowel.h"

struct type *find_type(struct compiler *c, const char *name)
{
    for (struct type *type = c->types; type; type = type->next)
        if (strcmp(type->name, name) == 0)
            return type;
    return NULL;
}

static struct type *named_type(struct compiler *c, enum kind kind, const char *name)
{
    struct type *type = find_type(c, name);
    if (type)
        return type;
    type = keep(c, sizeof *type);
    *type = (struct type){.kind = kind, .name = name, .next = c->types};
    return c->types = type;
}

const struct type *simple_type(struct compiler *c, enum kind kind)
{
    static const char *const names[] = {"nothing", "i64", "double", "bool", "string", "null", "int"};
    return named_type(c, kind, names[kind]);
}

const struct type *array_of(struct compiler *c, const struct type *element)
{
    struct type *type = named_type(c, ARRAY, keep_text(c, "[%s]", element->name));
    type->result = element;
    return type;
}

const struct type *function_type(struct compiler *c, const struct type *result, struct field *fields, int count)
{
    const char *name = "fn(";
    for (int i = 0; i < count; i++)
        name = keep_text(c, "%s%s%s", name, i ? ", " : "", fields[i].type->name);
    struct type *type = named_type(c, FUNCTION, keep_text(c, "%s): %s", name, result->name));
    type->result = result;
    type->fields = fields;
    type->count = count;
    return type;
}

const struct type *map_type(struct compiler *c, const struct type *key, const struct type *value,
                            const struct token *token)
{
    if (key->kind != TEXT && key->kind != I64)
        fail_at(c, token, "keys are strings or i64");
    struct type *type = named_type(c, MAP, keep_text(c, "[%s: %s]", key->name, value->name));
    type->fields = keep(c, sizeof *type->fields);
    type->fields->type = key;
    type->result = value;
    return type;
}

struct type *new_struct(struct compiler *c, const char *name)
{
    return named_type(c, STRUCT, name);
}

/* Strings and arrays always have a value. */
bool may_be_null(const struct type *type)
{
    return type->kind == STRUCT || type->kind == FUNCTION;
}

bool is_reference(const struct type *type)
{
    return type->kind == TEXT || type->kind >= ARRAY || type->kind == NULL_REFERENCE;
}

LLVMTypeRef ir_type(struct compiler *c, const struct type *type)
{
    switch (type->kind) {
    case NOTHING:
        return LLVMVoidTypeInContext(c->llvm);
    case I64:
        return LLVMInt64TypeInContext(c->llvm);
    case DOUBLE:
        return LLVMDoubleTypeInContext(c->llvm);
    case BOOL:
        return LLVMInt1TypeInContext(c->llvm);
    case C_INT:
        return LLVMInt32TypeInContext(c->llvm);
    default:
        return LLVMPointerTypeInContext(c->llvm, 10);
    }
}

/* ---- as programs write them ---- */

static const struct type *take_function_type(struct compiler *c)
{
    struct field *fields = keep(c, MOST * sizeof *fields);
    int count = 0;
    expect(c, "(");
    while (!is(c->at, ")") && count < MOST && (!count || (expect(c, ","), true)))
        fields[count++].type = take_type(c);
    expect(c, ")");
    return function_type(c, accept(c, ":") ? take_type(c) : simple_type(c, NOTHING), fields, count);
}

static const struct type *take_type_inside(struct compiler *c)
{
    const struct token *token = c->at;
    if (accept(c, "[")) {
        const struct type *element = take_type(c);
        const struct type *type = accept(c, ":") ? map_type(c, element, take_type(c), token + 1) : array_of(c, element);
        expect(c, "]");
        return type;
    }
    if (accept(c, "fn"))
        return take_function_type(c);
    const char *word = take_name(c);
    const struct type *found = find_type(c, word);
    if (found && found->kind == C_INT && !c->is_c)
        fail_at(c, token, "an int is for C functions: write i64");
    if (!found || found->kind == NULL_REFERENCE || found->kind == NOTHING)
        fail_at(c, token, keep_text(c, "there is no type '%s'", word));
    return found;
}

const struct type *take_type(struct compiler *c)
{
    go_deeper(c);
    const struct type *type = take_type_inside(c);
    c->depth--;
    return type;
}

int take_fields(struct compiler *c, struct field *fields, const char *end)
{
    int count = 0;
    while (!accept_below(c, end)) {
        if (count == MOST)
            fail(c, "more than %d are too many", MOST);
        if (count)
            expect(c, ",");
        while (c->at->kind == LINE)
            c->at++;
        const struct token *token = c->at;
        fields[count].name = take_name(c);
        for (int i = 0; i < count; i++)
            if (strcmp(fields[i].name, fields[count].name) == 0)
                fail_at(c, token, keep_text(c, "there are two '%s'", fields[i].name));
        expect(c, ":");
        fields[count++].type = take_type(c);
    }
    return count;
}

const struct type *take_signature(struct compiler *c)
{
    struct field *parameters = keep(c, MOST * sizeof *parameters);
    expect(c, "(");
    int count = take_fields(c, parameters, ")");
    const struct type *result = accept(c, ":") ? take_type(c) : simple_type(c, NOTHING);
    /* Types of the same name are one; the names of parameters are this function's own. */
    struct type *own = keep(c, sizeof *own);
    *own = *function_type(c, result, parameters, count);
    own->fields = parameters;
    return own;
}

/* The value as one of a type: null fits structs and functions. */
LLVMValueRef fit(struct compiler *c, struct value value, const struct type *type, const struct token *token)
{
    if (value.type->name == type->name || (value.type->kind == NULL_REFERENCE && may_be_null(type)))
        return value.ir;
    if (type->kind == C_INT && value.type->kind == I64)
        return value.ir;
    fail_at(c, token, keep_text(c, "this is %s, and %s is wanted", value.type->name, type->name));
}
