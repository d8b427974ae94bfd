/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Caches of packages: what is found and what is not, files that are damaged, foreign or stale, folders that cannot be
 * used, limits, every request and every allocation refused in turn. */

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "image/format/format.h"
#include "packages.h"
#include "tenon_compiler.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct tn_image_load_options verified = {.size = sizeof verified, .flags = TN_IMAGE_VERIFY};
static struct tn_error err;

static int find(const struct packages *p, const struct tn_package_key *key)
{
    struct tn_image *image;
    int code = tn_package_find(p->cache, key, &verified, &image, &err);
    if (!code)
        tn_image_close(image);
    return code;
}

static void use(const struct packages *p, struct recipe *recipe)
{
    const char *wrong = packages_use(p, "package", recipe);
    if (wrong)
        fail_msg("%s", wrong);
}

static void change(const char *path, long at, int bits)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = getc(file);
    fseek(file, at, SEEK_SET);
    putc(byte ^ bits, file);
    fclose(file);
}

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
    char command[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_int_equal(system(command), 0);
}

/* ---- what is found ---- */

static void built_once(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 5};
    struct tn_package_key key = packages_key("package", &recipe.value);
    packages_create(&p);
    assert_int_equal(find(&p, &key), TN_EUNDEF);
    assert_non_null(strstr(err.text, "no image of the package 'package'"));
    use(&p, &recipe);
    assert_int_equal(find(&p, &key), 0);
    packages_reopen(&p);
    use(&p, &recipe);
    assert_int_equal(recipe.builds, 1);
    assert_int_equal(p.rejections, 0);
    assert_int_equal(packages_count(&p, "package/*-05000000000000000000000000000000.image"), 1);
    /* It stays open when the cache is closed. */
    struct tn_image *image;
    assert_int_equal(tn_package_find(p.cache, &key, NULL, &image, &err), 0);
    tn_package_cache_close(p.cache);
    p.cache = NULL;
    assert_int_equal(packages_value(image), 5);
    tn_image_close(image);
    packages_destroy(&p);
}

/* Each part of a key makes another one. */
static void keys(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 1};
    struct tn_image *image;
    struct tn_cpu cpu = {.size = sizeof cpu}, other;
    assert_int_equal(tn_cpu_host(&cpu, &err), 0);
    other = cpu;
    other.features.words[0] ^= 2;
    const struct {
        struct tn_package_key key;
        const char *identity;
        const struct tn_cpu *native;
        int is_known; /* it is the key of the row before */
    } rows[] = {
        {{.name = "a", .bytes = "xy", .length = 2}, "one", &cpu},
        {{.name = "a", .bytes = "xy", .length = 2}, "one", &other, true},
        {{.name = "b", .bytes = "xy", .length = 2}, "one", &cpu},
        {{.name = "a", .bytes = "xz", .length = 2}, "one", &cpu},
        {{.name = "a", .bytes = "x", .length = 1}, "one", &cpu},
        {{.name = "a"}, "one", &cpu},
        {{.name = "a", .bytes = "xy", .length = 2}, "two", &cpu},
        {{.name = "a", .flags = "", .bytes = "xy", .length = 2}, "one", &cpu},
        {{.name = "a", .flags = "x", .bytes = "y", .length = 1}, "one", &cpu},
        {{.name = "a", .targets = "x", .bytes = "y", .length = 1}, "one", &cpu},
        {{.name = "a", .targets = "generic", .bytes = "xy", .length = 2}, "one", &cpu},
        {{.name = "a", .targets = "generic", .bytes = "xy", .length = 2}, "one", &other, true},
        {{.name = "a", .targets = "native", .bytes = "xy", .length = 2}, "one", &cpu},
        {{.name = "a", .targets = "native", .bytes = "xy", .length = 2}, "one", &other},
        {{.name = "a", .targets = "generic;native,clone_all", .bytes = "xy", .length = 2}, "one", &cpu},
        {{.name = "a", .targets = "generic;native,clone_all", .bytes = "xy", .length = 2}, "one", &other},
    };
    packages_create(&p);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_package_key key = rows[i].key;
        key.size = sizeof key;
        p.options.identity = rows[i].identity;
        p.options.native = rows[i].native;
        packages_reopen(&p);
        if (find(&p, &key) != (rows[i].is_known ? 0 : TN_EUNDEF))
            fail_msg("row %zu", i);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(tn_package_build(p.cache, &key, packages_build, &recipe, NULL, &image, &err), 0);
            tn_image_close(image);
        }
    }
    assert_int_equal(recipe.builds, COUNT(rows) - 2);
    packages_destroy(&p);
}

static int identify(void *context, struct tn_buffer *text, struct tn_error *error)
{
    return tn__buffer_fill(text, context, strlen(context)) ? 0 : tn__no_memory(error, NULL);
}

static int no_open(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                   const struct tn_module_description **description, struct tn_error *error)
{
    (void)context, (void)ir, (void)options, (void)module, (void)description;
    return tn__fail(error, TN_EINVAL, "not to be called");
}

static int no_compile(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                      struct tn_error *error)
{
    (void)module, (void)request, (void)object;
    return tn__fail(error, TN_EINVAL, "not to be called");
}

static void no_close(void *module)
{
    (void)module;
}

/* A product without a compiler finds what was built with one whose identity it says. */
static void identities(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 5};
    char text[] = "a compiler";
    struct tn_compiler compiler = {.size = sizeof compiler,
                                   .context = text,
                                   .identify = identify,
                                   .open = no_open,
                                   .compile = no_compile,
                                   .close = no_close};
    packages_create(&p);
    use(&p, &recipe);
    p.options.identity = NULL;
    p.options.compiler = &compiler;
    packages_reopen(&p);
    use(&p, &recipe);
    assert_int_equal(recipe.builds, 1);
    text[0] = 'b';
    packages_reopen(&p);
    use(&p, &recipe);
    assert_int_equal(recipe.builds, 2);
    struct tn_package_cache *none;
    compiler.identify = NULL;
    assert_int_equal(tn_package_cache_open(&p.options, &none, &err), TN_ENOTSUP);
    p.options.compiler = NULL;
    assert_int_equal(tn_package_cache_open(&p.options, &none, &err), TN_EINVAL);
    assert_null(none);
    packages_destroy(&p);
}

static void wrong_keys_and_options(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 5};
    struct tn_package_key key = packages_key("package", &recipe.value);
    struct tn_image *image;
    static char longest[201], too_long[202];
    memset(longest, 'x', 200);
    memset(too_long, 'x', 201);
    const char *names[] = {NULL, "", ".", "..", ".x", "a/b", "/", too_long};
    packages_create(&p);
    for (size_t i = 0; i < COUNT(names); i++) {
        key.name = names[i];
        assert_int_equal(tn_package_build(p.cache, &key, packages_build, &recipe, NULL, &image, &err), TN_EINVAL);
        assert_int_equal(find(&p, &key), TN_EINVAL);
    }
    key.name = "a";
    key.bytes = NULL;
    assert_int_equal(find(&p, &key), TN_EINVAL);
    key.size = 3;
    assert_int_equal(find(&p, &key), TN_EINVAL);
    assert_int_equal(recipe.builds, 0);
    key = packages_key(longest, &recipe.value);
    assert_int_equal(tn_package_build(p.cache, &key, packages_build, &recipe, NULL, &image, &err), 0);
    tn_image_close(image);
    assert_int_equal(find(&p, &key), 0);
    /* The load options are wrong, not the file. */
    const struct tn_image_load_options wrong = {.size = sizeof wrong, .flags = UINT64_C(1) << 40};
    assert_int_equal(tn_package_find(p.cache, &key, &wrong, &image, &err), TN_EINVAL);
    assert_int_equal(tn_package_build(p.cache, &key, packages_build, &recipe, &wrong, &image, &err), TN_EINVAL);
    assert_int_equal(recipe.builds, 1);
    assert_int_equal(p.rejections, 0);
    struct tn_package_cache *none;
    struct tn_package_cache_options options = p.options;
    options.folder_count = 0;
    assert_int_equal(tn_package_cache_open(&options, &none, &err), TN_EINVAL);
    options.folder_count = 2;
    assert_int_equal(tn_package_cache_open(&options, &none, &err), TN_EINVAL); /* the second is NULL */
    packages_destroy(&p);
}

/* ---- builders ---- */

static int fails(void *context, struct tn_buffer *file, struct tn_error *error)
{
    (void)context, (void)file;
    return tn__fail(error, TN_ECOMPILE, "a mistake");
}

static int builds_nothing(void *context, struct tn_buffer *file, struct tn_error *error)
{
    (void)context, (void)file, (void)error;
    return 0;
}

static int builds_text(void *context, struct tn_buffer *file, struct tn_error *error)
{
    (void)context, (void)error;
    return tn__buffer_fill(file, "no image", 8) ? 0 : TN_ENOMEM;
}

/* As other linkers do: without a checksum of the whole. */
static int builds_without_sum(void *context, struct tn_buffer *file, struct tn_error *error)
{
    int code = packages_build(context, file, error);
    if (!code)
        memset((char *)file->data + 0x36c + TN__IMAGE_NOTE_SUM, 0, 8);
    return code;
}

static void failing_builders(void **state)
{
    (void)state;
    static const struct {
        tn_package_builder *build;
        int code;
        const char *text;
    } rows[] = {{fails, TN_ECOMPILE, "a mistake"},
                {builds_nothing, TN_EFORMAT, "package: nothing was built"},
                {builds_text, TN_EFORMAT, "package: no file with an image"},
                {builds_without_sum, TN_ENOTSUP, "package: it has no checksum"}};
    struct packages p;
    struct recipe recipe = {.value = 5};
    struct tn_package_key key = packages_key("package", &recipe.value);
    struct tn_image *image = (struct tn_image *)&p;
    packages_create(&p);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(tn_package_build(p.cache, &key, rows[i].build, &recipe, NULL, &image, &err), rows[i].code);
        assert_null(image);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].text);
        assert_int_equal(packages_count(&p, "package/*"), 0);
    }
    use(&p, &recipe);
    packages_destroy(&p);
}

static struct packages *nested;

static int builds_another(void *context, struct tn_error *error)
{
    (void)error;
    return packages_use(nested, "package", context) != NULL;
}

static void nested_builders(void **state)
{
    (void)state;
    struct packages p;
    struct recipe inner = {.value = 1}, outer = {.value = 2, .meanwhile = builds_another, .context = &inner};
    packages_create(&p);
    nested = &p;
    use(&p, &outer);
    assert_int_equal(inner.builds, 1);
    use(&p, &inner);
    use(&p, &outer);
    assert_int_equal(inner.builds + outer.builds, 2);
    packages_destroy(&p);
}

/* ---- damaged, foreign and stale files ---- */

/* Each byte of header and tables, some of the rest, and each length: what is opened is right. */
static void damage(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 5};
    struct tn_package_key key = packages_key("package", &recipe.value);
    char path[300];
    packages_create(&p);
    use(&p, &recipe);
    packages_only_file(&p, "package", path);
    size_t seen = 0, places = 0;
    for (long at = 0; at < SAMPLE_SIZE; at += at < SAMPLE_PLACES ? 1 : 61) {
        struct tn_image *image = NULL;
        p.rejections = 0;
        change(path, at, 1 << at % 8);
        int code = tn_package_find(p.cache, &key, &verified, &image, &err);
        if (!code && packages_value(image) != 5)
            fail_msg("damage at %ld was not seen", at);
        if (!code && at >= 64) /* of the ELF header, not everything is used */
            fail_msg("damage at %ld was not seen", at);
        assert_int_equal(p.rejections, code != 0);
        tn_image_close(image);
        change(path, at, 1 << at % 8);
        seen += code != 0;
        places++;
    }
    assert_true(seen + 64 > places);
    assert_int_equal(find(&p, &key), 0);
    for (long size = 0; size < SAMPLE_SIZE; size += 331) {
        assert_int_equal(truncate(path, size), 0);
        p.rejections = 0;
        recipe.builds = 0;
        assert_int_equal(find(&p, &key), TN_EUNDEF);
        assert_int_equal(p.rejections, 1);
        assert_string_equal(p.rejected, path);
        assert_int_equal(p.why.code, TN_EFORMAT);
        use(&p, &recipe); /* which is reported once, too, and puts a sound file in its place */
        assert_int_equal(p.rejections, 2);
        assert_int_equal(recipe.builds, 1);
        use(&p, &recipe);
        assert_int_equal(recipe.builds, 1);
        packages_only_file(&p, "package", path);
    }
    packages_destroy(&p);
}

/* A file with the name of another one; names that no image has are none of the cache's business. */
static void foreign(void **state)
{
    (void)state;
    struct packages p;
    struct recipe one = {.value = 1}, two = {.value = 2}, three = {.value = 3};
    char path[300], other[300];
    packages_create(&p);
    use(&p, &one);
    packages_only_file(&p, "package", path);
    assert_null(packages_use(&p, "other", &two));
    packages_only_file(&p, "other", other);
    shell("cp %s %s", other, path);
    use(&p, &one);
    assert_int_equal(one.builds, 2);
    assert_int_equal(p.rejections, 1);
    assert_int_equal(p.why.code, TN_EFORMAT);
    assert_non_null(strstr(p.why.text, "it has another build id than its name says"));
    /* An image for another machine. */
    p.rejections = 0;
    change(path, 18, 1);
    use(&p, &one);
    assert_int_equal(one.builds, 3);
    assert_int_equal(p.rejections, 1);
    /* A link, and what nobody can read. */
    p.rejections = 0;
    shell("mv %s %s.away && ln -s %s.away %s", path, path, path, path);
    use(&p, &one);
    assert_int_equal(one.builds, 4);
    shell("rm %s && mkfifo %s && touch %s/package/.x %s/package/x.image", path, path, p.path, p.path);
    use(&p, &one);
    assert_int_equal(one.builds, 5);
    use(&p, &one);
    assert_int_equal(one.builds, 5);
    assert_int_equal(p.rejections, 0); /* neither is a file */
    /* A folder in place of the file: the image cannot be kept. */
    shell("rm %s && mkdir %s && touch %s/x", path, path, path);
    use(&p, &one);
    assert_int_equal(one.builds, 6);
    assert_int_equal(p.rejections, 1);
    assert_string_equal(p.rejected, p.path);
    /* A package's folder that others may write. */
    p.rejections = 0;
    shell("chmod 770 %s/other", p.path);
    assert_null(packages_use(&p, "other", &three));
    assert_int_equal(p.rejections, 3); /* twice when it is searched, and when it would be written */
    assert_int_equal(p.why.code, TN_EPERM);
    packages_destroy(&p);
}

/* One image for each build of what it depends on; the one that fits is taken. */
static void stale(void **state)
{
    (void)state;
    struct packages p;
    struct recipe old = {.value = 1}, new = {.value = 2};
    struct recipe wants_old = {.value = 7, .base = 1, .wants_more = true}, fits = {.value = 7, .base = 2};
    struct tn_package_key old_key = packages_key("base", &old.value), new_key = packages_key("base", &new.value),
                          key = packages_key("user", &fits.value);
    struct tn_image *base, *image;
    struct tn_image_load_options options = {.size = sizeof options, .images = &base, .image_count = 1};
    packages_create(&p);
    assert_int_equal(tn_package_build(p.cache, &old_key, packages_build, &old, NULL, &base, &err), 0);
    assert_int_equal(tn_package_build(p.cache, &key, packages_build, &wants_old, &options, &image, &err), 0);
    tn_image_close(image);
    tn_image_close(base);
    assert_int_equal(tn_package_build(p.cache, &new_key, packages_build, &new, NULL, &base, &err), 0);
    assert_int_equal(tn_package_find(p.cache, &key, &options, &image, &err), TN_EUNDEF);
    assert_int_equal(p.rejections, 1);
    assert_int_equal(p.why.code, TN_ESTALE);
    assert_non_null(strstr(p.why.text, p.rejected));
    assert_non_null(strstr(p.why.text, "it uses 'two' of the image 'sample': wanted the function; found nothing"));
    p.rejections = 0;
    assert_int_equal(tn_package_build(p.cache, &key, packages_build, &fits, &options, &image, &err), 0);
    assert_int_equal(p.rejections, 1);
    tn_image_close(image);
    assert_int_equal(packages_count(&p, "user/*"), 2);
    assert_int_equal(tn_package_find(p.cache, &key, &options, &image, &err), 0);
    assert_int_equal(tn_image_build_id(image)[4], 2);
    tn_image_close(image);
    tn_image_close(base);
    /* The old one is still there for who has the old base. */
    assert_int_equal(tn_package_find(p.cache, &old_key, NULL, &base, &err), 0);
    assert_int_equal(tn_package_find(p.cache, &key, &options, &image, &err), 0);
    tn_image_close(image);
    tn_image_close(base);
    assert_int_equal(fits.builds + wants_old.builds, 2);
    packages_destroy(&p);
}

/* ---- folders ---- */

static void several_folders(void **state)
{
    (void)state;
    struct packages shipped, p;
    struct recipe one = {.value = 1}, two = {.value = 2};
    char unsafe[80], missing[100];
    packages_create(&shipped);
    use(&shipped, &one);
    packages_create(&p);
    snprintf(unsafe, sizeof unsafe, "%s/unsafe", shipped.path);
    assert_int_equal(mkdir(unsafe, 0700) || chmod(unsafe, 0777), 0);
    p.folders[0] = unsafe;
    p.folders[1] = shipped.path;
    p.folders[2] = p.path;
    p.options.folder_count = 3;
    packages_reopen(&p);
    assert_int_equal(p.rejections, 1);
    assert_string_equal(p.rejected, unsafe);
    assert_int_equal(p.why.code, TN_EPERM);
    use(&p, &one);
    assert_int_equal(one.builds, 1);
    use(&p, &two);
    assert_int_equal(packages_count(&shipped, "package/*"), 2); /* the first that may be written */
    assert_int_equal(packages_count(&p, "*"), 0);
    if (geteuid() == 0) { /* another's folder is not written, and not used either */
        assert_int_equal(chown(shipped.path, 12345, 12345), 0);
        packages_reopen(&p);
        use(&p, &one);
        assert_int_equal(one.builds, 2);
        assert_int_equal(packages_count(&p, "package/*"), 1);
        assert_int_equal(chown(shipped.path, 0, 0), 0);
    }
    /* One that is not there is made, if that is possible. */
    shell("rm -r %s", unsafe);
    snprintf(missing, sizeof missing, "%s/missing/folder", p.path);
    p.folders[0] = missing;
    p.folders[1] = unsafe;
    p.options.folder_count = 2;
    p.rejections = 0;
    packages_reopen(&p);
    assert_int_equal(p.rejections, 1);
    assert_string_equal(p.rejected, missing);
    assert_int_equal(p.why.code, TN_EIO);
    use(&p, &two);
    assert_int_equal(packages_count(&shipped, "unsafe/package/*"), 1);
    p.options.folder_count = 1;
    packages_reopen(&p);
    use(&p, &two); /* without any folder */
    assert_int_equal(two.builds, 3);
    assert_int_equal(tn_package_trim(p.cache, 0, &err), TN_EPERM);
    packages_destroy(&p);
    packages_destroy(&shipped);
}

/* As another user, who owns the folder and may not write it. */
static int use_read_only(struct packages *p)
{
    struct recipe one = {.value = 1}, two = {.value = 2};
    if (geteuid() == 0 && (setegid(12345) || seteuid(12345)))
        return 1;
    packages_reopen(p);
    if (packages_use(p, "package", &one) || one.builds)
        return 2;
    for (int i = 1; i < 3; i++)
        if (packages_use(p, "package", &two) || two.builds != i)
            return 3;
    return p->rejections ? 4 : packages_count(p, "package/*") != 1;
}

/* The limit is below the size of the file. */
static int use_full(struct packages *p)
{
    struct recipe two = {.value = 2};
    const struct rlimit limit = {SAMPLE_SIZE / 2, SAMPLE_SIZE / 2};
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 1;
    for (int i = 1; i < 3; i++)
        if (packages_use(p, "package", &two) || two.builds != i || p->rejections != i)
            return 3;
    return strcmp(p->rejected, p->path) || p->why.code != TN_EIO || packages_count(p, "package/*") != 1 ||
           packages_count(p, "package/.new*");
}

static int in_child(int (*body)(struct packages *p), struct packages *p)
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(body(p));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void full_and_read_only_folders(void **state)
{
    (void)state;
    struct packages p;
    struct recipe one = {.value = 1};
    packages_create(&p);
    use(&p, &one);
    assert_int_equal(in_child(use_full, &p), 0);
    if (geteuid() == 0)
        shell("chown -R 12345:12345 %s", p.path);
    shell("chmod 500 %s", p.path);
    assert_int_equal(in_child(use_read_only, &p), 0);
    assert_int_equal(chmod(p.path, 0700), 0);
    packages_destroy(&p);
}

/* ---- removing ---- */

static void oldest_are_removed(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipes[5] = {{0}};
    struct tn_package_key key = packages_key("package", &recipes[0].value);
    struct tn_image *image;
    packages_create(&p);
    p.options.limit = 4 * SAMPLE_SIZE + 100;
    packages_reopen(&p);
    for (uint32_t i = 0; i < 4; i++) {
        recipes[i] = (struct recipe){.value = i + 1};
        use(&p, &recipes[i]);
    }
    assert_int_equal(packages_count(&p, "package/*"), 4);
    shell("touch -d '5 hours ago' %s/package/*", p.path);
    use(&p, &recipes[2]); /* was used a moment ago, so it stays longer */
    recipes[4] = (struct recipe){.value = 5};
    assert_null(packages_use(&p, "other", &recipes[4]));
    assert_int_equal(packages_count(&p, "*/*"), 3); /* 90 % of the limit */
    use(&p, &recipes[2]);
    assert_null(packages_use(&p, "other", &recipes[4]));
    assert_int_equal(recipes[2].builds + recipes[4].builds, 2);
    assert_int_equal(tn_package_trim(p.cache, 2 * SAMPLE_SIZE, &err), 0);
    assert_int_equal(packages_count(&p, "*/*"), 2);
    use(&p, &recipes[2]);
    assert_int_equal(recipes[2].builds, 1);
    /* What is open stays valid. */
    key.bytes = &recipes[2].value;
    assert_int_equal(tn_package_find(p.cache, &key, NULL, &image, &err), 0);
    assert_int_equal(tn_package_trim(p.cache, 0, &err), 0);
    assert_int_equal(packages_count(&p, "*/*"), 0);
    assert_int_equal(packages_value(image), 3);
    tn_image_close(image);
    use(&p, &recipes[2]);
    assert_int_equal(recipes[2].builds, 2);
    assert_int_equal(p.rejections, 0);
    packages_destroy(&p);
}

/* It is opened, but not kept. */
static void larger_than_the_limit(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 5};
    packages_create(&p);
    p.options.limit = SAMPLE_SIZE;
    packages_reopen(&p);
    use(&p, &recipe);
    assert_int_equal(p.rejections, 1);
    assert_int_equal(packages_count(&p, "package/*"), 0);
    packages_destroy(&p);
}

/* The lock of a key says whether its builder is still at work. */
static int trims(void *context, struct tn_error *error)
{
    const struct packages *p = context;
    int made = packages_count(p, "package/.new*");
    return tn_package_trim(p->cache, UINT64_MAX, error) || packages_count(p, "package/.new*") != made;
}

static void abandoned_files(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 5, .meanwhile = trims, .context = &p};
    char path[300], key[80];
    packages_create(&p);
    use(&p, &recipe);
    packages_only_file(&p, "package", path);
    snprintf(key, sizeof key, "%.64s", strrchr(path, '/') + 1);
    for (int own = 0; own < 2; own++) {
        shell("cd %s/package && rm *.image && echo x >.new.%s.0123456789abcdef", p.path,
              own ? key : "0123456789012345678901234567890123456789012345678901234567890123");
        recipe.meanwhile = own ? trims : NULL; /* one of this key is removed before the key is built */
        use(&p, &recipe);
        assert_int_equal(packages_count(&p, "package/.new*"), !own);
        assert_int_equal(tn_package_trim(p.cache, UINT64_MAX, &err), 0);
        assert_int_equal(packages_count(&p, "package/.new*"), 0);
    }
    packages_destroy(&p);
}

/* ---- faults ---- */

/* Locks too: then the process goes on without one. What cannot be kept is opened all the same. */
static void requests_refused(void **state)
{
    (void)state;
    static const char words[] = "FPNI";
    size_t unkept = 0;
    for (int at = 0; at < 4 * 40; at++) {
        struct packages p;
        struct recipe recipe = {.value = 5};
        char plan[200] = "";
        packages_create(&p);
        tn_package_cache_close(p.cache);
        for (int i = 0; i < at / 4; i++)
            strcat(plan, ". ");
        snprintf(plan + strlen(plan), 2, "%c", words[at % 4]);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_package_cache_open(&p.options, &p.cache, &err);
        const char *wrong = code ? NULL : packages_use(&p, "package", &recipe);
        tn__os_set_faults(NULL);
        assert_true(!code || code == TN_ENOMEM);
        if (wrong && (strstr(wrong, "another image") || (words[at % 4] != 'F' && strstr(wrong, p.path))))
            fail_msg("%s: %s", plan, wrong);
        unkept += packages_count(&p, "package/*.image") == 0;
        packages_reopen(&p);
        use(&p, &recipe);
        use(&p, &recipe);
        assert_true(recipe.builds <= 2);
        assert_int_equal(tn_package_trim(p.cache, UINT64_MAX, &err), 0);
        assert_int_equal(packages_count(&p, "package/.new*"), 0);
        packages_destroy(&p);
    }
    assert_in_range(unkept, 4, 4 * 20);
}

/* A file system without locks: every lock is refused, and nothing else. */
static void without_locks(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 5};
    packages_create(&p);
    shell("mkdir %s/.lock", p.path); /* no file that can be locked */
    for (int i = 0; i < 3; i++)
        use(&p, &recipe);
    assert_int_equal(recipe.builds, 1);
    assert_int_equal(p.rejections, 0);
    assert_int_equal(tn_package_trim(p.cache, 0, &err), 0);
    assert_int_equal(packages_count(&p, "package/*"), 0);
    packages_destroy(&p);
}

static void out_of_memory(void **state)
{
    (void)state;
    size_t failures = 0;
    for (int at = 1; at < 60; at++) {
        struct packages p;
        struct recipe recipe = {.value = 5};
        char plan[20];
        packages_create(&p);
        tn_package_cache_close(p.cache);
        snprintf(plan, sizeof plan, "a%d", at);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_package_cache_open(&p.options, &p.cache, &err);
        for (int i = 0; i < 2 && !code; i++) {
            const char *wrong = packages_use(&p, "package", &recipe);
            if (wrong && !strstr(wrong, "out of memory"))
                fail_msg("%d: %s", at, wrong);
            failures += wrong != NULL;
        }
        failures += code != 0;
        tn__os_set_faults(NULL);
        assert_true(!code || code == TN_ENOMEM);
        packages_reopen(&p);
        use(&p, &recipe);
        assert_int_equal(p.rejections, 0);
        packages_destroy(&p);
    }
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_once),
        cmocka_unit_test(keys),
        cmocka_unit_test(identities),
        cmocka_unit_test(wrong_keys_and_options),
        cmocka_unit_test(failing_builders),
        cmocka_unit_test(nested_builders),
        cmocka_unit_test(damage),
        cmocka_unit_test(foreign),
        cmocka_unit_test(stale),
        cmocka_unit_test(several_folders),
        cmocka_unit_test(full_and_read_only_folders),
        cmocka_unit_test(oldest_are_removed),
        cmocka_unit_test(larger_than_the_limit),
        cmocka_unit_test(abandoned_files),
        cmocka_unit_test(requests_refused),
        cmocka_unit_test(without_locks),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
