/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The option table and its parser. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tool.h"

#define M(member) offsetof(struct settings, member)
#define ITEM      SIZE_MAX /* may be repeated: goes to settings->items */

static const struct option options[] = {
    {FOR_COMPILE | FOR_EXPORT_TABLE | FOR_OPT | FOR_BUILD | FOR_IMAGE, "-o", "--output", "OUT", NULL, M(output),
     "the file to write; - is standard output"},
    {FOR_COMPILE, "--emit", NULL, "KIND", "obj|asm|llvm|bc|flat", M(emit),
     "object (default), assembly, IR text, bitcode or flat file"},
    {FOR_BUILD, "--emit", NULL, "KIND", "obj|bc|unopt-bc|asm", ITEM,
     "objects (default), bitcode, bitcode before it is optimised, or assembly; of several, all but obj go to OUT.KIND"},
    {FOR_BUILD, "--kind", NULL, "KIND", "archive|shared|image|exe", M(kind),
     "an archive for the system's linker (default), a shared library, a file that only tn_image_open loads, or a "
     "static executable"},
    {FOR_BUILD, "--stubs", NULL, "FOLDER", NULL, M(stubs),
     "begin executables with a stub in FOLDER, which the build of tenon for another machine made"},
    {FOR_BUILD, "--name", NULL, "NAME", NULL, M(image_name), "the symbol of the image; default tn_image"},
    {FOR_BUILD, "--root", NULL, "SYM", NULL, ITEM,
     "keep this symbol and what it refers to; default: all public symbols"},
    {FOR_BUILD, "--trace", NULL, "FILE", NULL, ITEM, "keep the functions that --trace-compile wrote to FILE"},
    {FOR_BUILD, "--workload", NULL, "CMD", NULL, ITEM,
     "run a shell command, and keep the functions that 'tenon run' compiles meanwhile"},
    {FOR_BUILD, "--replaceable", NULL, "[=LIST]", NULL, ITEM,
     "the program may redirect public functions while it runs: all of them, those of f,g,... or of @FILE, one per "
     "line"},
    {FOR_BUILD, "--depends", NULL, "FILE", NULL, ITEM,
     "the image can be opened only while the one in FILE is open, or another build that has what is used of it now"},
    {FOR_BUILD, "--use", NULL, "FILE", NULL, ITEM,
     "FILE has the IR that an image of --depends was built from; functions may have copies of its bodies and "
     "constants"},
    {FOR_BUILD, "--keep-ir", NULL, NULL, NULL, M(keeps_ir),
     "keep the IR of functions with such copies in the image, to be compiled again if these become stale"},
    {FOR_BUILD, "--allow-path", NULL, NULL, NULL, M(allows_path),
     "what is loaded may contain paths of this machine: of the folder that it is built in, of OUT, of the user"},
    {FOR_BUILD, "--objects", NULL, "FILE", NULL, M(objects),
     "the image also gets the saved objects of FILE, an image without code"},
    {FOR_BUILD, "--value", NULL, "S=TEXT", NULL, ITEM,
     "code finds the variable S among saved objects, its own or those of an image that it depends on: TEXT is "
     "type:NAME "
     "or root:NAME"},
    {FOR_BUILD, "--report", NULL, "FILE", NULL, M(report),
     "write a page of HTML that shows what is in OUT, by package, function, target and type of saved objects"},
    {FOR_BUILD, "--threads", NULL, "N", NULL, M(threads),
     "compile on N threads; default: $TENON_IMAGE_THREADS, or one per core"},
    {FOR_BUILD, "--shards", NULL, "N", NULL, M(shards),
     "divide the program into N shards; the default depends on its size"},
    {FOR_BUILD, "--shard", NULL, "I", NULL, M(shard),
     "compile only shard I, counted from 0, to OUT: an input of the command that makes the image"},
    {FOR_BUILD, "--ninja", NULL, "FILE", NULL, M(ninja),
     "build nothing: write a build file for ninja with such a command for each shard"},
    {FOR_RUN | FOR_COMPILE | FOR_DISASM | FOR_BUILD, "-O", NULL, "N", "0|1|2|3", M(opt_level),
     "optimise; 0 inlines only what is marked alwaysinline; default 2"},
    {FOR_COMPILE, "--baseline", NULL, NULL, NULL, M(baseline),
     "with -O0: compile by the baseline compiler, and by LLVM only what that does not cover"},
    {FOR_RUN, "--no-baseline", NULL, NULL, NULL, M(no_baseline),
     "compile at -O0, and the first tier, by LLVM alone instead of the baseline compiler"},
    {FOR_LINK, "--noexec", NULL, NULL, NULL, M(noexec), "link for another address space and run nothing"},
    {FOR_LINK, "--dump-json", NULL, "OUT", NULL, M(dump),
     "write sections, symbols, GOT and stubs as JSON; - is standard output"},
    {FOR_LINK, "--slab-address", NULL, "ADDR", NULL, M(slab_address),
     "with --noexec: the window's address, default 0x100000"},
    {FOR_LINK, "--slab-size", NULL, "BYTES", NULL, M(slab_size), "the window's size"},
    {FOR_LINK, "--slab-page-size", NULL, "BYTES", NULL, M(slab_page_size),
     "with --noexec: zones begin at multiples of it"},
    {FOR_LINK, "--map-section", NULL, "FILE,SEC=ADDR", NULL, ITEM,
     "with --noexec: put a section, or .got, at an address"},
    {FOR_LINK, "--abs", NULL, "SYM=VALUE", NULL, ITEM, "define an absolute symbol"},
    {FOR_LINK, "--alias", NULL, "SYM=TARGET", NULL, ITEM, "define SYM as another name of TARGET"},
    {FOR_LINK, "--gc-sections", NULL, NULL, NULL, M(strip),
     "leave out sections that --entry and --root do not lead to"},
    {FOR_LINK, "--root", NULL, "SYM", NULL, ITEM, "with --gc-sections: keep this symbol as well"},
    {FOR_LINK, "--phony-externals", NULL, NULL, NULL, M(phony), "resolve undefined symbols to the start of the window"},
    {FOR_LINK, "--no-process-syms", NULL, NULL, NULL, M(no_host), "use no symbols of the host"},
    {FOR_LINK, "-L", NULL, "DIR", NULL, ITEM, "search for libraries in DIR"},
    {FOR_LINK, "-l", NULL, "LIB", NULL, ITEM, "add libLIB.a from the first -L that has it"},
    {FOR_LINK, "--hidden-l", NULL, "LIB", NULL, ITEM, "the same; its definitions cannot be looked up"},
    {FOR_LINK, "--load-hidden", NULL, "FILE", NULL, ITEM, "add FILE; its definitions cannot be looked up"},
    {FOR_LINK, "--jd", NULL, "NAME", NULL, ITEM,
     "put the following inputs into library NAME, which the libraries before it search"},
    {FOR_LINK, "--sectcreate", NULL, "NAME,FILE@SYM=N,...", NULL, ITEM,
     "add the bytes of FILE as a section with symbols"},
    {FOR_LINK, "--harness", NULL, "FILE", NULL, ITEM,
     "add FILE; its definitions take precedence over those of other files"},
    {FOR_COMPILE | FOR_LINK | FOR_OPT | FOR_VERIFY | FOR_CPU | FOR_BUILD, "--triple", NULL, "TRIPLE", NULL, M(triple),
     "target; default: the module's own, else the host's"},
    {FOR_RUN | FOR_COMPILE | FOR_DISASM, "--cpu", NULL, "CPU", NULL, M(cpu),
     "native, generic or one of LLVM's names; default: native, or generic for another architecture"},
    {FOR_RUN | FOR_COMPILE | FOR_DISASM, "--features", NULL, "LIST", NULL, M(features),
     "LLVM's features, as in +avx2,-fma"},
    {FOR_COMPILE, "--reloc", NULL, "MODEL", "pic|static", M(reloc_model), "relocation model, default pic"},
    {FOR_COMPILE, "--code-model", NULL, "MODEL", "small|medium|large", M(code_model), "code model, default small"},
    {FOR_RUN | FOR_COMPILE | FOR_DISASM | FOR_BUILD, "--asm-files", NULL, NULL, NULL, M(assembly_files),
     "let assembly in modules read files: .include and .incbin"},
    {FOR_COMPILE, "--function-sections", NULL, NULL, NULL, M(function_sections),
     "put each function and variable into a section of its own"},
    {FOR_RUN | FOR_LINK, "--entry", NULL, "SYM", NULL, M(entry),
     "the function to call as main(argc, argv, envp); default main"},
    {FOR_BUILD, "--stats", "-v", NULL, NULL, M(stats), "print counts and times to standard error"},
    {FOR_COMPILE, "--stats", "-v", NULL, NULL, M(stats), "print counts and times to standard error"},
    {FOR_RUN | FOR_LINK, "--stats", "-v", NULL, NULL, M(stats),
     "at exit, print times, sizes and mappings to standard error"},
    {FOR_RUN, "--gdb", NULL, NULL, NULL, M(gdb),
     "show loaded code to a debugger that runs this command or attaches to it"},
    {FOR_RUN, "--perf", NULL, "KIND", "none|map|jitdump", M(perf),
     "write a file for perf: perf-PID.map or jit-PID.dump"},
    {FOR_RUN, "--perf-folder", NULL, "FOLDER", NULL, M(perf_folder),
     "where that file goes; default: /tmp for maps, where perf looks for them, else /tmp/tenon-UID"},
    {FOR_RUN | FOR_LINK | FOR_INSPECT | FOR_DISASM, "--thin-anywhere", NULL, NULL, NULL, M(thin_anywhere),
     "members of thin archives may lie outside of the archive's folder"},
    {FOR_RUN, "--lazy", NULL, NULL, NULL, M(lazy), "compile each function of IR when it is first called"},
    {FOR_RUN, "--tiers", NULL, NULL, NULL, M(tiers),
     "compile each function at -O0 when it is first called, and again, at the level of -O, when it was called often"},
    {FOR_RUN, "--profile", NULL, "FILE", NULL, M(profile),
     "with --tiers: at exit, list functions with samples, tiers and calls; - is standard error"},
    {FOR_RUN, "--cache", NULL, "DIR", NULL, M(cache),
     "keep compiled code in this folder, and take it from there; 'tenon cache' looks at it"},
    {FOR_RUN, "--ahead", NULL, "KIND", "none|calls|order|all", M(ahead),
     "with --lazy, compile on an idle core what calls, or the last run's order of them, say is called soon"},
    {FOR_RUN, "--orders", NULL, "DIR", NULL, M(orders), "where these orders are kept; default: the folder of --cache"},
    {FOR_IMAGE, "--base", NULL, "ADDR", NULL, M(base), "the address that the objects are intended for"},
    {FOR_IMAGE, "--base-salt", NULL, "TEXT", NULL, M(base_salt),
     "choose the address by name, build id and this text, which may differ between installations"},
    {FOR_IMAGE, "--cpu", NULL, "CPU", NULL, M(cpu), "for check: the CPU to open them on; default: this one"},
    {FOR_IMAGE, "--program", NULL, "FILE", NULL, ITEM,
     "for check: a program, or a library of it, that has the symbols which images need; default: it has all"},
    {FOR_IMAGE, "--runtime", NULL, "VERSION", NULL, M(runtime),
     "for check: the version of the runtime ABI of that program; default: the one of this command"},
    {FOR_IMAGE, "--type", NULL, "NAME", NULL, ITEM,
     "for check: a type that the program gives for saved objects; default: it has all"},
    {FOR_CACHE, "--limit", NULL, "BYTES", NULL, M(limit), "for prune: the most that stays"},
    {FOR_RUN | FOR_COMPILE, "--isolate", NULL, NULL, NULL, M(isolate),
     "compile in a process that can do nothing else, so that no IR makes this command crash"},
    {FOR_RUN | FOR_COMPILE, "--deadline", NULL, "MS", NULL, M(deadline),
     "with --isolate: give up what takes longer to compile; 0: never; default 300000"},
    {FOR_SERVE, "--compile", NULL, NULL, NULL, M(compile), "compile what clients send"},
    {FOR_SERVE, "--deadline", NULL, "MS", NULL, M(deadline), "give up what takes longer; default: never"},
    {FOR_SERVE, "--memory", NULL, "BYTES", NULL, M(memory), "of each worker; default: no limit"},
    {FOR_SERVE, "--workers", NULL, "N", NULL, M(workers), "processes for each client at most; default 64"},
    {FOR_RUN, "--threads", NULL, "N", NULL, M(threads), "compile IR on N threads, as it is needed; default none"},
    {FOR_RUN | FOR_COMPILE, "--trace-compile", NULL, "FILE", NULL, M(trace_compile),
     "write a line for each function that is compiled; - is standard error"},
    {FOR_RUN | FOR_COMPILE | FOR_OPT, "--trace-optimize", NULL, "FILE", NULL, M(trace_optimize),
     "write, as YAML, the sizes of functions before and after the passes, and what these took; - is standard error"},
    {FOR_RUN | FOR_COMPILE | FOR_OPT, "--remarks", NULL, "FILE", NULL, M(remarks),
     "write, as YAML, what optimisations have done or missed, and why; - is standard error"},
    {FOR_RUN | FOR_COMPILE, "--dump", NULL, "STAGES", NULL, M(dump_stages),
     "write each module to files: unopt,opt,asm,obj or some of them"},
    {FOR_RUN | FOR_COMPILE, "--dump-dir", NULL, "DIR", NULL, M(dump_folder),
     "where these files go; default: the current folder"},
    {FOR_RUN | FOR_COMPILE | FOR_OPT, "--print-before", NULL, "PASS", NULL, M(print_before),
     "print the IR before a pass, or all"},
    {FOR_RUN | FOR_COMPILE | FOR_OPT, "--print-after", NULL, "PASS", NULL, M(print_after),
     "print the IR after a pass, or all"},
    {FOR_RUN | FOR_COMPILE | FOR_OPT, "--stop-before", NULL, "PASS", NULL, M(stop_before),
     "leave out this pass and all later ones"},
    {FOR_RUN | FOR_OPT, "--function", NULL, "NAME", NULL, M(function),
     "limit these three to passes that work on the function NAME"},
    {FOR_COMPILE, "--function", NULL, "NAME", NULL, M(function),
     "write the function NAME alone, and limit these three to passes that work on it"},
    {FOR_COMPILE, "--strip", NULL, NULL, NULL, M(strip), "drop the names of arguments, blocks and instructions"},
    {FOR_COMPILE, "--debuginfo", NULL, "KIND", "full|none", M(no_debug_info), "what to keep of it; default full"},
    {FOR_RUN | FOR_COMPILE | FOR_OPT, "--time-passes", NULL, NULL, NULL, M(time_passes),
     "at exit, print how long each pass took"},
    {FOR_INSPECT | FOR_CPU, "--json", NULL, NULL, NULL, M(json), "print JSON"},
    {FOR_BUILD, "--json", NULL, NULL, NULL, M(json), "with --stats: print JSON, to standard output"},
    {FOR_BUILD, "--timings", NULL, NULL, NULL, M(timings), "print the weight of each shard and how long it took"},
    {FOR_RUN | FOR_COMPILE | FOR_BUILD, "--time-trace", NULL, "FILE", NULL, M(time_trace),
     "at exit, write a timeline of threads, passes, functions and collections, for Chrome's and Perfetto's viewers"},
    {FOR_RUN | FOR_COMPILE | FOR_BUILD, "--time-granularity", NULL, "US", NULL, M(time_granularity),
     "leave out of it what took fewer microseconds; default 0"},
    {FOR_INSPECT, "--verify", NULL, NULL, NULL, M(verify_sums),
     "verify the checksum over everything of an image that is loaded"},
    {FOR_DISASM, "-l", "--line-numbers", NULL, NULL, M(lines), "show source lines, where there is debug information"},
    {FOR_DISASM, "--linked", NULL, NULL, NULL, M(linked), "link the FILEs and show all their functions"},
    {FOR_DISASM, "--intel", NULL, NULL, NULL, M(intel), "use Intel's syntax"},
    {FOR_CPU, "--targets", NULL, "STRING", NULL, M(targets),
     "show what each target needs and which one is chosen; 'help' lists all names"},
    {FOR_BUILD, "--targets", NULL, "STRING", NULL, M(targets),
     "the CPUs to compile for; default: $TENON_CPU_TARGET, or generic"},
    {FOR_EXPORT_TABLE, "--map", NULL, "FILE", NULL, M(map), "a link map of GNU ld or lld (-Wl,-Map=FILE)"},
    {FOR_EXPORT_TABLE, "--for", NULL, "LIB", NULL, ITEM,
     "also take what this shared library needs of glibc; it becomes part of the program"},
    {FOR_EXPORT_TABLE, "--libc", NULL, NULL, NULL, M(libc),
     "also take the names of libc, libm and libgcc, for plugins in C, C++ and Rust; it pulls them into the program"},
    {FOR_EXPORT_TABLE, "--only", NULL, "PATTERNS", NULL, M(only),
     "take only names that match one of these, as in 'host_*,printf'"},
    {FOR_EXPORT_TABLE, "--name", NULL, "NAME", NULL, M(table), "the name of the table; default tn_host_symbols"},
    {FOR_OPT, "--passes", NULL, "NAMES", NULL, M(passes),
     "the passes and stages to run, in this order; without it they are listed"},
    {FOR_COMPILE, "--passes", NULL, "NAMES", NULL, M(passes), "run only these of 'tenon opt'; the list may be empty"},
    {FOR_OPT, "--stats", "-v", NULL, NULL, M(stats), "print the passes' counters to standard error"},
    {FOR_RUN | FOR_COMPILE | FOR_OPT, "--polls", NULL, "WHERE", "none|entries|loops|all", M(polls),
     "where managed code polls for stop requests besides allocations; default none"},
    {FOR_VERIFY, "--weak", NULL, NULL, NULL, M(weak), "check only the rules that still hold after optimisation"},
    {FOR_ALL, "--help", "-h", NULL, NULL, M(help), "show this"},
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };

const struct option *tool_option_at(size_t index)
{
    return index < OPTION_COUNT ? &options[index] : NULL;
}

static bool is_word_option(const char *name)
{
    return name[0] == '-' && name[1] == '-';
}

bool tool_is_optional(const struct option *option)
{
    return option->argument && option->argument[0] == '[';
}

/* If `argument` spells the option `name`, points *value at an attached value (or NULL) and returns true. */
static bool matches(const struct option *option, const char *name, const char *argument, const char **value)
{
    size_t length = name ? strlen(name) : 0;
    *value = NULL;
    if (!length || strncmp(argument, name, length) != 0)
        return false;
    const char *rest = argument + length;
    if (!*rest)
        return true;
    if (is_word_option(name)) {
        *value = rest + 1;
        return *rest == '=';
    }
    *value = rest;
    return option->argument != NULL;
}

static const struct option *find_option(const struct command *command, const char *argument, const char **value)
{
    for (const struct option *o = options; o < options + OPTION_COUNT; o++)
        if ((o->commands & command->mask) &&
            (matches(o, o->name, argument, value) || matches(o, o->alias, argument, value)))
            return o;
    return NULL;
}

static void report_unknown(const struct command *command, const char *argument)
{
    struct nearest nearest = {argument, strcspn(argument, "="), NULL, 0};
    for (const struct option *o = options; o < options + OPTION_COUNT; o++) {
        if (!(o->commands & command->mask))
            continue;
        tool_consider(&nearest, o->name);
        if (o->alias)
            tool_consider(&nearest, o->alias);
    }
    tool_unknown("option", &nearest, command->name);
}

/* The index of `word` in "a|b|c", or -1. */
static int choice_index(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int index = 0;; index++) {
        size_t size = strcspn(choices, "|");
        if (size == length && strncmp(choices, word, size) == 0)
            return index;
        if (!choices[size])
            return -1;
        choices += size + 1;
    }
}

static bool store(const struct option *option, const char *value, struct settings *settings)
{
    if (option->member == ITEM && option->choices && choice_index(option->choices, value) < 0)
        return tool_fail(STATUS_USAGE, "option '%s': '%s' is not one of %s", option->name, value, option->choices),
               false;
    if (option->member == ITEM) {
        settings->items[settings->item_count++] = (struct item){option->name, value};
        return true;
    }
    void *member = (char *)settings + option->member;
    if (!option->argument) {
        if (value)
            return tool_fail(STATUS_USAGE, "option '%s' takes no value", option->name), false;
        *(int *)member = 1;
        return true;
    }
    if (!option->choices) {
        *(const char **)member = value;
        return true;
    }
    int index = choice_index(option->choices, value);
    if (index < 0)
        return tool_fail(STATUS_USAGE, "option '%s': '%s' is not one of %s", option->name, value, option->choices),
               false;
    *(int *)member = index;
    return true;
}

bool tool_parse(const struct command *command, int argc, char **argv, struct settings *settings)
{
    settings->files = argv;
    settings->items = calloc((size_t)argc + 1, sizeof *settings->items);
    if (!settings->items)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            settings->arguments = argv + i + 1;
            settings->argument_count = argc - i - 1;
            return true;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            settings->items[settings->item_count++] = (struct item){NULL, argv[i]};
            argv[settings->file_count++] = argv[i];
            continue;
        }
        const char *value;
        const struct option *option = find_option(command, argv[i], &value);
        if (!option)
            return report_unknown(command, argv[i]), false;
        if (!value && tool_is_optional(option))
            value = "*";
        if (option->argument && !value && i + 1 == argc)
            return tool_fail(STATUS_USAGE, "option '%s' needs %s", option->name, option->argument), false;
        if (option->argument && !value)
            value = argv[++i];
        if (!store(option, value, settings))
            return false;
    }
    return true;
}

static const char *choice_word(const char *choices, int index, char *word, size_t size)
{
    for (int i = 0; i < index; i++)
        choices += strcspn(choices, "|") + 1;
    snprintf(word, size, "%.*s", (int)strcspn(choices, "|"), choices);
    return word;
}

bool tool_parse_number(const char *text, size_t first, size_t last, size_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    *number = value;
    return *text >= '0' && *text <= '9' && !*end && !errno && value >= first && value <= last;
}

bool tool_number(const char *what, const char *text, uint64_t *value)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix) {
        int shift = 10 * (int)(suffix - suffixes + 1);
        *value = *value << shift >> shift == *value ? *value << shift : (errno = ERANGE, 0);
        end++;
    }
    if (end == text || *end || *text == '-' || errno)
        return tool_fail(STATUS_USAGE, "option '%s': '%s' is no number of 64 bits", what, text), false;
    return true;
}

bool tool_take_number(const char *option, const char *text, size_t first, size_t last, size_t *number)
{
    return !text || tool_parse_number(text, first, last, number) ||
           (tool_fail(STATUS_USAGE, "option '%s': '%s' is not a number from %zu to %zu", option, text, first, last),
            false);
}

bool tool_is_item(const struct item *item, const char *option)
{
    return item->option && strcmp(item->option, option) == 0;
}

bool tool_has_item(const struct settings *settings, const char *option)
{
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], option))
            return true;
    return false;
}

static bool visit_items(const char *name, const struct settings *settings, tool_visit_option *visit, void *context)
{
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], name) && !visit(context, name, settings->items[i].value))
            return false;
    return true;
}

bool tool_each_option(unsigned command, const struct settings *settings, tool_visit_option *visit, void *context)
{
    for (const struct option *o = options; o < options + OPTION_COUNT; o++) {
        const void *member = (const char *)settings + o->member;
        char word[32];
        const char *value = NULL;
        if (!(o->commands & command))
            continue;
        if (o->member == ITEM && !visit_items(o->name, settings, visit, context))
            return false;
        if (o->member == ITEM)
            continue;
        if (!o->argument)
            value = *(const int *)member ? "" : NULL;
        else
            value = o->choices ? choice_word(o->choices, *(const int *)member, word, sizeof word)
                               : *(const char *const *)member;
        if (value && !visit(context, o->name, value))
            return false;
    }
    return true;
}

void tool_print_options(const struct command *command, FILE *out)
{
    for (const struct option *o = options; o < options + OPTION_COUNT; o++) {
        if (!(o->commands & command->mask))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s%s", o->name, o->alias ? ", " : "", o->alias ? o->alias : "",
                 o->argument && !tool_is_optional(o) ? " " : "",
                 o->choices    ? o->choices
                 : o->argument ? o->argument
                               : "");
        fprintf(out, "  %-32s %s\n", left, o->help);
    }
}
