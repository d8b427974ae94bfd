/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Statements, and texts of them.
 *
 *     text         { definition | statement }
 *     definition   fn NAME signature block | struct NAME { fields } | extern fn NAME signature
 *     block        { { statement } }
 *
 * Statements beside definitions become a function that is called once. */

#include <string.h>

#include "dowel.h"

/* What a text defines is known in all of it: structs first, which signatures name. */
enum pass { IMPORTS, STRUCTS, FUNCTIONS };

static void statement(struct compiler *c);

/* ---- blocks and what decides between them ---- */

void block(struct compiler *c)
{
    struct variable *outside = c->code->variables;
    expect(c, "{");
    c->code->depth++;
    while (!accept_below(c, "}"))
        statement(c);
    c->code->depth--;
    c->code->variables = outside;
}

/* Goes on at the end of several ways, if one of them leads there. */
static void join(struct compiler *c, LLVMBasicBlockRef end)
{
    if (LLVMGetFirstUse(LLVMBasicBlockAsValue(end)))
        go_on_in(c, end);
    else
        LLVMDeleteBasicBlock(end);
}

static void if_statement(struct compiler *c)
{
    LLVMBasicBlockRef yes = new_block(c), no = new_block(c), end = new_block(c);
    go_deeper(c);
    branch(c, expression_of(c, simple_type(c, BOOL)), yes, no);
    go_on_in(c, yes);
    block(c);
    go_to(c, end);
    go_on_in(c, no);
    if (accept_below(c, "else")) {
        if (accept(c, "if"))
            if_statement(c);
        else
            block(c);
    }
    go_to(c, end);
    join(c, end);
    c->depth--;
}

/* The block of a loop, which a jump leads back from. */
static void loop_block(struct compiler *c, LLVMBasicBlockRef next, LLVMBasicBlockRef end)
{
    struct loop loop = {next, end, c->code->handlers, c->code->loop};
    c->code->loop = &loop;
    block(c);
    c->code->loop = loop.outer;
    go_to(c, next);
}

static void while_statement(struct compiler *c)
{
    LLVMBasicBlockRef test = new_block(c), body = new_block(c), end = new_block(c);
    go_to(c, test);
    go_on_in(c, test);
    branch(c, expression_of(c, simple_type(c, BOOL)), body, end);
    go_on_in(c, body);
    loop_block(c, test, end);
    go_on_in(c, end);
}

/* for NAME in FIRST .. END: the end is no value of the variable. */
static void for_statement(struct compiler *c)
{
    const struct type *type = simple_type(c, I64);
    LLVMBasicBlockRef test = new_block(c), body = new_block(c), next = new_block(c), end = new_block(c);
    struct variable *outside = c->code->variables;
    const char *name = take_name(c);
    expect(c, "in");
    LLVMValueRef first = expression_of(c, type);
    expect(c, "..");
    struct variable *limit = new_variable(c, "", type);
    store(c, expression_of(c, type), limit->place);
    struct variable *variable = new_variable(c, name, type);
    store(c, first, variable->place);
    go_to(c, test);
    go_on_in(c, test);
    LLVMValueRef value = load(c, type, variable->place).ir;
    branch(c, LLVMBuildICmp(c->code->builder, LLVMIntSLT, value, load(c, type, limit->place).ir, ""), body, end);
    go_on_in(c, body);
    loop_block(c, next, end);
    go_on_in(c, next);
    value = LLVMBuildAdd(c->code->builder, load(c, type, variable->place).ir, whole(c, 1), "");
    store(c, value, variable->place);
    go_to(c, test);
    go_on_in(c, end);
    c->code->variables = outside;
}

/* Behind `break` or `continue`. */
static void leave_loop(struct compiler *c)
{
    struct loop *loop = c->code->loop;
    bool goes_on = is(c->at - 1, "continue");
    if (!loop)
        fail(c, "there is no loop around");
    leave_handlers(c, c->code->handlers - loop->handlers);
    go_to(c, goes_on ? loop->next : loop->end);
}

/* ---- errors ---- */

static void try_statement(struct compiler *c)
{
    LLVMBasicBlockRef body = new_block(c), handler = new_block(c), end = new_block(c);
    branch(c, enter_handler(c), handler, body);
    go_on_in(c, body);
    block(c);
    if (!has_ended(c))
        leave_handlers(c, 1);
    go_to(c, end);
    c->code->handlers--;
    if (!accept_below(c, "catch"))
        fail(c, "a 'catch' is missing");
    go_on_in(c, handler);
    leave_handlers(c, 1);
    const struct type *type = simple_type(c, TEXT);
    struct variable *outside = c->code->variables, *variable = new_variable(c, take_name(c), type);
    store(c, call_runtime(c, "dowel_caught", ir_type(c, type), NULL, 0), variable->place);
    block(c);
    go_to(c, end);
    c->code->variables = outside;
    join(c, end);
}

/* ---- simple statements ---- */

static void return_statement(struct compiler *c)
{
    const struct type *result = c->code->result;
    if (!result)
        fail(c, "there is no function around");
    LLVMValueRef value = result->kind == NOTHING ? NULL : expression_of(c, result);
    leave_handlers(c, c->code->handlers);
    if (value)
        LLVMBuildRet(c->code->builder, value);
    else
        LLVMBuildRetVoid(c->code->builder);
}

/* A variable of a function; beside functions, a global one. */
static void let_statement(struct compiler *c)
{
    const char *name = take_name(c);
    const struct type *type = accept(c, ":") ? take_type(c) : NULL;
    expect(c, "=");
    const struct token *token = c->at;
    struct value value = expression(c);
    if (!type && (value.type->kind == NULL_REFERENCE || value.type->kind == NOTHING))
        fail_at(c, token, "this has no type: write let NAME: TYPE = ...");
    type = type ? type : value.type;
    LLVMValueRef ir = fit(c, value, type, token);
    if (c->code->result || c->code->outer || c->code->depth) {
        store(c, ir, new_variable(c, name, type)->place);
        return;
    }
    struct variable *global = keep(c, sizeof *global);
    *global = (struct variable){.name = keep_text(c, "%s", name), .type = type, .next = c->globals};
    global->symbol = keep_text(c, "%s..%d", name, ++c->number);
    define_global(c, global);
    c->globals = global;
    store(c, ir, global_place(c, global));
}

static void show(struct compiler *c, struct value value)
{
    struct value text = value.type->kind <= TEXT
                            ? text_of(c, value)
                            : value_of(NULL, new_text(c, value.type->name, strlen(value.type->name)));
    call_runtime(c, "dowel_print", ir_type(c, simple_type(c, NOTHING)), &text.ir, 1);
}

/* EXPRESSION, or PLACE = EXPRESSION */
static void expression_statement(struct compiler *c)
{
    const struct token *token = c->at;
    struct value value = expression(c);
    bool is_shown = c->shows_values && !c->code->result && !c->code->depth && value.type->kind != NOTHING;
    if (accept(c, "=")) {
        if (!value.place)
            fail_at(c, token, "this cannot be assigned to");
        store(c, expression_of(c, value.type), value.place);
    } else if (is_shown) {
        show(c, value);
    }
}

static void throw_statement(struct compiler *c)
{
    throw_text(c, expression_of(c, simple_type(c, TEXT)));
}

static void statement(struct compiler *c)
{
    static const struct {
        const char *word;
        void (*statement)(struct compiler *c);
    } rows[] = {{"let", let_statement},     {"if", if_statement},         {"while", while_statement},
                {"for", for_statement},     {"return", return_statement}, {"break", leave_loop},
                {"throw", throw_statement}, {"try", try_statement},       {"continue", leave_loop},
                {"", expression_statement}};
    size_t i = 0, last = sizeof rows / sizeof *rows - 1;
    while (c->at->kind == LINE)
        c->at++;
    if (has_ended(c))
        fail(c, "this is never reached");
    mark_line(c, c->at);
    while (i < last && !accept(c, rows[i].word))
        i++;
    rows[i].statement(c);
    if (c->at->kind != LINE && c->at->kind != END && !is(c->at, "}"))
        fail(c, "the statement goes on where it should end");
}

/* ---- definitions ---- */

/* Known before the functions around it are compiled. */
static void declare_function(struct compiler *c, bool is_c)
{
    const struct token *token = c->at;
    struct function *function = keep(c, sizeof *function);
    c->is_c = is_c;
    *function = (struct function){take_name(c), take_signature(c), is_c, c->imports, c->functions};
    c->is_c = false;
    const struct function *before = find_function(c, function->name);
    if (find_builtin(function->name))
        fail_at(c, token, keep_text(c, "every program has '%s'", function->name));
    if (before && before->type->name != function->type->name)
        fail_at(c, token, keep_text(c, "'%s' is %s: its callers would not fit", before->name, before->type->name));
    if (before && !c->shows_values)
        fail_at(c, token, keep_text(c, "there are two '%s'", before->name));
    if (before && before->is_c != is_c)
        fail_at(c, token, keep_text(c, "'%s' is defined %s", before->name, is_c ? "in dowel" : "in C"));
    if (before && (before->is_imported || c->imports)) /* its callers call the package's */
        fail_at(c, token, keep_text(c, "'%s' is a function of a package", before->name));
    if (is_reference(function->type->result) && is_c)
        fail_at(c, token, "C functions return numbers");
    if (is_c && !knows_c_function(c->session, function->name))
        fail_at(c, token, keep_text(c, "there is no C function '%s'", function->name));
    c->functions = function;
}

static void declare_struct(struct compiler *c)
{
    const struct type *words[MOST];
    const struct token *token = c->at;
    const char *name = take_name(c);
    if (find_type(c, name))
        fail_at(c, token, keep_text(c, "there is a type '%s' already", name));
    struct type *type = new_struct(c, name);
    type->fields = keep(c, MOST * sizeof *type->fields);
    expect(c, "{");
    type->count = take_fields(c, type->fields, "}");
    for (int i = 0; i < type->count; i++)
        words[i] = type->fields[i].type;
    define_object_type(c, keep_text(c, "struct.%s", name), words, type->count);
}

static void pass_block(struct compiler *c)
{
    int depth = 0;
    do {
        depth += is(c->at, "{") - is(c->at, "}");
        c->at++;
    } while (depth && c->at->kind != END);
}

/* Behind `fn`. */
static const char *define_function(struct compiler *c)
{
    const char *name = take_name(c);
    begin_function(c, name, take_signature(c), false);
    block(c);
    end_function(c);
    return name;
}

/* As a module of its own, so that it can be replaced. */
static void define_alone(struct compiler *c)
{
    begin_module(c);
    const char *name = define_function(c);
    end_module(c, name, REPLACES);
}

static bool is_definition(const struct token *token)
{
    return is(token, "struct") || is(token, "extern") || is(token, "import") ||
           (is(token, "fn") && token[1].kind == NAME);
}

bool has_try(const struct token *token)
{
    bool is_block = is(token, "{");
    for (int depth = 0; token->kind != END && (depth || is_block || !is_definition(token)); token++) {
        if (is(token, "try"))
            return true;
        depth += is(token, "{") - is(token, "}");
        if (is_block && !depth)
            return false;
    }
    return false;
}

/* Statements up to the next definition, as a function without arguments. It returns 1 if something was thrown. */
static void define_line(struct compiler *c)
{
    const char *name = keep_text(c, "line..%d", ++c->number);
    begin_module(c);
    struct code *code = begin_function(c, name, function_type(c, simple_type(c, I64), NULL, 0), false);
    code->result = NULL;
    LLVMBasicBlockRef body = new_block(c), handler = new_block(c);
    branch(c, enter_handler(c), handler, body);
    go_on_in(c, handler);
    leave_handlers(c, 1);
    call_runtime(c, "dowel_report", ir_type(c, simple_type(c, NOTHING)), NULL, 0);
    LLVMBuildRet(code->builder, whole(c, 1));
    go_on_in(c, body);
    while (c->at->kind != END && !is_definition(c->at)) {
        statement(c);
        while (c->at->kind == LINE)
            c->at++;
    }
    if (!has_ended(c)) {
        leave_handlers(c, 1);
        LLVMBuildRet(code->builder, whole(c, 0));
    }
    end_function(c);
    end_module(c, symbol_of(c, name), RUNS);
}

static void declare_all(struct compiler *c, enum pass pass);

/* What a package defines is declared here, and has no bodies. */
static void import(struct compiler *c)
{
    const struct token *token = c->at++;
    if (token->kind != STRING)
        fail_at(c, token, "a string is missing: import \"FILE\"");
    const struct token *behind = c->at;
    c->at = lex(c, keep_text(c, "%s", import_package(c, keep_text(c, "%.*s", (int)token->length, token->text))));
    c->imports = true;
    declare_all(c, STRUCTS);
    declare_all(c, FUNCTIONS);
    c->imports = false;
    c->at = behind;
}

static void declare_all(struct compiler *c, enum pass pass)
{
    const struct token *first = c->at;
    while (c->at->kind != END)
        if (pass == IMPORTS && accept(c, "import")) {
            import(c);
        } else if (pass == STRUCTS && accept(c, "struct")) {
            declare_struct(c);
        } else if (pass == FUNCTIONS && accept(c, "extern")) {
            expect(c, "fn");
            declare_function(c, true);
        } else if (pass == FUNCTIONS && is_definition(c->at) && accept(c, "fn")) {
            declare_function(c, false);
        } else if (is(c->at, "{")) {
            pass_block(c);
        } else {
            c->at++;
        }
    c->at = first;
}

static void pass_line(struct compiler *c)
{
    while (c->at->kind != LINE && c->at->kind != END && !is(c->at, "{"))
        c->at++;
    if (is(c->at, "{"))
        pass_block(c);
}

/* Functions of a prompt are replaced one by one. Those of a file are in one module, where they call each other without
 * a detour, and become parts of each other. */
static void text(struct compiler *c)
{
    bool is_file = !c->shows_values;
    const char *name = NULL;
    if (is_file)
        begin_module(c);
    for (enum pass pass = IMPORTS; pass <= FUNCTIONS; pass++)
        declare_all(c, pass);
    while (c->at->kind != END)
        if (is(c->at, "struct") || is(c->at, "extern") || is(c->at, "import"))
            pass_line(c);
        else if (is_file && is_definition(c->at) && accept(c, "fn"))
            name = define_function(c);
        else if (is_definition(c->at) && accept(c, "fn"))
            define_alone(c);
        else if (c->at->kind == LINE)
            c->at++;
        else
            define_line(c);
    if (is_file)
        end_module(c, name, name ? REPLACES : DEFINES);
}

/* ---- the compiler ---- */

static void discard(struct compiler *c)
{
    for (; c->code; c->code = c->code->outer) {
        LLVMDisposeBuilder(c->code->builder);
        LLVMDisposeBuilder(c->code->entry);
    }
    for (; c->module.ir; c->module = *c->module.around) {
        LLVMDisposeDIBuilder(c->module.debug);
        LLVMDisposeModule(c->module.ir);
    }
    for (; c->pending; c->pending = c->pending->next)
        LLVMDisposeModule(c->pending->module);
}

bool compile(struct compiler *c, const char *file, const char *source)
{
    struct compiler before = *c;
    c->file = file;
    c->at = NULL;
    c->depth = 0;
    c->is_c = c->imports = false;
    c->pending = NULL;
    c->last = &c->pending;
    if (setjmp(c->failed)) {
        discard(c);
        c->types = before.types;
        c->functions = before.functions;
        c->globals = before.globals;
        return false;
    }
    c->at = lex(c, keep_text(c, "%s", source));
    text(c);
    return true;
}

void begin_compiler(struct compiler *c)
{
    *c = (struct compiler){.llvm = LLVMContextCreate()};
    for (enum kind kind = NOTHING; kind <= C_INT; kind++)
        simple_type(c, kind);
}

void end_compiler(struct compiler *c)
{
    LLVMContextDispose(c->llvm);
    forget(c);
}
