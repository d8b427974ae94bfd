/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <ctype.h>
#include <semaphore.h>

#include "claimed.h"
#include "claimed_image.h"
#include "toy_number.h"

/* ---- bodies ---- */

static const char bodies[] = "FVANBC"; /* first(1) is 43, 44, ...; 1000 more in a higher tier */
static const char letters[] = "FfVvAaNBC";
enum { LOWEST = 43, HIGHER = 1000, HOST = 5001, FAILED = -1 };

char body_of(const void *function)
{
    if (!function)
        return '0';
    long got = call(function, 1), number = got - LOWEST;
    if (got == LOWEST - 3) /* `second` of F was not found any more, and on_failure's -1 stands for its 2 */
        return '-';
    bool is_higher = number >= HIGHER;
    number -= is_higher ? HIGHER : 0;
    if (number >= 0 && number < (long)strlen(bodies))
        return (char)(is_higher ? tolower(bodies[number]) : bodies[number]);
    return got == FAILED ? '-' : got == HOST ? 'D' : '?';
}

static long run_own(long x)
{
    return HOST - 1 + x;
}

const void *own_function(void)
{
    return (const void *)run_own;
}

static long number_of(char body)
{
    return strchr(bodies, body) - bodies + 1;
}

/* The toy's program for a body, in its module's name too. */
static struct tn_jit_module module_of(const struct claimed *w, char body, char text[32])
{
    static char names[] = "F\0V\0A\0N\0B\0C";
    bool is_alone = w->is_alone && body != 'C' && (body != 'F' || w->way == WAY_OBJECT);
    if (is_alone) /* its `second` doubles 1, and there is no total */
        snprintf(text, 32, "alone %ld", 40 + number_of(body));
    else
        snprintf(text, 32, "program %ld", number_of(body));
    struct tn_jit_module module = toy_module(text);
    module.name = names + 2 * (number_of(body) - 1);
    return module;
}

/* ---- what is linked ---- */

/* Of the members `linked`: bodies also go when other threads let them. */
static pthread_mutex_t linked_lock = PTHREAD_MUTEX_INITIALIZER;

/* The letter of an object's body, if it has one. */
static char letter_of(const struct tn_linked_object *object)
{
    bool is_body = false, is_higher = false;
    for (size_t i = 0; i < object->function_count; i++) {
        const char *name = object->functions[i].name;
        is_body |= strncmp(name, "first", 5) == 0 && !strstr(name, "@stub");
        is_higher |= strncmp(name, "first", 5) == 0 && strstr(name, ".t2");
    }
    return (char)(!is_body ? 0 : is_higher ? tolower(object->name[0]) : object->name[0]);
}

static int note_linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    struct claimed *w = context;
    size_t at = 0;
    pthread_mutex_lock(&linked_lock);
    for (size_t i = 0; i < count && at < OBJECTS; i++) {
        char body = letter_of(objects[i]);
        while (body && at < OBJECTS && w->linked[at].id)
            at++;
        if (body && at < OBJECTS) {
            w->linked[at].id = objects[i]->id;
            w->linked[at].body = body;
        }
    }
    pthread_mutex_unlock(&linked_lock);
    return at < OBJECTS ? 0 : tn__fail(err, TN_ENOMEM, "too many objects");
}

static void note_removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    struct claimed *w = context;
    pthread_mutex_lock(&linked_lock);
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < OBJECTS; at++)
            if (w->linked[at].id == objects[i]->id)
                w->linked[at].id = 0;
    pthread_mutex_unlock(&linked_lock);
}

const char *linked_bodies(const struct claimed *w, char text[BODIES + 1])
{
    size_t length = 0;
    pthread_mutex_lock(&linked_lock);
    for (const char *letter = letters; *letter; letter++) {
        bool is_linked = false;
        for (size_t at = 0; at < OBJECTS; at++)
            is_linked |= w->linked[at].id && w->linked[at].body == *letter;
        if (is_linked)
            text[length++] = *letter;
    }
    pthread_mutex_unlock(&linked_lock);
    text[length] = '\0';
    return text;
}

/* ---- the world ---- */

static struct tn_library *create_library(const struct claimed *w, const char *name)
{
    struct tn_error err;
    struct tn_library *library;
    check(tn_library_create(tn_jit_session(w->jit), name, &library, &err), &err);
    return library;
}

static struct tn_tracker *create_tracker(struct tn_library *library)
{
    struct tn_error err;
    struct tn_tracker *tracker;
    check(tn_tracker_create(library, &tracker, &err), &err);
    return tracker;
}

static void define_second(struct tn_library *library)
{
    struct tn_error err;
    check(tn_define(library, "second", (const void *)twice, &err), &err);
}

/* What B calls when F has gone. */
static void search_host(const struct claimed *w)
{
    struct tn_error err;
    struct tn_search host = {create_library(w, "host"), 0};
    define_second(host.library);
    check(tn_library_search(w->library, &host, 1, &err), &err);
    check(tn_library_search(w->bodies, &host, 1, &err), &err);
}

static void add_module(struct claimed *w, struct tn_library *library, char body, struct tn_tracker *owner)
{
    char text[32];
    struct tn_error err;
    struct tn_jit_module module = module_of(w, body, text);
    module.owner = owner;
    check(tn_jit_add_module(w->jit, library, &module, &err), &err);
}

void begin_claims(struct claimed *w, enum way way, bool is_alone)
{
    struct tn_error err;
    *w = (struct claimed){.way = way, .is_alone = is_alone || way < WAY_LAZY};
    w->jit = way < WAY_TIERS ? create(way == WAY_LAZY) : create_tiered(way == WAY_RETIRED);
    const struct tn_observer observer = {
        .size = sizeof observer, .context = w, .linked = note_linked, .removed = note_removed};
    check(tn_add_observer(tn_jit_session(w->jit), &observer, &err), &err);
    w->library = tn_jit_library(w->jit);
    w->bodies = create_library(w, "bodies");
    w->others = create_library(w, "others");
    w->stubs = create_tracker(w->library);
    w->code = create_tracker(w->bodies);
    w->own = create_tracker(w->others);
    w->a = assume(w->jit);
    w->another = assume(w->jit);
    add_module(w, w->others, 'C', w->own);
    search_host(w);
    if (w->is_alone)
        define_second(w->library);
}

void end_claims(struct claimed *w)
{
    tn_image_close(w->image);
    tn_assumption_destroy(w->a);
    tn_assumption_destroy(w->another);
    end(w->jit);
}

/* ---- steps ---- */

/* alone.o with the number of a body; the session gets a copy. */
static struct tn_input read_object(const struct claimed *w, char body)
{
    static const long placeholder = TOY_NUMBER;
    static char copies[2][20000];
    char *bytes = copies[body == 'B'], text[32];
    long number = 40 + number_of(body);
    FILE *file = fopen(DATA "/alone.o", "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof copies[0], file);
    fclose(file);
    char *at = memmem(bytes, size, &placeholder, sizeof placeholder);
    assert_non_null(at);
    memcpy(at, &number, sizeof number);
    return (struct tn_input){
        .size = sizeof(struct tn_input), .name = module_of(w, body, text).name, .bytes = bytes, .length = size};
}

static struct tn_stub_options stub_options(struct tn_tracker *owner)
{
    return (struct tn_stub_options){
        .size = sizeof(struct tn_stub_options), .owner = owner, .on_failure = (void (*)(void))no_function};
}

/* A library of its own has the version, where its address is the image's. */
static void lead_image(struct claimed *w, const struct tn_lazy_symbol *symbol, const struct tn_stub_options *options)
{
    struct tn_library *versions = create_library(w, "versions");
    struct tn_error err;
    void *address;
    check(tn_lookup(w->bodies, "first", &address, &err), &err);
    w->image = open_claimed_image(address);
    check(tn_define(versions, "first", version_of(w->image), &err), &err);
    check(tn_define_lazy(w->library, symbol, 1, versions, options, &err), &err);
    check(tn_lookup(w->library, "first", &address, &err), &err);
    check(tn_image_redirect(w->image, "first", address, &err), &err);
}

void let_go_of_image(struct claimed *w)
{
    struct tn_error err;
    if (w->image)
        check(tn_image_redirect(w->image, "first", NULL, &err), &err);
}

void add_first(struct claimed *w, char body)
{
    const struct tn_stub_options options = stub_options(w->stubs);
    const struct tn_lazy_symbol symbol = {.name = "first"};
    struct tn_input object;
    struct tn_error err;
    void *address;
    w->has_first = true;
    switch (w->way) {
    case WAY_ADDRESS:
        add_module(w, w->bodies, body, w->code);
        check(tn_lookup(w->bodies, "first", &address, &err), &err);
        check(tn_define_redirectable(w->library, "first", address, &options, &err), &err);
        break;
    case WAY_EAGER:
        add_module(w, w->bodies, body, w->code);
        check(tn_define_lazy(w->library, &symbol, 1, w->bodies, &options, &err), &err);
        break;
    case WAY_IMAGE:
        add_module(w, w->bodies, body, w->code);
        lead_image(w, &symbol, &options);
        break;
    case WAY_OBJECT:
        object = read_object(w, body);
        check(tn_add_lazy_object(w->library, &object, &options, &err), &err);
        break;
    default:
        add_module(w, w->library, body, w->stubs);
    }
}

int replace_by(struct claimed *w, const char *body, struct tn_assumption *a)
{
    char text[32];
    struct tn_error err;
    struct tn_jit_module module = body[1] ? toy_module(body) : module_of(w, *body, text);
    module.assumptions = &a;
    module.assumption_count = a ? 1 : 0;
    return tn_jit_replace(w->jit, NULL, &module, &err);
}

void redirect_to_own(struct claimed *w)
{
    struct tn_error err;
    void *own;
    check(tn_lookup(w->others, "first", &own, &err), &err);
    check(tn_redirect(w->library, "first", own, &err), &err);
}

void add_weak(struct claimed *w)
{
    struct tn_error err;
    struct tn_library *library = w->way < WAY_OBJECT ? w->bodies : w->library;
    struct tn_input object = read_object(w, 'B');
    object.flags = TN_INPUT_WEAK;
    check(tn_add_object(library, &object, &err), &err);
}

/* Lower bodies go meanwhile. */
static bool is_raised_by_now(const void *first)
{
    bool is = is_raised(first);
    tn_thread_quiescent();
    return is;
}

/* The one thread of tiers does this last. */
int raise_first(struct claimed *w)
{
    struct tn_error err;
    int code = tn_jit_request_tier(w->jit, "first", 1, &err);
    struct tn_library *library = create_library(w, "raised last");
    void *last;
    add(w->jit, library, "program 100", NULL);
    check(tn_lookup(library, "first", &last, &err), &err);
    request(w->jit, "first");
    wait_for(is_raised_by_now, last);
    return code;
}

static void post(void *context, const struct tn_error *err)
{
    (void)err;
    sem_post(context);
}

static void wait_and_destroy(sem_t *is_done)
{
    tn_thread_begin_blocking();
    while (sem_wait(is_done))
        ;
    tn_thread_end_blocking();
    sem_destroy(is_done);
}

/* They end in the order in which they began. */
void settle(struct claimed *w)
{
    struct tn_error err;
    struct tn_tracker *nothing = create_tracker(w->others);
    sem_t is_done;
    sem_init(&is_done, 0, 0);
    check(tn_tracker_retire_start(nothing, post, &is_done, &err), &err);
    wait_and_destroy(&is_done);
    tn_tracker_destroy(nothing);
}

void remove_library(struct claimed *w)
{
    struct tn_error err;
    sem_t is_done;
    let_go_of_image(w);
    sem_init(&is_done, 0, 0);
    check(tn_library_remove_start(w->library, post, &is_done, &err), &err);
    wait_and_destroy(&is_done);
}

/* ---- answers ---- */

const void *look_up_first(const struct claimed *w)
{
    void *address;
    return tn_lookup(w->library, "first", &address, NULL) == 0 ? address : NULL;
}

const void *outer_of(const struct claimed *w)
{
    const struct tn_stub_options options = stub_options(NULL);
    struct tn_error err;
    void *stub;
    if (w->image)
        return tn_image_lookup(w->image, "first");
    check(tn_define_redirectable(w->others, "outer", look_up_first(w), &options, &err), &err);
    check(tn_lookup(w->others, "outer", &stub, &err), &err);
    return stub;
}
