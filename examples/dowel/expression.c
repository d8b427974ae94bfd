/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Expressions. Each function reads what it is named after, checks its types, and makes its instructions at once. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dowel.h"

LLVMValueRef expression_of(struct compiler *c, const struct type *type)
{
    const struct token *token = c->at;
    return fit(c, expression(c), type, token);
}

/* ---- names ---- */

/* A local variable; or one of a function around this closure, of which the closure gets a copy when it is made. */
struct variable *find_local(struct compiler *c, struct code *code, const char *name)
{
    if (!code)
        return NULL;
    for (struct variable *variable = code->variables; variable; variable = variable->next)
        if (strcmp(variable->name, name) == 0)
            return variable;
    for (struct variable *copy = code->copies; copy; copy = copy->next)
        if (strcmp(copy->name, name) == 0)
            return copy;
    struct variable *outer = find_local(c, code->outer, name);
    if (!outer)
        return NULL;
    if (code->copy_count == MOST)
        fail_at(c, c->at - 1, keep_text(c, "copies of more than %d variables are too many", MOST));
    struct variable *copy = keep(c, sizeof *copy);
    *copy = (struct variable){name, outer->type, NULL, ++code->copy_count, NULL, code->copies};
    return code->copies = copy;
}

static struct value value_of_local(struct compiler *c, const struct variable *variable)
{
    if (variable->place)
        return load(c, variable->type, variable->place);
    LLVMValueRef closure = LLVMGetParam(c->code->function, 0);
    return value_of(variable->type, load(c, variable->type, word_of(c, closure, variable->copy)).ir);
}

const struct function *find_function(struct compiler *c, const char *name)
{
    for (const struct function *function = c->functions; function; function = function->next)
        if (strcmp(function->name, name) == 0)
            return function;
    return NULL;
}

static bool find_value(struct compiler *c, const char *name, struct value *value)
{
    const struct variable *variable = find_local(c, c->code, name);
    if (variable) {
        *value = value_of_local(c, variable);
        return true;
    }
    for (variable = c->globals; variable && strcmp(variable->name, name) != 0;)
        variable = variable->next;
    if (!variable)
        return false;
    *value = load(c, variable->type, global_place(c, variable));
    bool is_assigned = is(c->at, "="); /* it gets one */
    if (!is_assigned && is_reference(variable->type) && !may_be_null(variable->type))
        throw_if(c, LLVMBuildIsNull(c->code->builder, value->ir, ""), keep_text(c, "'%s' has no value yet", name));
    return true;
}

/* ---- calls ---- */

/* Reads the arguments of a call, behind its bracket. */
static void arguments(struct compiler *c, const char *name, const struct type *type, LLVMValueRef *out)
{
    const struct token *token = c->at - 1;
    int count = 0;
    for (; !accept(c, ")"); count++) {
        if (count)
            expect(c, ",");
        if (count == type->count)
            fail(c, "%s takes %d argument%s", name, type->count, type->count == 1 ? "" : "s");
        out[count] = expression_of(c, type->fields[count].type);
    }
    if (count < type->count)
        fail_at(c, token, keep_text(c, "%s takes %d argument%s", name, type->count, type->count == 1 ? "" : "s"));
    mark_line(c, token);
}

static struct value new_object(struct compiler *c, const struct type *type)
{
    LLVMValueRef values[MOST];
    arguments(c, type->name, type, values);
    LLVMValueRef object = allocate(c, keep_text(c, "struct.%s", type->name), type->count);
    for (int i = 0; i < type->count; i++)
        store(c, values[i], word_of(c, object, i));
    return value_of(type, object);
}

/* The functions that every program has. Each reads its arguments behind the bracket. */

static struct value call_print(struct compiler *c)
{
    struct value text = text_of(c, expression(c));
    call_runtime(c, "dowel_print", ir_type(c, simple_type(c, NOTHING)), &text.ir, 1);
    return value_of(simple_type(c, NOTHING), NULL);
}

static struct value call_text(struct compiler *c)
{
    return text_of(c, expression(c));
}

static struct value call_len(struct compiler *c)
{
    const struct token *token = c->at;
    struct value value = expression(c);
    if (value.type->kind == MAP)
        return value_of(simple_type(c, I64), map_length(c, value));
    if (value.type->kind != TEXT && value.type->kind != ARRAY)
        fail_at(c, token, keep_text(c, "%s has no length", value.type->name));
    return value_of(simple_type(c, I64), length_of(c, value));
}

static struct value call_array(struct compiler *c)
{
    LLVMValueRef length = expression_of(c, simple_type(c, I64));
    expect(c, ",");
    const struct token *token = c->at;
    struct value first = expression(c);
    if (first.type->kind == NULL_REFERENCE || first.type->kind == NOTHING)
        fail_at(c, token, "the elements have no type: give a variable that has one");
    return value_of(array_of(c, first.type), new_array(c, length, first));
}

static struct value call_sub(struct compiler *c)
{
    LLVMValueRef values[3] = {expression_of(c, simple_type(c, TEXT))};
    for (int i = 1; i < 3; i++) {
        expect(c, ",");
        values[i] = expression_of(c, simple_type(c, I64));
    }
    return value_of(simple_type(c, TEXT), call_runtime(c, "dowel_sub", ir_type(c, simple_type(c, TEXT)), values, 3));
}

static struct value call_i64(struct compiler *c)
{
    LLVMValueRef value = expression_of(c, simple_type(c, DOUBLE));
    LLVMTypeRef whole = ir_type(c, simple_type(c, I64));
    return value_of(simple_type(c, I64), call_runtime(c, "llvm.fptosi.sat.i64.f64", whole, &value, 1));
}

static struct value call_double(struct compiler *c)
{
    LLVMValueRef value = expression_of(c, simple_type(c, I64));
    const struct type *type = simple_type(c, DOUBLE);
    return value_of(type, LLVMBuildSIToFP(c->code->builder, value, ir_type(c, type), ""));
}

static const struct builtin {
    const char *name;
    struct value (*call)(struct compiler *c);
} builtins[] = {{"print", call_print},   {"text", call_text}, {"len", call_len},
                {"array", call_array},   {"sub", call_sub},   {"i64", call_i64},
                {"double", call_double}, {"has", call_has},   {"keys", call_keys}};

const struct builtin *find_builtin(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    return NULL;
}

static struct value call_closure_value(struct compiler *c, struct value closure)
{
    LLVMValueRef values[MOST + 1];
    if (closure.type->kind != FUNCTION)
        fail(c, "%s cannot be called", closure.type->name);
    throw_if(c, LLVMBuildIsNull(c->code->builder, closure.ir, ""), "null cannot be called");
    arguments(c, "this function", closure.type, values + 1);
    const struct type *result = closure.type->result;
    return value_of(result, call_closure(c, closure, values));
}

/* A name with a bracket behind it, which is not a variable's. */
static struct value call_name(struct compiler *c, const char *name)
{
    LLVMValueRef values[MOST];
    const struct token *token = c->at - 1;
    expect(c, "(");
    const struct builtin *builtin = find_builtin(name);
    if (builtin) {
        struct value result = builtin->call(c);
        expect(c, ")");
        return result;
    }
    const struct function *function = find_function(c, name);
    const struct type *type = find_type(c, name);
    if (!function && type && type->kind == STRUCT)
        return new_object(c, type);
    if (!function)
        fail_at(c, token, keep_text(c, "there is no function '%s'", name));
    arguments(c, name, function->type, values);
    const struct type *result = function->type->result;
    return value_of(result->kind == C_INT ? simple_type(c, I64) : result, call_function(c, function, values));
}

/* ---- expressions, those that bind tightest first ---- */

static struct value string(struct compiler *c)
{
    const struct token *token = c->at++;
    char *bytes = keep(c, token->length + 1);
    size_t length = 0;
    for (size_t i = 0; i < token->length; i++) {
        static const char letters[] = "nt\"\\", meant[] = "\n\t\"\\";
        char byte = token->text[i];
        if (byte == '\\') {
            const char *letter = strchr(letters, token->text[++i]);
            if (!letter || !*letter)
                fail_at(c, token, "behind a \\ comes n, t, \" or \\");
            byte = meant[letter - letters];
        }
        bytes[length++] = byte;
    }
    return value_of(simple_type(c, TEXT), new_text(c, bytes, length));
}

static struct value number(struct compiler *c)
{
    const struct token *token = c->at++;
    const char *text = keep_text(c, "%.*s", (int)token->length, token->text);
    errno = 0;
    if (token->kind == REAL)
        return value_of(simple_type(c, DOUBLE), LLVMConstReal(ir_type(c, simple_type(c, DOUBLE)), strtod(text, NULL)));
    int64_t number = strtoll(text, NULL, 10);
    if (errno)
        fail_at(c, token, "the number is too large");
    return value_of(simple_type(c, I64), whole(c, number));
}

/* [a, b, c] */
static struct value list(struct compiler *c)
{
    const struct token *token = c->at - 1;
    if (c->at->kind == NAME && is(c->at + 1, ":"))
        return new_map(c);
    if (is(c->at, "]"))
        fail_at(c, token, "the elements have no type: write array(0, VALUE)");
    struct value values[1000] = {expression(c)};
    int count = 1, most = sizeof values / sizeof *values;
    const struct type *type = values[0].type;
    for (; !accept(c, "]"); count++) {
        expect(c, ",");
        if (count == most)
            fail_at(c, token, "more than 1000 elements are too many");
        values[count].ir = expression_of(c, type);
    }
    if (type->kind == NULL_REFERENCE || type->kind == NOTHING)
        fail_at(c, token, "the elements have no type: give a variable that has one");
    LLVMValueRef array = new_array(c, whole(c, count), values[0]);
    for (int i = 1; i < count; i++)
        store(c, values[i].ir, word_of(c, array, i + 1));
    return value_of(array_of(c, type), array);
}

/* The object that a closure is: the address of its code, and copies of the variables that this uses. */
static LLVMValueRef new_closure(struct compiler *c, const struct code *inner)
{
    int count = inner->copy_count + 1;
    const struct type **words = keep(c, sizeof *words * (size_t)count);
    const char *name = "closure.";
    words[0] = simple_type(c, I64);
    for (const struct variable *copy = inner->copies; copy; copy = copy->next)
        words[copy->copy] = copy->type;
    for (int i = 1; i < count; i++)
        name = keep_text(c, "%s%c", name, is_reference(words[i]) ? 'r' : 'w');
    if (!find_type(c, name))
        define_object_type(c, new_struct(c, name)->name, words, count);
    LLVMValueRef object = allocate(c, name, count);
    store(c, inner->function, word_of(c, object, 0));
    for (const struct variable *copy = inner->copies; copy; copy = copy->next) {
        struct value value = value_of_local(c, find_local(c, c->code, copy->name));
        store(c, value.ir, word_of(c, object, copy->copy));
    }
    return object;
}

/* Behind `fn`. */
static struct value closure(struct compiler *c)
{
    const struct type *type = take_signature(c);
    struct code *code = begin_function(c, keep_text(c, "fn..%d", ++c->number), type, true);
    block(c);
    end_function(c);
    mark_line(c, c->at - 1);
    return value_of(find_type(c, type->name), new_closure(c, code));
}

static struct value primary(struct compiler *c)
{
    struct value value;
    if (c->at->kind == STRING)
        return string(c);
    if (c->at->kind == WHOLE || c->at->kind == REAL)
        return number(c);
    if (accept(c, "["))
        return list(c);
    if (accept(c, "fn"))
        return closure(c);
    if (is(c->at, "true") || is(c->at, "false"))
        return value_of(simple_type(c, BOOL), LLVMConstInt(ir_type(c, simple_type(c, BOOL)), is(c->at++, "true"), 0));
    if (accept(c, "null")) {
        const struct type *none = simple_type(c, NULL_REFERENCE);
        return value_of(none, LLVMConstNull(ir_type(c, none)));
    }
    if (accept(c, "(")) {
        value = expression(c);
        expect(c, ")");
        return value_of(value.type, value.ir);
    }
    if (c->at->kind != NAME)
        fail(c, "a value is missing before %s", shown(c));
    const char *word = take_name(c);
    if (find_value(c, word, &value))
        return value;
    if (is(c->at, "("))
        return call_name(c, word);
    c->at--;
    fail(c, find_function(c, word) ? "a function is no value: write fn(...) { ... '%s' ... }" : "there is no '%s'",
         word);
}

static struct value field(struct compiler *c, struct value object)
{
    const struct token *token = c->at;
    const char *word = take_name(c);
    int index = 0;
    if (object.type->kind != STRUCT)
        fail_at(c, token, keep_text(c, "%s has no fields", object.type->name));
    while (index < object.type->count && strcmp(object.type->fields[index].name, word) != 0)
        index++;
    if (index == object.type->count)
        fail_at(c, token, keep_text(c, "%s has no field '%s'", object.type->name, word));
    throw_if(c, LLVMBuildIsNull(c->code->builder, object.ir, ""), keep_text(c, "null has no field '%s'", word));
    return load(c, object.type->fields[index].type, word_of(c, object.ir, index));
}

/* Elements of arrays; of strings, their bytes as numbers. */
static struct value element(struct compiler *c, struct value object)
{
    if (object.type->kind == MAP)
        return map_element(c, object);
    LLVMValueRef index = expression_of(c, simple_type(c, I64));
    expect(c, "]");
    if (object.type->kind == ARRAY)
        return load(c, object.type->result, element_place(c, object, index));
    if (object.type->kind != TEXT)
        fail(c, "%s has no elements", object.type->name);
    LLVMTypeRef byte = LLVMInt8TypeInContext(c->llvm);
    LLVMValueRef value = LLVMBuildLoad2(c->code->builder, byte, element_place(c, object, index), "");
    const struct type *type = simple_type(c, I64);
    return value_of(type, LLVMBuildZExt(c->code->builder, value, ir_type(c, type), ""));
}

static struct value postfix(struct compiler *c)
{
    struct value value = primary(c);
    for (;;) {
        mark_line(c, c->at);
        if (accept(c, "("))
            value = call_closure_value(c, value);
        else if (accept(c, "["))
            value = element(c, value);
        else if (accept(c, "."))
            value = field(c, value);
        else
            return value;
    }
}

static struct value unary(struct compiler *c);

static struct value unary_inside(struct compiler *c)
{
    const struct token *token = c->at;
    if (accept(c, "not"))
        return value_of(simple_type(c, BOOL),
                        LLVMBuildNot(c->code->builder, fit(c, unary(c), simple_type(c, BOOL), token + 1), ""));
    if (!accept(c, "-"))
        return postfix(c);
    struct value value = unary(c);
    if (value.type->kind == I64)
        return value_of(value.type, LLVMBuildNeg(c->code->builder, value.ir, ""));
    return value_of(value.type, LLVMBuildFNeg(c->code->builder, fit(c, value, simple_type(c, DOUBLE), token + 1), ""));
}

static struct value unary(struct compiler *c)
{
    go_deeper(c);
    struct value value = unary_inside(c);
    c->depth--;
    return value;
}

enum level { OR = 1, AND, COMPARISON, SUM, PRODUCT };

static const struct operator
{
    const char *text;
    enum level level;
    LLVMOpcode whole, real; /* 0: it is not there for such numbers */
    LLVMIntPredicate whole_is;
    LLVMRealPredicate real_is;
}
operators[] = {
    {"or", OR, 0, 0, 0, 0},
    {"and", AND, 0, 0, 0, 0},
    {"==", COMPARISON, 0, 0, LLVMIntEQ, LLVMRealOEQ},
    {"!=", COMPARISON, 0, 0, LLVMIntNE, LLVMRealUNE},
    {"<", COMPARISON, 0, 0, LLVMIntSLT, LLVMRealOLT},
    {"<=", COMPARISON, 0, 0, LLVMIntSLE, LLVMRealOLE},
    {">", COMPARISON, 0, 0, LLVMIntSGT, LLVMRealOGT},
    {">=", COMPARISON, 0, 0, LLVMIntSGE, LLVMRealOGE},
    {"+", SUM, LLVMAdd, LLVMFAdd, 0, 0},
    {"-", SUM, LLVMSub, LLVMFSub, 0, 0},
    {"*", PRODUCT, LLVMMul, LLVMFMul, 0, 0},
    {"/", PRODUCT, LLVMSDiv, LLVMFDiv, 0, 0},
    {"%", PRODUCT, LLVMSRem, 0, 0, 0},
};

static const struct operator* operator_at(const struct token *token, int level)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if ((int)operators[i].level == level && is(token, operators[i].text))
            return &operators[i];
    return NULL;
}

static struct value binary(struct compiler *c, int level);

/* The right side is computed only if the left one does not decide. */
static struct value and_or(struct compiler *c, struct value left, const struct token *token, enum level level)
{
    const struct type *type = simple_type(c, BOOL);
    LLVMValueRef values[] = {fit(c, left, type, token), NULL};
    LLVMBasicBlockRef blocks[] = {LLVMGetInsertBlock(c->code->builder), NULL};
    LLVMBasicBlockRef right = new_block(c), end = new_block(c);
    branch(c, values[0], level == AND ? right : end, level == AND ? end : right);
    go_on_in(c, right);
    const struct token *behind = c->at;
    values[1] = fit(c, binary(c, level + 1), type, behind);
    blocks[1] = LLVMGetInsertBlock(c->code->builder);
    go_to(c, end);
    go_on_in(c, end);
    LLVMValueRef phi = LLVMBuildPhi(c->code->builder, ir_type(c, type), "");
    LLVMAddIncoming(phi, values, blocks, 2);
    return value_of(type, phi);
}

static struct value compare(struct compiler *c, const struct operator* operator, struct value left, LLVMValueRef right)
{
    LLVMBuilderRef b = c->code->builder;
    const struct type *type = simple_type(c, BOOL);
    bool is_equality = operator->whole_is == LLVMIntEQ || operator->whole_is == LLVMIntNE;
    if (left.type->kind == DOUBLE)
        return value_of(type, LLVMBuildFCmp(b, operator->real_is, left.ir, right, ""));
    if (left.type->kind == TEXT && is_equality) {
        LLVMValueRef texts[] = {left.ir, right};
        LLVMValueRef equal = call_runtime(c, "dowel_equal", ir_type(c, simple_type(c, I64)), texts, 2);
        return value_of(type, LLVMBuildICmp(b, operator->whole_is, equal, whole(c, 1), ""));
    }
    if (left.type->kind == NOTHING)
        fail(c, "there is no '%s' for %s", operator->text, left.type->name);
    if (left.type->kind != I64 && !is_equality)
        fail(c, "%s has no order", left.type->name);
    return value_of(type, LLVMBuildICmp(b, operator->whole_is, left.ir, right, ""));
}

/* Division by 0 is thrown. By -1, which the processor refuses for the smallest number, it is a negation. */
static LLVMValueRef divide(struct compiler *c, LLVMOpcode opcode, LLVMValueRef left, LLVMValueRef right)
{
    LLVMBuilderRef b = c->code->builder;
    throw_if(c, LLVMBuildICmp(b, LLVMIntEQ, right, whole(c, 0), ""), "a division by 0");
    LLVMValueRef is_minus = LLVMBuildICmp(b, LLVMIntEQ, right, whole(c, -1), "");
    LLVMValueRef divisor = LLVMBuildSelect(b, is_minus, whole(c, 1), right, "");
    LLVMValueRef instead = opcode == LLVMSDiv ? LLVMBuildNeg(b, left, "") : whole(c, 0);
    return LLVMBuildSelect(b, is_minus, instead, LLVMBuildBinOp(b, opcode, left, divisor, ""), "");
}

static struct value combine(struct compiler *c, const struct operator* operator, struct value left, LLVMValueRef right)
{
    if (operator->level == COMPARISON)
        return compare(c, operator, left, right);
    if (left.type->kind == TEXT && operator->whole == LLVMAdd) {
        LLVMValueRef texts[] = {left.ir, right};
        return value_of(left.type, call_runtime(c, "dowel_join", ir_type(c, left.type), texts, 2));
    }
    if (left.type->kind == I64 && operator->level == PRODUCT && operator->whole != LLVMMul)
        return value_of(left.type, divide(c, operator->whole, left.ir, right));
    LLVMOpcode opcode = left.type->kind == I64 ? operator->whole : left.type->kind == DOUBLE ? operator->real : 0;
    if (!opcode)
        fail(c, "there is no '%s' for %s", operator->text, left.type->name);
    return value_of(left.type, LLVMBuildBinOp(c->code->builder, opcode, left.ir, right, ""));
}

static struct value binary(struct compiler *c, int level)
{
    const struct token *start = c->at;
    struct value left = level == PRODUCT ? unary(c) : binary(c, level + 1);
    for (const struct operator* operator; (operator= operator_at(c->at, level));) {
        const struct token *token = c->at++;
        if (level <= AND) {
            left = and_or(c, left, start, level);
            continue;
        }
        struct value right = level == PRODUCT ? unary(c) : binary(c, level + 1);
        if (left.type->kind == NULL_REFERENCE)
            left = value_of(right.type, fit(c, left, right.type, start));
        LLVMValueRef fitted = fit(c, right, left.type, token + 1);
        const struct token *behind = c->at;
        c->at = token;
        mark_line(c, token);
        left = combine(c, operator, left, fitted);
        c->at = behind;
    }
    return left;
}

struct value expression(struct compiler *c)
{
    return binary(c, OR);
}
