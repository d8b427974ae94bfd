/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product whose rules are loaded when they are needed, and replaced while it runs. Each rule is a relocatable object
 * with one function. Nothing is loaded before it is called: a materializer promises each rule by name, and reads its
 * file when the promise is due. The program calls `price`, a lazy function whose address never changes. A new version
 * of the rules replaces the old one behind that address; the old one is removed with all its code once no thread runs
 * it any more.
 *
 *     host FOLDER...      each folder is a version of the rules */

#include <stdio.h>
#include <stdlib.h>

#include <tenon.h>

static const char *const names[] = {"price", "discount", "shipping"};
enum { RULES = sizeof names / sizeof names[0] };

struct rule {
    const char *name;
    char path[256];
};

/* The functions of this program that rules may call. */
void host_say(const char *text)
{
    printf("  %s\n", text);
}

TN_EXPORT(host_say);

/* ---- rules are read when they are needed ---- */

static void release(void *unused, const void *bytes, size_t length)
{
    (void)unused, (void)length;
    free((void *)bytes);
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    enum { MOST = 1 << 20 };
    const struct rule *rule = context;
    struct tn_input object = {.size = sizeof object, .name = rule->path, .release = release};
    FILE *file = fopen(rule->path, "rb");
    char *bytes = file ? malloc(MOST) : NULL;
    object.bytes = bytes;
    object.length = bytes ? fread(bytes, 1, MOST, file) : 0;
    if (file)
        fclose(file);
    printf("  %s is read\n", rule->path);
    int code = tn_responsibility_add_object(responsibility, &object, err); /* fails if the file was missing or empty */
    if (code)
        free(bytes);
    return code;
}

static int promise(struct tn_library *rules, struct tn_tracker *version, struct rule *rule, struct tn_error *err)
{
    const struct tn_promised symbol = {rule->name,
                                       TN_SYMBOL_WEAK}; /* a newer version may come before the older one goes */
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = rule->path,
                                                 .context = rule,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make,
                                                 .owner = version};
    return tn_add_materializer(rules, &materializer, err);
}

static int add_version(struct tn_library *rules, const char *folder, struct rule *made, struct tn_tracker **version,
                       struct tn_error *err)
{
    int code = tn_tracker_create(rules, version, err);
    for (int i = 0; !code && i < RULES; i++) {
        made[i].name = names[i];
        snprintf(made[i].path, sizeof made[i].path, "%s/%s.o", folder, names[i]);
        code = promise(rules, *version, &made[i], err);
    }
    return code;
}

/* ---- the program ---- */

/* Called if a rule cannot be loaded; then `no_rule` is called in its place. */
static void tell_why(void *unused, const struct tn_error *error)
{
    (void)unused;
    fprintf(stderr, "host: %s\n", error->text);
}

static int no_rule(int amount)
{
    return amount; /* so the price stays as it was */
}

/* Two libraries: `rules` holds the rules, which come and go, and finds this program's symbols; `program` holds the
 * name that is called. */
static int open_libraries(struct tn_session *session, struct tn_library **program, struct tn_library **rules,
                          struct tn_error *err)
{
    const struct tn_lazy_symbol price = {.name = "price"};
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = (void (*)(void))no_rule};
    int code = tn_library_create(session, "program", program, err);
    if (!code)
        code = tn_library_create(session, "rules", rules, err);
    if (!code)
        code = tn_add_resolver(*rules, tn_resolve_exports, NULL, err);
    return code ? code : tn_define_lazy(*program, &price, 1, *rules, &options, err);
}

static int run(struct tn_session *session, int count, char **folders, struct tn_error *err)
{
    struct tn_library *program, *rules;
    struct tn_tracker *version;
    struct rule made[RULES];
    void *price;
    int code = open_libraries(session, &program, &rules, err);
    if (!code)
        code = tn_lookup(program, "price", &price, err); /* stays the same for every version; nothing is loaded yet */
    for (int i = 0; !code && i < count; i++) {
        printf("%s\n", folders[i]);
        code = add_version(rules, folders[i], made, &version, err);
        if (code)
            break;
        for (int call = 0; call < 2; call++) {
            int answer = ((int (*)(int))price)(100);
            printf("  price(100) = %d\n", answer);
        }
        code = tn_tracker_retire(version, err); /* the next call looks `price` up again */
        tn_tracker_destroy(version);
    }
    return code;
}

int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .on_error = tell_why};
    int code = tn_session_create(&options, &session, &err);
    if (!code) {
        code = run(session, argc - 1, argv + 1, &err);
        tn_session_destroy(session);
    }
    if (code)
        fprintf(stderr, "host: %s\n", err.text);
    return code != 0;
}
