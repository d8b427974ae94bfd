/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Maps: their types are `[string: T]` and `[i64: T]`, which are also values: those without an entry.
 *
 *     let ages = [string: i64]
 *     ages["Ada"] = 36
 *     if has(ages, "Ada") { print(ages["Ada"]) }
 *     for i in 0..len(ages) { print(keys(ages)[i]) }
 *
 * The objects are those of map_runtime.c. */

#include "dowel.h"

enum { VALUES = 3, COUNT = 4 /* words of struct map */ };

/* The number of an entry. */
static LLVMValueRef find(struct compiler *c, struct value map, LLVMValueRef key, bool adds)
{
    LLVMValueRef arguments[] = {map.ir, key, whole(c, adds)};
    const char *name = map.type->fields->type->kind == TEXT ? "dowel_map_string" : "dowel_map_i64";
    return call_runtime(c, name, ir_type(c, simple_type(c, I64)), arguments, 3);
}

/* Of an entry. */
static LLVMValueRef value_place(struct compiler *c, struct value map, LLVMValueRef entry)
{
    const struct type *values = array_of(c, map.type->result);
    struct value array = value_of(values, load(c, values, word_of(c, map.ir, VALUES)).ir);
    return element_place(c, array, entry);
}

/* Behind `map[`. An assignment ends here: its right side may throw, or add entries, before there is a place for it. */
struct value map_element(struct compiler *c, struct value map)
{
    LLVMValueRef key = expression_of(c, map.type->fields->type);
    expect(c, "]");
    if (accept(c, "=")) {
        LLVMValueRef value = expression_of(c, map.type->result);
        store(c, value, value_place(c, map, find(c, map, key, true)));
        return value_of(simple_type(c, NOTHING), NULL);
    }
    LLVMValueRef entry = find(c, map, key, false);
    throw_if(c, LLVMBuildICmp(c->code->builder, LLVMIntSLT, entry, whole(c, 0), ""), "there is no such key");
    return value_of(map.type->result, load(c, map.type->result, value_place(c, map, entry)).ir);
}

LLVMValueRef map_length(struct compiler *c, struct value map)
{
    return load(c, simple_type(c, I64), word_of(c, map.ir, COUNT)).ir;
}

static struct value map_argument(struct compiler *c)
{
    const struct token *token = c->at;
    struct value map = expression(c);
    if (map.type->kind != MAP)
        fail_at(c, token, keep_text(c, "%s is no map", map.type->name));
    return map;
}

/* Behind the bracket of `[string: i64]`. */
struct value new_map(struct compiler *c)
{
    const struct token *token = c->at;
    const struct type *key = take_type(c);
    expect(c, ":");
    const struct type *type = map_type(c, key, take_type(c), token);
    expect(c, "]");
    LLVMValueRef references = whole(c, is_reference(key) + 2 * is_reference(type->result));
    return value_of(type, call_runtime(c, "dowel_map", ir_type(c, type), &references, 1));
}

/* ---- functions that every program has ---- */

struct value call_has(struct compiler *c)
{
    struct value map = map_argument(c);
    expect(c, ",");
    LLVMValueRef entry = find(c, map, expression_of(c, map.type->fields->type), false);
    return value_of(simple_type(c, BOOL), LLVMBuildICmp(c->code->builder, LLVMIntSGE, entry, whole(c, 0), ""));
}

struct value call_keys(struct compiler *c)
{
    struct value map = map_argument(c);
    const struct type *type = array_of(c, map.type->fields->type);
    return value_of(type, call_runtime(c, "dowel_map_keys", ir_type(c, type), &map.ir, 1));
}
