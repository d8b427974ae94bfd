/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Adding a module: what it defines is promised to the library, by one materializer for a whole module or by one for
 * each part of a module that was taken apart. Functions of the latter have stubs under their names; the parts promise
 * the bodies. */

#include <stdio.h>

#include "base/os.h"
#include "codegen/jit/jit.h"

/* What callers may inline of functions that are compiled apart: about what LLVM's inliner takes without a second
 * look. */
enum { INLINE_SIZE = 25 };

/* ---- compiling ---- */

static void release_object(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){.data = (void *)bytes, .size = length});
}

/* "MODULE(FUNCTION)", as a member of an archive would be called. */
static void name_part(const struct tn__jit_module *m, size_t part, char *name, size_t size)
{
    size_t count;
    const struct tn__split_symbol *symbols = tn__split_symbols(tn__module_split(m->module), part, &count);
    char function[200];
    snprintf(function, sizeof function, "%s", part == 0 ? "data" : symbols[0].name);
    tn__jit_original_name(function);
    snprintf(name, size, "%s(%s)", m->name, function);
}

/* Compiles a part, or the whole; *input, called `name`, has the object. */
static int compile(const struct tn__jit_module *m, size_t part, char *name, size_t size, struct tn_input *input,
                   struct tn_error *err)
{
    struct tn_jit *jit = m->jit;
    struct tn__jit_watch watch = {jit, m};
    struct tn_compile_observer observer;
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn_buffer object = {0};
    uint64_t extract_ns = 0;
    bool whole = tn__module_is_whole(m->module), inlines = jit->compile.opt_level >= 2 && !jit->compile.passes;
    int code;
    tn__jit_watch(&watch, &observer);
    if (whole) {
        snprintf(name, size, "%s", m->name);
        code = tn__module_compile_whole(m->module, &observer, &object, &stats, err);
    } else {
        const struct tn__extraction how = {.stubs = true, .inline_size = inlines ? INLINE_SIZE : 0};
        name_part(m, part, name, size);
        code = tn__module_compile_part(m->module, part, name, &how, &observer, &object, &extract_ns, &stats, err);
    }
    atomic_fetch_add(&jit->counters.extract_ns, extract_ns);
    atomic_fetch_add(&jit->counters.free_ns, stats.free_ns);
    if (code == TN_OK && !whole && part > 0) {
        tn__module_compiled(m->module, part);
        atomic_fetch_add(&jit->counters.taken, 1);
    }
    *input = (struct tn_input){
        .size = sizeof *input, .name = name, .bytes = object.data, .length = object.size, .release = release_object};
    return code;
}

static int materialize(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn__jit_part *part = context;
    struct tn_input input;
    char name[300];
    int code = compile(part->owner, (size_t)(part - part->owner->parts), name, sizeof name, &input, err);
    if (code != TN_OK)
        return code;
    code = tn_responsibility_add_object(responsibility, &input, err);
    if (code != TN_OK)
        release_object(NULL, input.bytes, input.length);
    return code;
}

/* ---- the module's life ---- */

static void release(struct tn__jit_module *m)
{
    if (atomic_fetch_sub(&m->users, 1) != 1)
        return;
    tn__module_close(m->module);
    tn__jit_release(m->jit);
    tn__free(NULL, m);
}

static void destroy_part(void *context)
{
    release(((struct tn__jit_part *)context)->owner);
}

/* The struct, its parts and its instances in one piece. */
static struct tn__jit_module *create(struct tn_jit *jit, struct tn__module *module, const struct tn_jit_module *given)
{
    size_t count = tn__split_parts(tn__module_split(module)), name_size = strlen(given->name) + 1;
    size_t parts = sizeof(struct tn__jit_module) + count * sizeof(struct tn__jit_part);
    size_t instances = given->instance_count * sizeof(struct tn_jit_instance);
    struct tn__jit_module *m = tn__alloc_zeroed(NULL, parts + instances + name_size, 1);
    if (!m)
        return NULL;
    m->users = 1;
    m->jit = jit;
    tn__jit_use(jit);
    m->module = module;
    for (size_t i = 0; i < count; i++)
        m->parts[i].owner = m;
    if (instances)
        memcpy((char *)m + parts, given->instances, instances);
    m->instances = (const struct tn_jit_instance *)(const void *)((char *)m + parts);
    m->instance_count = given->instance_count;
    m->name = memcpy((char *)m + parts + instances, given->name, name_size);
    return m;
}

/* ---- promising ---- */

struct adding {
    struct tn__jit_module *m;
    struct tn_library *library;
    struct tn_tracker *owner;
    struct tn__arena arena;
    struct tn_error *err;
};

static int out_of_memory(struct adding *a)
{
    return tn__fail(a->err, TN_ENOMEM, "%s: out of memory", a->m->name);
}

static uint64_t flags_of(const struct tn__split_symbol *symbol)
{
    return (symbol->flags & TN__SPLIT_WEAK ? TN_SYMBOL_WEAK : 0) |
           (symbol->flags & TN__SPLIT_HIDDEN ? TN_SYMBOL_HIDDEN : 0);
}

/* What the object of a part will define; returns how much that is. */
static size_t list_promises(struct adding *a, size_t part, struct tn_promised *promised)
{
    size_t count, used = 0;
    const struct tn__split_symbol *symbols = tn__split_symbols(tn__module_split(a->m->module), part, &count);
    for (const struct tn__split_symbol *s = symbols; s < symbols + count; s++)
        if (!s->of)
            promised[used++] = s->body ? (struct tn_promised){s->body, 0} : (struct tn_promised){s->name, flags_of(s)};
    return used;
}

/* Compiles the part now; for what nobody could ask for by name, or the linker has to see. */
static int add_now(struct adding *a, size_t part)
{
    struct tn_input input;
    char name[300];
    int code = compile(a->m, part, name, sizeof name, &input, a->err);
    if (code != TN_OK)
        return code;
    input.owner = a->owner;
    code = tn_add_object(a->library, &input, a->err);
    if (code != TN_OK)
        release_object(NULL, input.bytes, input.length);
    return code;
}

static int promise(struct adding *a, size_t part)
{
    size_t count;
    tn__split_symbols(tn__module_split(a->m->module), part, &count);
    struct tn_promised *promised = tn__arena_array(&a->arena, count + 1, sizeof *promised);
    if (!promised)
        return out_of_memory(a);
    size_t used = list_promises(a, part, promised);
    bool has_initializers = part == 0 && tn__split_has_initializers(tn__module_split(a->m->module));
    if (tn__split_is_opaque(tn__module_split(a->m->module)) || (!used && has_initializers))
        return add_now(a, part);
    if (!used)
        return TN_OK;
    struct tn_materializer materializer = {.size = sizeof materializer,
                                           .name = a->m->name,
                                           .context = &a->m->parts[part],
                                           .symbols = promised,
                                           .count = used,
                                           .materialize = materialize,
                                           .destroy = destroy_part,
                                           .owner = a->owner};
    atomic_fetch_add(&a->m->users, 1);
    int code = tn_add_materializer(a->library, &materializer, a->err);
    if (code != TN_OK)
        atomic_fetch_sub(&a->m->users, 1);
    return code;
}

/* ---- stubs ---- */

/* The names of one part that do not stand for what its object defines. */
struct names {
    struct tn_lazy_symbol *stubs;
    struct tn_reexport *others; /* further names of functions */
    size_t stub_count, other_count;
};

static void list_names(const struct adding *a, size_t part, struct names *names)
{
    size_t count;
    const struct tn__split_symbol *symbols = tn__split_symbols(tn__module_split(a->m->module), part, &count);
    for (const struct tn__split_symbol *s = symbols; s < symbols + count; s++)
        if (s->of)
            names->others[names->other_count++] = (struct tn_reexport){s->name, s->of, flags_of(s)};
        else if (s->body)
            names->stubs[names->stub_count++] = (struct tn_lazy_symbol){.name = s->name,
                                                                        .target = s->body,
                                                                        .flags = flags_of(s),
                                                                        .managed_registers = s->managed_registers,
                                                                        .managed_stack = s->managed_stack};
}

static int define_stubs(struct adding *a)
{
    size_t parts = tn__split_parts(tn__module_split(a->m->module)), all = 0, count;
    for (size_t part = 0; part < parts; part++) {
        tn__split_symbols(tn__module_split(a->m->module), part, &count);
        all += count;
    }
    struct names names = {.stubs = tn__arena_array(&a->arena, all + 1, sizeof *names.stubs),
                          .others = tn__arena_array(&a->arena, all + 1, sizeof *names.others)};
    if (!names.stubs || !names.others)
        return out_of_memory(a);
    for (size_t part = 0; part < parts; part++)
        list_names(a, part, &names);
    struct tn_stub_options options = {.size = sizeof options, .owner = a->owner, .on_failure = a->m->jit->on_failure};
    int code = TN_OK;
    if (names.stub_count)
        code = tn_define_lazy(a->library, names.stubs, names.stub_count, a->library, &options, a->err);
    if (code == TN_OK && names.other_count)
        code = tn_reexport(a->library, names.others, names.other_count, a->library, a->owner, a->err);
    return code;
}

/* ---- adding ---- */

/* So that tn_jit_run_initializers finds them. */
static int note_initializers(struct adding *a)
{
    size_t count;
    const struct tn__split_symbol *symbols = tn__split_symbols(tn__module_split(a->m->module), 0, &count);
    if (!tn__split_has_initializers(tn__module_split(a->m->module)))
        return TN_OK;
    const char *symbol = count ? symbols[0].name : "";
    size_t size = strlen(symbol) + 1;
    struct tn__jit_initializer *note = tn__alloc(NULL, sizeof *note + size);
    if (!note)
        return out_of_memory(a);
    struct tn_jit *jit = a->m->jit;
    note->library = a->library;
    memcpy(note->symbol, symbol, size);
    tn__jit_lock();
    note->next = jit->initializers;
    jit->initializers = note;
    tn__jit_unlock();
    return TN_OK;
}

static int promise_all(struct adding *a)
{
    int code = note_initializers(a);
    size_t parts = tn__split_parts(tn__module_split(a->m->module));
    for (size_t part = 0; part < parts && code == TN_OK; part++)
        code = promise(a, part);
    if (code == TN_OK && !tn__module_is_whole(a->m->module)) {
        code = define_stubs(a);
        atomic_fetch_add(&a->m->jit->counters.functions, parts - 1);
    }
    return code;
}

/* Several steps, undone together if one fails: all that is added belongs to a tracker of its own until the end. */
static int add_in_steps(struct adding *a, struct tn_tracker *owner)
{
    int code = tn_tracker_create(a->library, &a->owner, a->err);
    if (code != TN_OK)
        return code;
    code = promise_all(a);
    if (code == TN_OK)
        code = tn_tracker_transfer(a->owner, owner ? owner : tn_library_tracker(a->library), a->err);
    if (code != TN_OK)
        tn_tracker_remove(a->owner, NULL);
    tn_tracker_destroy(a->owner);
    return code;
}

static int add(struct tn_jit *jit, struct tn_library *library, struct tn__module *module,
               const struct tn_jit_module *given, struct tn_error *err)
{
    struct tn__jit_module *m = create(jit, module, given);
    if (!m) {
        tn__module_close(module);
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", given->name);
    }
    struct adding a = {.m = m, .library = library, .owner = given->owner, .err = err};
    int code = tn__module_is_whole(module) ? promise_all(&a) : add_in_steps(&a, given->owner);
    tn__arena_free(&a.arena);
    release(m);
    return code;
}

/* ---- reading ---- */

/* *kept: a copy of the IR, if the JIT keeps such. */
static int open_module(struct tn_jit *jit, struct tn_jit_module *given, struct tn__module **module,
                       struct tn__jit_kept **kept, struct tn_error *err)
{
    uint64_t begin = tn__os_now_ns(), number = atomic_fetch_add(&jit->counters.modules, 1);
    struct tn_buffer copy = {0};
    int code = given->llvm_module ? tn__module_write(given->llvm_module, &copy, err) : TN_OK;
    if (given->llvm_module) {
        given->ir = copy.data;
        given->length = copy.size;
    }
    *kept = code == TN_OK && jit->keeps_ir ? tn__jit_copy_ir(given) : NULL;
    if (code == TN_ENOMEM || (code == TN_OK && jit->keeps_ir && !*kept))
        code = tn__fail(err, TN_ENOMEM, "%s: no memory for a copy", given->name);
    if (code == TN_OK)
        code = tn__module_open(given->name, given->ir, given->length, &jit->compile, number, !jit->lazy || given->whole,
                               module, err);
    tn_buffer_free(&copy);
    atomic_fetch_add(&jit->counters.read_ns, tn__os_now_ns() - begin);
    return code;
}

static void keep(struct tn_jit *jit, const struct tn_library *library, struct tn__jit_kept *kept)
{
    kept->library = library;
    tn__jit_lock();
    kept->next = jit->kept;
    jit->kept = kept;
    tn__jit_unlock();
}

int tn_jit_add_module(struct tn_jit *jit, struct tn_library *library, const struct tn_jit_module *given,
                      struct tn_error *err)
{
    struct tn_jit_module options;
    struct tn__module *module;
    struct tn__jit_kept *kept;
    if (!jit)
        return tn__fail(err, TN_EINVAL, "no JIT given");
    int code = tn__take_options(&options, sizeof options, given, "struct tn_jit_module", err);
    if (code != TN_OK)
        return code;
    if (!options.llvm_module == !options.ir || (options.instance_count && !options.instances))
        return tn__fail(err, TN_EINVAL, "tn_jit_add_module: either IR or a module of LLVM's, and instances if counted");
    options.name = options.name ? options.name : "<memory>";
    library = library ? library : jit->library;
    code = open_module(jit, &options, &module, &kept, err);
    if (code == TN_OK)
        code = add(jit, library, module, &options, err);
    if (code == TN_OK && kept)
        keep(jit, library, kept);
    else
        tn__free(NULL, kept);
    for (size_t i = 0; i < options.instance_count && code == TN_OK; i++)
        tn__jit_publish(library, &options, &options.instances[i]);
    return code;
}
