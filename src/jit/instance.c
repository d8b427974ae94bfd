/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances of a module: their functions are looked up when the module is added, which starts its compilation, and
 * they are published when the lookup has ended. */

#include "jit/assumption.h"
#include "jit/jit.h"

struct publication {
    struct tn_instance *instance;
    struct tn_tracker *owner;
    struct tn__resting *rests;
    struct tn_instance_code code; /* without what is looked up */
    bool has_invoke;
    size_t count;
    struct tn_wanted wanted[2]; /* invoke, if it is a name, then specptr, if there is one */
    char names[];
};

static int publish(const struct publication *p, struct tn_error *err)
{
    return p->rests ? p->rests->hooks->publish(p->rests, p->instance, &p->code, p->has_invoke, p->owner, err)
                    : tn_instance_publish(p->instance, &p->code, p->owner, err);
}

static void free_publication(struct publication *p)
{
    tn__resting_drop(p->rests);
    tn__free(NULL, p);
}

static void publish_instance(void *context, struct tn_wanted *wanted, size_t count, const struct tn_error *why)
{
    struct publication *p = context;
    struct tn_error err;
    size_t next = 0;
    if (p->has_invoke)
        p->code.invoke = wanted[next++].address;
    if (next < count)
        p->code.specptr = wanted[next].address;
    int code = why ? why->code : publish(p, &err);
    if (code && code != TN_EDUP)
        tn_instance_fall_back(p->instance);
    free_publication(p);
}

/* What has to be looked up, and what not. */
static struct publication *prepare_publication(struct tn_library *library, const struct tn_jit_module *module,
                                               const struct tn_jit_instance *instance, struct tn__resting *rests)
{
    const char *names[] = {instance->invoke, instance->specialized};
    size_t size = sizeof(struct publication);
    for (size_t i = 0; i < TN_COUNT(names); i++)
        size += names[i] ? strlen(names[i]) + 1 : 0;
    struct publication *p = tn__alloc_zeroed(NULL, size, 1);
    if (!p)
        return NULL;
    p->instance = instance->instance;
    p->rests = rests;
    tn__resting_use(rests);
    p->owner = module->owner ? module->owner : tn_library_tracker(library);
    p->code = (struct tn_instance_code){.invoke = instance->invoke_address, .specsigflags = instance->flags};
    p->has_invoke = instance->invoke != NULL;
    char *at = p->names;
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (names[i]) {
            p->wanted[p->count++].name = at;
            at = stpcpy(at, names[i]) + 1;
        }
    return p;
}

void tn__jit_publish(struct tn_library *library, const struct tn_jit_module *module,
                     const struct tn_jit_instance *instance, struct tn__resting *rests)
{
    struct publication *p = prepare_publication(library, module, instance, rests);
    tn_instance_promise(instance->instance);
    if (p && !p->count) {
        publish_instance(p, NULL, 0, NULL);
        return;
    }
    if (p && tn_lookup_async(library, p->wanted, p->count, publish_instance, p, NULL) == 0)
        return;
    tn_instance_fall_back(instance->instance);
    if (p)
        free_publication(p);
}
