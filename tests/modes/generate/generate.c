/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Generates programs for the mode matrix.
 *
 *     generate SEED [FEATURE]
 *
 * prints a case (tests/modes/prepare) of two to five files. It is made of features, rows of a table, each of which
 * spreads a few definitions and their users over the files, and adds to main what shows how they were linked. With the
 * name of a FEATURE, the program has that one only. Equal seeds give equal programs. */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 5, MOST_FEATURES = 8, ROOM = 1 << 16 };

struct text {
    char bytes[ROOM];
    size_t length;
};

struct file {
    char name[16]; /* without its ending */
    int is_cxx;
    int is_member; /* of lib.a */
    struct text text;
};

static struct {
    struct file files[MOST_FILES]; /* the first has main */
    int count;
    struct text header, cxx_header, body; /* of all.h: what all files see, and those in C++; of main */
    int has_threads, has_ifunc, has_cxx, has_hidden, ends_itself;
    int has_initializers, has_late_initializers; /* any; in members of an archive */
    int has_late_definitions;                    /* members have some that come before weak or common ones elsewhere */
    uint64_t random;
} program;

/* ---- chance ---- */

static unsigned below(unsigned limit)
{
    program.random = program.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(program.random >> 33) % limit;
}

static int chance(unsigned percent)
{
    return below(100) < percent;
}

static struct file *any_file(void)
{
    return &program.files[below((unsigned)program.count)];
}

/* A file of the language, or NULL. */
static struct file *file_of(int is_cxx)
{
    unsigned start = below((unsigned)program.count);
    for (int i = 0; i < program.count; i++) {
        struct file *file = &program.files[(start + (unsigned)i) % (unsigned)program.count];
        if (file->is_cxx == is_cxx)
            return file;
    }
    return NULL;
}

static struct file *other_than(const struct file *file)
{
    struct file *other = any_file();
    return other != file ? other : &program.files[((other - program.files) + 1) % program.count];
}

/* ---- text ---- */

__attribute__((format(printf, 2, 0))) static void add(struct text *text, const char *format, va_list arguments)
{
    int length = vsnprintf(text->bytes + text->length, ROOM - text->length, format, arguments);
    text->length += (size_t)length;
    if (text->length >= ROOM)
        abort();
}

__attribute__((format(printf, 2, 3))) static void put(struct file *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(&file->text, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) static void declare(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(&program.header, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) static void declare_cxx(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(&program.cxx_header, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) static void in_main(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(&program.body, format, arguments);
    va_end(arguments);
}

/* Main prints what a function without arguments returns. */
static void show(const char *kind, int n)
{
    in_main("    show(\"%s\", %s_%d());\n", kind, kind, n);
}

/* ---- features; n makes names unique ---- */

static void call(int n)
{
    struct file *definer = any_file(), *user = other_than(definer);
    declare("int call_%d(void), called_%d(int);\n", n, n);
    put(definer, "static int times_%d = %u;\nint called_%d(int n) { return n * 10 + times_%d++; }\n", n, below(5), n,
        n);
    put(user, "int call_%d(void)\n{\n    int first = called_%d(%u);\n", n, n, below(9));
    put(user, "    return first + called_%d(1);\n}\n", n);
    show("call", n);
    show("call", n);
}

/* The first is weak. Of two weak ones in members, that of the first member counts in one link of everything, on demand
 * that of the member that is needed first. */
static void note_definitions(const struct file *first, const struct file *second, int is_weak)
{
    program.has_late_definitions |= second->is_member && (!is_weak || first->is_member);
}

static void weak_function(int n)
{
    struct file *first = any_file(), *second = other_than(first);
    declare("int weak_%d(void), chosen_%d(void);\n", n, n);
    put(first, "__attribute__((weak)) int chosen_%d(void) { return 1; }\n", n);
    put(second, "int weak_%d(void) { return 10 * chosen_%d() + 3; }\n", n, n);
    if (chance(60)) {
        struct file *strong = other_than(first);
        int is_weak = chance(30);
        note_definitions(first, strong, is_weak);
        put(strong, "%sint chosen_%d(void) { return 2; }\n", is_weak ? "__attribute__((weak)) " : "", n);
    }
    show("weak", n);
}

static void weak_variable(int n)
{
    struct file *first = any_file(), *second = other_than(first);
    declare("extern int weak_value_%d;\nint weak_data_%d(void);\n", n, n);
    put(first, "__attribute__((weak)) int weak_value_%d = 1;\n", n);
    int is_weak = !chance(50);
    note_definitions(first, second, is_weak);
    put(second, "%sint weak_value_%d = 20;\n", is_weak ? "__attribute__((weak)) " : "", n);
    put(any_file(), "int weak_data_%d(void) { return weak_value_%d++; }\n", n, n);
    show("weak_data", n);
    in_main("    show(\"weak_value\", weak_value_%d);\n", n);
}

static void undefined(int n)
{
    struct file *user = any_file();
    declare("int undefined_%d(void);\n", n);
    put(user, "C_FUNCTION int missing_%d(int) __attribute__((weak));\n", n);
    put(user, "int undefined_%d(void) { return missing_%d ? missing_%d(4) : -1; }\n", n, n, n);
    struct file *definer = any_file();
    if (chance(50) && !definer->is_member)
        put(definer, "C_FUNCTION int missing_%d(int n) { return n + 3; }\n", n);
    show("undefined", n);
}

static void common(int n)
{
    struct file *first = file_of(0), *second = file_of(0);
    if (!first)
        return;
    declare("int common_%d(void);\n", n);
    put(first, "int counter_%d;\nint common_%d(void) { return counter_%d += 2; }\n", n, n, n);
    if (second != first) {
        int is_strong = chance(50);
        program.has_late_definitions |= second->is_member && is_strong;
        put(second, "int counter_%d%s;\n", n, is_strong ? " = 30" : "");
    }
    show("common", n);
    show("common", n);
}

static void statics(int n)
{
    declare("int static_%d(void), other_static_%d(void);\n", n, n);
    struct file *first = any_file(), *second = other_than(first);
    put(first, "static int own_%d = 3;\n__attribute__((noinline)) static int step_%d(void) { return own_%d++; }\n", n,
        n, n);
    put(first, "int static_%d(void) { return step_%d() + 100; }\n", n, n);
    put(second, "static int own_%d = 7;\n__attribute__((noinline)) static int step_%d(void) { return own_%d += 2; }\n",
        n, n, n);
    put(second, "int other_static_%d(void) { return step_%d() + 200; }\n", n, n);
    show("static", n);
    show("other_static", n);
}

static void note_initializers(const struct file *file)
{
    program.has_initializers = 1;
    program.has_late_initializers |= file->is_member;
}

static void constructor(int n)
{
    for (unsigned count = 1 + below(3); count > 0; count--) {
        struct file *file = any_file();
        char priority[16] = "";
        note_initializers(file);
        if (file->is_cxx || chance(60)) /* else compilers differ in what comes first, it or C++'s own */
            snprintf(priority, sizeof priority, "(%u)", 101 + below(4) * 50);
        put(file, "__attribute__((constructor%s)) static void up_%d_%u(void) { note(\"up\", %d%u); }\n", priority, n,
            count, n, count);
        if (chance(60))
            put(file, "__attribute__((destructor%s)) static void down_%d_%u(void) { note(\"down\", %d%u); }\n",
                priority, n, count, n, count);
    }
}

static void exit_handlers(int n)
{
    struct file *file = any_file();
    declare("int handler_%d(void);\n", n);
    put(file, "static void inner_%d(void) { note(\"inner\", %d); }\n", n, n);
    put(file, "static void outer_%d(void) { note(\"outer\", %d), atexit(inner_%d); }\n", n, n, n);
    put(file, "int handler_%d(void) { return atexit(outer_%d); }\n", n, n);
    if (!file->is_cxx && chance(40)) {
        note_initializers(file);
        put(file, "__attribute__((constructor)) static void early_%d(void) { atexit(outer_%d); }\n", n, n);
    }
    show("handler", n);
}

static void thread_local_variable(int n)
{
    struct file *definer = any_file();
    program.has_threads = 1;
    declare("extern __thread int local_%d;\nint thread_%d(void);\n", n, n);
    put(definer, "__thread int local_%d%s;\n", n, chance(70) ? " = 5" : "");
    put(other_than(definer),
        "static __thread int more_%d = 2;\nint thread_%d(void) { return local_%d += more_%d++; }\n", n, n, n, n);
    show("thread", n);
    in_main("    show(\"in a thread\", in_thread(thread_%d));\n", n);
    show("thread", n);
}

static void alias(int n)
{
    struct file *definer = any_file();
    declare("int alias_%d(void);\nint second_%d(int), first_%d(int);\n", n, n, n);
    put(definer, "int first_%d(int n) { return n + %u; }\n", n, below(9));
    put(definer, "int second_%d(int) __attribute__((%salias(\"first_%d\")));\n", n, chance(50) ? "weak, " : "", n);
    put(any_file(), "int alias_%d(void) { return second_%d(1) * 100 + first_%d(2); }\n", n, n, n);
    show("alias", n);
}

static void hidden(int n)
{
    struct file *definer = any_file();
    const char *kind = chance(60) ? "hidden" : "protected";
    program.has_hidden |= *kind == 'h';
    declare("int hidden_%d(void);\nextern __attribute__((visibility(\"%s\"))) int secret_%d;\n", n, kind, n);
    declare("__attribute__((visibility(\"%s\"))) int inside_%d(void);\n", kind, n);
    put(definer, "int secret_%d = 4;\nint inside_%d(void) { return secret_%d++; }\n", n, n, n);
    put(any_file(), "int hidden_%d(void) { return inside_%d(), secret_%d + 10; }\n", n, n, n);
    show("hidden", n);
}

static void indirect(int n)
{
    struct file *definer = file_of(0);
    if (!definer)
        return;
    program.has_ifunc = 1;
    declare("int indirect_%d(void), resolved_%d(int);\n", n, n);
    put(definer, "static int one_%d(int n) { return n + 1; }\nstatic int two_%d(int n) { return n + 2; }\n", n, n);
    put(definer, "static int picks_%d = %u;\n", n, below(2));
    put(definer, "static int (*pick_%d(void))(int) { return picks_%d ? one_%d : two_%d; }\n", n, n, n, n);
    put(definer, "int resolved_%d(int) __attribute__((ifunc(\"pick_%d\")));\n", n, n);
    put(any_file(), "static int (*volatile to_%d)(int) = resolved_%d;\n", n, n);
    put(any_file(), "int indirect_%d(void) { return resolved_%d(10); }\n", n, n);
    show("indirect", n);
}

static void pointers(int n)
{
    struct file *definer = any_file(), *first = any_file(), *second = any_file();
    declare("int pointed_%d(int);\nint (*first_pointer_%d(void))(int);\nint (*second_pointer_%d(void))(int);\n", n, n,
            n);
    declare("extern const int constant_%d;\n", n);
    put(definer, "const int constant_%d = %u;\nint pointed_%d(int n) { return n * constant_%d; }\n", n, 2 + below(5), n,
        n);
    put(first, "static int (*volatile a_%d)(int) = pointed_%d;\n", n, n);
    put(first, "int (*first_pointer_%d(void))(int) { return a_%d; }\n", n, n);
    put(second, "static const int *const volatile at_%d = &constant_%d;\n", n, n);
    put(second, "int (*second_pointer_%d(void))(int) { return *at_%d ? pointed_%d : 0; }\n", n, n, n);
    in_main("    show(\"equal\", first_pointer_%d() == second_pointer_%d());\n", n, n);
    in_main("    show(\"pointed\", first_pointer_%d()(3));\n", n);
}

/* ---- features of C++ ---- */

static void inline_function(int n)
{
    struct file *first = file_of(1), *second = file_of(1);
    if (!first)
        return;
    declare_cxx("inline int once_%d()\n{\n    static int state = %u;\n    return state++;\n}\n", n, below(9));
    declare_cxx("template <class T> struct shared_%d {\n    static T value;\n};\n", n);
    declare_cxx("template <class T> T shared_%d<T>::value = T(3);\n", n);
    declare("int inline_%d(void), other_inline_%d(void);\n", n, n);
    put(first, "int inline_%d(void) { return once_%d() + shared_%d<int>::value++; }\n", n, n, n);
    put(second, "int other_inline_%d(void) { return once_%d() * 10 + shared_%d<int>::value; }\n", n, n, n);
    show("inline", n);
    show("other_inline", n);
    show("inline", n);
}

static void objects(int n)
{
    struct file *file = file_of(1);
    if (!file)
        return;
    note_initializers(file);
    const char *kind = chance(50) ? "" : chance(50) ? "static " : "__attribute__((init_priority(200))) ";
    declare("int object_%d(void);\n", n);
    put(file, "struct thing_%d {\n    int n;\n    thing_%d(int i) : n(i) { note(\"made\", n); }\n", n, n);
    put(file, "    ~thing_%d() { note(\"gone\", n); }\n};\n%sthing_%d global_%d(%d);\n", n, kind, n, n, n);
    put(file, "int object_%d(void)\n{\n    static thing_%d inner(%d);\n    return inner.n++ + global_%d.n;\n}\n", n, n,
        n + 100, n);
    show("object", n);
}

static void inline_variable(int n)
{
    struct file *file = file_of(1);
    if (!file)
        return;
    note_initializers(file);
    declare("int variable_%d(void);\n", n);
    declare_cxx("inline int dynamic_%d = (note(\"dynamic\", %d), 5);\n", n, n);
    put(file, "int variable_%d(void) { return dynamic_%d++; }\n", n, n);
    show("variable", n);
}

static void exceptions(int n)
{
    struct file *thrower = file_of(1), *catcher = file_of(1);
    if (!thrower)
        return;
    declare_cxx("struct base_%d {\n    virtual ~base_%d() {}\n    virtual int code() const { return 1; }\n"
                "};\n",
                n, n);
    declare_cxx("struct error_%d : base_%d {\n    int code() const override;\n};\n", n, n);
    declare("int exception_%d(void), between_%d(int), throwing_%d(int);\n", n, n, n);
    put(thrower, "int error_%d::code() const { return 7; }\n", n);
    put(thrower, "int throwing_%d(int n)\n{\n    if (n > 1)\n        throw error_%d();\n    if (n)\n        throw n;\n",
        n, n);
    put(thrower, "    return 3;\n}\n");
    put(any_file(), "int between_%d(int n) { return throwing_%d(n) + 1; }\n", n, n);
    put(catcher,
        "static int try_%d(int n)\n{\n    try {\n        return between_%d(n);\n    } catch (const base_%d &b) {\n"
        "        return 10 + b.code() + (dynamic_cast<const error_%d *>(&b) ? 100 : 0);\n"
        "    } catch (int i) {\n        return 20 + i;\n    }\n}\n",
        n, n, n, n);
    put(catcher, "int exception_%d(void) { return try_%d(0) + 1000 * try_%d(1) + 100000 * try_%d(2); }\n", n, n, n, n);
    show("exception", n);
}

static void thread_objects(int n)
{
    struct file *file = file_of(1), *user = file_of(1);
    if (!file)
        return;
    program.has_threads = 1;
    declare_cxx("struct local_thing_%d {\n    int n;\n    local_thing_%d();\n    ~local_thing_%d();\n};\n", n, n, n);
    declare_cxx("extern thread_local local_thing_%d thing_of_thread_%d;\n", n, n);
    declare("int thread_object_%d(void);\n", n);
    put(file, "local_thing_%d::local_thing_%d() : n(%d) { note(\"thread's\", n); }\n", n, n, n);
    put(file, "local_thing_%d::~local_thing_%d() { note(\"thread's end\", n); }\n", n, n);
    put(file, "thread_local local_thing_%d thing_of_thread_%d;\n", n, n);
    put(user, "int thread_object_%d(void) { return thing_of_thread_%d.n; }\n", n, n);
    in_main("    show(\"in a thread\", in_thread(thread_object_%d));\n", n);
    show("thread_object", n);
}

static const struct feature {
    const char *name;
    void (*make)(int n);
} features[] = {
    {"call", call},
    {"weak_function", weak_function},
    {"weak_variable", weak_variable},
    {"undefined", undefined},
    {"common", common},
    {"statics", statics},
    {"constructor", constructor},
    {"exit_handlers", exit_handlers},
    {"thread_local_variable", thread_local_variable},
    {"alias", alias},
    {"hidden", hidden},
    {"indirect", indirect},
    {"pointers", pointers},
    {"inline_function", inline_function},
    {"objects", objects},
    {"inline_variable", inline_variable},
    {"exceptions", exceptions},
    {"thread_objects", thread_objects},
};

enum { FEATURES = sizeof features / sizeof features[0] };

/* ---- the program ---- */

static void make_files(void)
{
    unsigned cxx = chance(50) ? 60 : 0, members = chance(60) ? 60 : 0;
    program.count = 2 + (int)below(MOST_FILES - 1);
    for (int i = 0; i < program.count; i++) {
        struct file *file = &program.files[i];
        snprintf(file->name, sizeof file->name, i ? "part%d" : "main", i);
        file->is_cxx = chance(cxx);
        file->is_member = i > 0 && chance(members);
        program.has_cxx |= file->is_cxx;
    }
}

static void print_link(void)
{
    const char *before = "lib.a(";
    printf("// LINK:");
    for (int i = 0; i < program.count; i++)
        if (!program.files[i].is_member)
            printf(" %s.%s", program.files[i].name, program.files[i].is_cxx ? "cpp" : "c");
    for (int i = 0; i < program.count; i++)
        if (program.files[i].is_member) {
            printf("%s%s.%s", *before == 'l' ? " lib.a(" : ",", program.files[i].name,
                   program.files[i].is_cxx ? "cpp" : "c");
            before = ",";
        }
    printf("%s\n", *before == ',' ? ")" : "");
}

static void print_limits(void)
{
    if (program.has_cxx)
        printf("// SKIP: exe: it needs the C++ library (doc/IMAGE.md)\n");
    if (program.has_ifunc)
        printf("// SKIP: exe image replaceable: indirect functions (doc/IMAGE.md)\n");
    if (program.has_hidden)
        printf("// SKIP: package stale: hidden symbols are those of one image (doc/PACKAGES.md, \"Items\")\n");
    if (program.has_initializers)
        printf("// SKIP: client-stubs client-lazy: what is linked on demand is initialised then (doc/SESSION.md)\n");
    if (program.has_late_initializers)
        printf("// SKIP: lazy lazy-even lazy-odd tiers ahead lazy-first lazy-second client-threads: the same\n");
    if (program.has_late_definitions)
        printf("// SKIP: lazy lazy-even lazy-odd tiers ahead lazy-first lazy-second client-stubs client-lazy "
               "client-threads: what a member overrides may be linked before (doc/SESSION.md)\n");
}

static void print_all(void)
{
    printf("// A generated program.\n");
    print_link();
    printf("// FLAGS: -fcommon -fexceptions\n");
    print_limits();
    if (program.ends_itself)
        printf("// ENDS: itself\n");
    printf("//--- all.h\n#include <stdio.h>\n#include <stdlib.h>\n#include <pthread.h>\n"
           "#ifdef __cplusplus\n#define C_FUNCTION extern \"C\"\nextern \"C\" {\n#else\n#define C_FUNCTION\n#endif\n"
           "void note(const char *, int);\n%s#ifdef __cplusplus\n}\n%s#endif\n",
           program.header.bytes, program.cxx_header.bytes);
    for (int i = 0; i < program.count; i++)
        printf("//--- %s.%s\n#include \"all.h\"\n%s", program.files[i].name, program.files[i].is_cxx ? "cpp" : "c",
               program.files[i].text.bytes);
}

int main(int argc, char **argv)
{
    program.random = argc > 1 ? strtoull(argv[1], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) : 1;
    make_files();
    for (int n = 1, count = 2 + (int)below(MOST_FEATURES - 1); n <= count; n++) {
        unsigned which = below(FEATURES);
        if (argc < 3 || strcmp(argv[2], features[which].name) == 0)
            features[which].make(n);
    }
    program.ends_itself = chance(10);
    struct file *main_file = &program.files[0];
    put(main_file,
        "static int sum;\nC_FUNCTION void note(const char *what, int n) { printf(\"%%s %%d\\n\", what, n); }\n"
        "static void show(const char *what, int n) { note(what, n), sum += n; }\n");
    if (program.has_threads)
        put(main_file, "static void *run(void *function) { return (void *)(long)((int (*)(void))function)(); }\n"
                       "static int in_thread(int (*function)(void))\n{\n    pthread_t thread;\n    void *result;\n"
                       "    pthread_create(&thread, NULL, run, (void *)function);\n"
                       "    pthread_join(thread, &result);\n    return (int)(long)result;\n}\n");
    put(main_file, "int main(void)\n{\n    note(\"begins\", 0);\n%s    %s(sum & 63);\n}\n", program.body.bytes,
        program.ends_itself ? "exit" : "return");
    print_all();
    return 0;
}
