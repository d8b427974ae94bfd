/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the linker directives of a COFF object do (.drectve), one per row; members of import libraries of every kind;
 * objects of machines that there is no reader for. */

#include "coff_builder.h"

#include <stdlib.h>

static const struct tn_format *const formats[] = {&tn_format_coff_x86_64, NULL};
static const struct tn_session_options options = {.size = sizeof options, .formats = formats};

enum { REMOVED = 0xa00, CLASS_EXTERNAL = 2, ADDR64 = 1 };

static const uint8_t returns[] = {0xc3}, word[8];

/* Functions `f` and `g`, data that refers to `wanted`, a common symbol of 4 bytes. */
static struct bytes object_with(const char *directives)
{
    static const struct coff_reloc relocs[] = {{0, 2, ADDR64}};
    const struct coff coff = {
        .machine = COFF_X86_64,
        .sections = {{".text", COFF_CODE, returns, sizeof returns},
                     {".rdata", COFF_CONSTANTS | COFF_ALIGN_8, word, sizeof word, relocs, COUNT(relocs)},
                     {".drectve", REMOVED, directives, (uint32_t)strlen(directives)}},
        .section_count = 3,
        .symbols = {{"f", 0, 1, 0x20, .class = CLASS_EXTERNAL},
                    {"data", 0, 2, .class = CLASS_EXTERNAL},
                    {"wanted", .class = CLASS_EXTERNAL},
                    {"common", 4, .class = CLASS_EXTERNAL}},
        .symbol_count = 4,
    };
    return coff_build(&coff, NULL);
}

/* ---- directives ---- */

static const struct row {
    const char *text;
    int code;           /* of the link or, if that succeeds and this is not 0, of the lookup of `g` */
    const char *word;   /* that its error has or, if it can be linked, a name for `f`, or NULL */
    unsigned alignment; /* of the common symbol */
} rows[] = {
    {"", 0, NULL, 4},
    {" \t\r\n", 0, NULL, 4},
    {"\xef\xbb\xbf/EXPORT:g=f", 0, "g", 4},
    {"/include:f", 0, NULL, 4},
    {"-INCLUDE:f /include:data", 0, NULL, 4},
    {"/include:nowhere", TN_EUNDEF, "'nowhere'", 0},
    {"/include:\"no where\"", TN_EUNDEF, "'no where'", 0},
    {"/include:", 0, NULL, 4},
    {"/alternatename:g=f", 0, "g", 4},
    {"/ALTERNATENAME:\"g=f\"", 0, "g", 4},
    {"\"/alternatename:g=f\"", 0, "g", 4},
    {"/alternatename:f=data", 0, "f", 4}, /* it is defined */
    {"/alternatename:g=nowhere", TN_EUNDEF, "'nowhere'", 0},
    {"/alternatename:g=g", 0, NULL, 4},
    {"/alternatename:g", TN_EFORMAT, "/alternatename:g makes no sense", 0},
    {"/alternatename:g=", TN_EFORMAT, "makes no sense", 0},
    {"/alternatename:=f", TN_EFORMAT, "makes no sense", 0},
    {"/alternatename:g=f /alternatename:g=f", 0, "g", 4},
    {"/alternatename:g=f /alternatename:g=data", TN_EDUP, "'/alternatename:g' differs", 0},
    {"/alternatename:f=g /alternatename:f=data", TN_EDUP, "'/alternatename:f' differs", 0},
    {"/alternatename:g=h /alternatename:h=f", 0, "g", 4},
    {"/alternatename:h=f /alternatename:g=h", 0, "g", 4},
    {"/export:f", 0, "f", 4},
    {"/export:g=f", 0, "g", 4},
    {"/export:\"g\"=\"f\"", 0, "g", 4},
    {"/export:g=f,@7", 0, "g", 4},
    {"/export:g=f,@7,NONAME", 0, "g", 4},
    {"/export:g=f,PRIVATE", 0, "g", 4},
    {"/export:g=f,DATA", 0, "g", 4},
    {"-export:f,@7,NONAME,DATA", 0, "f", 4},
    {"/export:g=f,@65535,NONAME,CONSTANT", 0, "g", 4},
    {"/export:g=f,EXPORTAS,h", 0, "g", 4},
    {"/export:", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=f,@0", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=f,@65536", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=f,@x", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=f,NONAME", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=f,EXPORTAS", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=f,secret", TN_EFORMAT, "makes no sense", 0},
    {"/export:g=nowhere", TN_EUNDEF, "'nowhere'", 0},
    {"/export:g=other.f", TN_ENOTSUP, "/export:g=other.f leads to another library", 0},
    {"-aligncomm:\"common\",0", 0, NULL, 4},
    {"-aligncomm:\"common\",6", 0, NULL, 64},
    {"-aligncomm:common,13", 0, NULL, 8192},
    {"-aligncomm:common,14", TN_EFORMAT, "2^14", 0},
    {"-aligncomm:common,0x6", 0, NULL, 64},
    {"-aligncomm:common", TN_EFORMAT, "makes no sense", 0},
    {"-aligncomm:common,", TN_EFORMAT, "makes no sense", 0},
    {"-aligncomm:common,x", TN_EFORMAT, "makes no sense", 0},
    {"-aligncomm:common,99999999999", TN_EFORMAT, "2^99", 0},
    {"/DEFAULTLIB:\"libcmt.lib\"", 0, NULL, 4},
    {"/defaultlib:uuid.lib -defaultlib:m", 0, NULL, 4},
    {"/nodefaultlib", 0, NULL, 4},
    {"/disallowlib:msvcrt.lib", 0, NULL, 4},
    {"/FAILIFMISMATCH:\"_MSC_VER=1900\"", 0, NULL, 4},
    {"/failifmismatch:a=1 /failifmismatch:\"a=1\" /failifmismatch:b=2", 0, NULL, 4},
    {"/failifmismatch:a=1 /failifmismatch:a=2", TN_EDUP, "'/failifmismatch:a' differs", 0},
    {"/failifmismatch:a", TN_EFORMAT, "makes no sense", 0},
    {"/failifmismatch:a=", TN_EFORMAT, "makes no sense", 0},
    {"/failifmismatch:=1", TN_EFORMAT, "makes no sense", 0},
    {"/inferasanlibs /inferasanlibsno", 0, NULL, 4},
    {"/entry:main", 0, NULL, 4},
    {"/subsystem:console,6.0", 0, NULL, 4},
    {"/subsystem:Windows /subsystem:native,6", 0, NULL, 4},
    {"/subsystem:", TN_EFORMAT, "makes no sense", 0},
    {"/subsystem:dos", TN_EFORMAT, "makes no sense", 0},
    {"/subsystem:console,x", TN_EFORMAT, "makes no sense", 0},
    {"/subsystem:console,6.x", TN_EFORMAT, "makes no sense", 0},
    {"/stack:65536 /heap:1,2", 0, NULL, 4},
    {"/stack:0x10000,010 /stack:18446744073709551615", 0, NULL, 4},
    {"/stack:", TN_EFORMAT, "makes no sense", 0},
    {"/stack:08", TN_EFORMAT, "makes no sense", 0},
    {"/stack:1f", TN_EFORMAT, "makes no sense", 0},
    {"/stack:1,2,3", TN_EFORMAT, "makes no sense", 0},
    {"/heap:18446744073709551616", TN_EFORMAT, "makes no sense", 0},
    {"/entry:", TN_EFORMAT, "makes no sense", 0},
    {"/release:1", TN_EFORMAT, "makes no sense", 0},
    {"/merge:.a", TN_EFORMAT, "makes no sense", 0},
    {"/merge:.a=", TN_EFORMAT, "makes no sense", 0},
    {"/merge:.rsrc=.a", TN_EFORMAT, "makes no sense", 0},
    {"/merge:.a=.reloc", TN_EFORMAT, "makes no sense", 0},
    {"/guardsym", TN_EFORMAT, "makes no sense", 0},
    {"/editandcontinue:1", TN_EFORMAT, "makes no sense", 0},
    {"/release /debug:full", 0, NULL, 4},
    {"/manifestdependency:\"type='win32' name='a b'\"", 0, NULL, 4},
    {"/manifestuac:level='asInvoker'", 0, NULL, 4},
    {"-exclude-symbols:f,g", 0, NULL, 4},
    {"/merge:.a=.b", 0, NULL, 4},
    {"/editandcontinue /throwingnew", 0, NULL, 4},
    {"/guardsym:f,S", 0, NULL, 4},
    {"/ignore:4217 /opt:noref /incremental:no /nologo /verbose", 0, NULL, 4},
    {"/section:.text,ERW", TN_ENOTSUP, "directive /section:.text,ERW is not supported", 0},
    {"/includes:f", TN_ENOTSUP, "directive /includes:f", 0},
    {"/includ:f", TN_ENOTSUP, "directive /includ:f", 0},
    {"include", 0, NULL, 4},
    {"f", TN_ENOTSUP, "directive /f ", 0},
    {"/", TN_ENOTSUP, "directive / ", 0},
    {"\"/alternatename:g=f", TN_ENOTSUP, "directive /\"/alternatename:g=f", 0}, /* a quote that does not end */
};

static void check_row(void **state)
{
    const struct row *row = *state;
    struct tn_error err;
    struct fixture f = open_fixture(&options);
    struct tn_stats before = stats_of(&f);
    struct bytes object = object_with(row->text);
    define(&f, "wanted", &word);
    int code = try_add_bytes(&f, "object.obj", object.at, object.size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    if (!code && row->code) {
        void *address;
        code = tn_lookup(f.library, "g", &address, &err);
    }
    if (row->code) {
        assert_error(code, row->code, &err, row->word);
        struct tn_stats after = stats_of(&f);
        if (row->code != TN_EUNDEF) /* then it stays, unlinked */
            assert_same_memory(&before, &after);
    } else {
        assert_ok(code, &err);
        assert_int_equal((uintptr_t)lookup(&f, "common") % row->alignment, 0);
        if (row->word)
            assert_ptr_equal(lookup(&f, row->word), lookup(&f, "f"));
    }
    close_fixture(&f);
    free(object.at);
}

/* ---- import libraries ---- */

enum { CODE, DATA, CONST };
enum { BY_ORDINAL, BY_NAME, NO_PREFIX, UNDECORATED, EXPORT_AS };

/* A member in the short form ("PE Format", Import Header). */
static size_t make_import(uint8_t *bytes, unsigned type, unsigned how)
{
    static const char names[] = "wanted\0host.dll\0exported";
    memset(bytes, 0, 20);
    memset(bytes + 2, 0xff, 2);
    bytes[6] = COFF_X86_64 & 0xff;
    bytes[7] = COFF_X86_64 >> 8;
    bytes[12] = how == EXPORT_AS ? sizeof names : sizeof "wanted\0host.dll";
    bytes[16] = 7; /* ordinal or hint */
    bytes[18] = (uint8_t)(type | how << 2);
    memcpy(bytes + 20, names, sizeof names);
    return 20U + bytes[12];
}

/* Wherever a name in a DLL comes from, the session's resolvers know it by the symbol's. */
static void test_imports(void **state)
{
    (void)state;
    struct tn_error err;
    for (unsigned type = CODE; type <= CONST; type++)
        for (unsigned how = BY_ORDINAL; how <= EXPORT_AS; how++) {
            uint8_t import[64];
            size_t size = make_import(import, type, how);
            struct fixture f = open_fixture(&options);
            struct bytes object = object_with("");
            define(&f, "wanted", &word);
            add_bytes(&f, "host.dll", import, size);
            add_bytes(&f, "object.obj", object.at, object.size);
            assert_ptr_equal(*(void *const *)lookup(&f, "data"), &word);
            for (size_t shorter = 0; shorter < size; shorter++)
                assert_int_equal(try_add_bytes(&f, "short", import, shorter, &err), TN_EFORMAT);
            close_fixture(&f);
            free(object.at);
        }
}

/* ---- machines ---- */

static void test_machines(void **state)
{
    (void)state;
    static const struct {
        uint16_t machine;
        const char *name;
    } machines[] = {{0xa641, "ARM64EC"}, {0xa64e, "ARM64X"}, {0x014c, "32-bit x86"}, {0x01c4, "32-bit ARM"}};
    for (size_t i = 0; i < COUNT(machines); i++) {
        struct tn_error err;
        struct fixture f = open_fixture(&options);
        struct bytes object = object_with("");
        memcpy(object.at, &machines[i].machine, 2);
        assert_error(try_add_bytes(&f, "object.obj", object.at, object.size, &err), TN_ENOTSUP, &err, "object.obj",
                     machines[i].name, "no reader");
        uint8_t import[64];
        size_t size = make_import(import, CODE, BY_NAME);
        memcpy(import + 6, &machines[i].machine, 2);
        assert_error(try_add_bytes(&f, "import", import, size, &err), TN_ENOTSUP, &err, machines[i].name);
        close_fixture(&f);
        free(object.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_imports), cmocka_unit_test(test_machines)};
    return RUN_ROWS("link/coff_directives", rows, check_row) +
           cmocka_run_group_tests_name("link/coff_directives", tests, NULL, NULL);
}
