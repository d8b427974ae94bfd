/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Views of one function of what was added to a JIT that keeps its IR. The module is read again and compiled as the JIT
 * does, but for what is made of it. */

#include "base/shown_name.h"
#include "codegen/compile/compile.h"
#include "codegen/compile/view.h"
#include "codegen/jit/compiler.h"
#include "jit/jit.h"

struct viewing {
    const struct tn_jit *jit;
    const char *function;
    struct tn_compile_options compile;
    struct tn_compile_observer observer;
    struct tn__view view;
    struct tn_buffer *out;
    struct tn_error *err;
};

/* ---- the function in its module ---- */

static bool is_named(const char *symbol, const char *function)
{
    size_t length = tn__shown_length(symbol);
    return strlen(function) == length && memcmp(symbol, function, length) == 0;
}

/* The part that defines the function, and its symbol; NULL: none does. */
static const struct tn__split_symbol *find_symbol(const struct tn__split *split, const char *function, size_t *part)
{
    for (*part = 0; *part < tn__split_parts(split); ++*part) {
        size_t count;
        const struct tn__split_symbol *symbols = tn__split_symbols(split, *part, &count);
        for (size_t i = 0; i < count; i++)
            if (symbols[i].body && is_named(symbols[i].name, function))
                return &symbols[i];
    }
    return NULL;
}

/* ---- compiling ---- */

static int stop(void *context, const struct tn_pass *pass)
{
    (void)context;
    (void)pass;
    return 1;
}

static int compile_part(struct viewing *v, struct tn__module *module)
{
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn__part_compilation how = {.name = v->function,
                                             .how =
                                                 tn__jit_extraction(&v->jit->compile, v->jit->compile.opt_level, false),
                                             .opt_level = v->jit->compile.opt_level,
                                             .observer = &v->observer};
    uint64_t extract_ns;
    size_t part;
    const struct tn__split_symbol *symbol = find_symbol(tn__module_split(module), v->function, &part);
    if (!symbol)
        return TN_EUNDEF;
    v->view.function = symbol->body;
    return tn__module_compile_part(module, part, &how, v->out, &extract_ns, &stats, v->err);
}

static int compile_whole(struct viewing *v, struct tn__module *module)
{
    struct tn_compile_stats stats = {.size = sizeof stats};
    v->view.function = v->function;
    int code = tn__module_compile_whole(module, NULL, &v->observer, v->out, &stats, v->err);
    return code != 0 && v->view.is_undefined ? TN_EUNDEF : code;
}

/* TN_EUNDEF: the module does not define the function. */
static int view_module(struct viewing *v, const struct tn__jit_kept *kept)
{
    struct tn__module *module;
    int code = tn__module_open(kept->name, kept->ir, kept->length, &v->compile, "0", !v->jit->lazy || kept->whole,
                               &module, v->err);
    if (code)
        return code;
    v->view.was_called = v->view.is_undefined = false;
    code = tn__module_is_whole(module) ? compile_whole(v, module) : compile_part(v, module);
    tn__module_close(module);
    if (!code && !v->view.was_called) {
        tn_buffer_free(v->out);
        code = tn__fail(v->err, TN_EINVAL, "tn_jit_view: the JIT's passes have no 'tenon' among them");
    }
    return code;
}

/* ---- which module ---- */

/* What is in the list stays as it is, so it is walked without the lock; the newest module is the first. */
static int view_newest(struct viewing *v, struct tn_jit *jit, const struct tn_library *library)
{
    tn__jit_lock();
    const struct tn__jit_kept *kept = jit->kept;
    tn__jit_unlock();
    const uint64_t number = tn_library_number(library);
    int code = TN_EUNDEF;
    for (; kept && code == TN_EUNDEF; kept = kept->next)
        if (kept->library == number)
            code = view_module(v, kept);
    return code == TN_EUNDEF
               ? tn__fail(v->err, code, "tn_jit_view: no module of the library defines a function '%s'", v->function)
               : code;
}

int tn_jit_view(struct tn_jit *jit, struct tn_library *library, const char *function,
                const struct tn_jit_view_options *given, struct tn_buffer *out, struct tn_error *err)
{
    struct tn_jit_view_options options;
    if (!jit || !function || !out)
        return tn__no_argument(err);
    *out = (struct tn_buffer){0};
    int code = tn__take_options(&options, sizeof options, given, "struct tn_jit_view_options", err);
    if (code)
        return code;
    if ((unsigned)options.emit > TN_EMIT_FLAT)
        return tn__fail(err, TN_EINVAL, "emit is %d; it must be 0 to %d", (int)options.emit, TN_EMIT_FLAT);
    if (!jit->keeps_ir)
        return tn__fail(err, TN_EINVAL, "tn_jit_view: the JIT was created without keep_ir");
    struct viewing v = {.jit = jit, .function = function, .compile = jit->compile, .out = out, .err = err};
    v.view = (struct tn__view){
        .no_names = options.no_names, .no_debug_info = options.no_debug_info, .client = &jit->compile};
    v.observer =
        (struct tn_compile_observer){.size = sizeof v.observer, .before_pass = options.unoptimized ? stop : NULL};
    v.compile.observer = &v.observer;
    v.compile.emit = options.emit;
    v.compile.hook = tn__view_hook;
    v.compile.hook_context = &v.view;
    return view_newest(&v, jit, library ? library : jit->library);
}
