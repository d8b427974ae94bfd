/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The command table, help, and dispatch. */

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "lib/tool.h"

static const struct command commands[] = {
    {"run", "[OPTION...] FILE... [-- ARG...]", "compile, link and run a program in this process",
     "FILE is LLVM IR (text or bitcode), a relocatable object or an archive, whatever its name; - is standard input.\n"
     "Archive members are loaded as they are needed. The program may use all of libc, libm and pthread: they are part\n"
     "of this command. Its argv[0] is the first FILE; its exit status is that of the command.\n",
     FOR_RUN, true, command_run},
    {"compile", "[OPTION...] FILE -o OUT", "compile LLVM IR to an object, assembly, IR or bitcode",
     "FILE is LLVM IR, text or bitcode; - is standard input. OUT is complete or is not written at all.\n", FOR_COMPILE,
     true, command_compile},
    {"inspect", "[OPTION...] FILE...", "show what the linker sees in an object or archive",
     "Sections, symbols, relocations by type, and what would be undefined; targets and functions of an image.\n",
     FOR_INSPECT, true, command_inspect},
    {"export-table", "(--map FILE | [--libc] [--for LIB] FILE...) -o OUT.c", "make a table of symbols for loaded code",
     "FILE is an object or archive: the table names, and so pulls in, what it defines for others. From a link map it\n"
     "names what the program holds. OUT.c becomes part of the program, which gives the table to tn_resolve_table.\n",
     FOR_EXPORT_TABLE, true, command_export_table},
    {"link", "[OPTION...] FILE... [-- ARG...]", "link objects, run them or show the result",
     "FILE is a relocatable object or an archive. Without --noexec it is linked into this process and run, as by "
     "'tenon run'.\n"
     "Numbers are decimal or, after 0x, hexadecimal; sizes may end in K, M or G.\n",
     FOR_LINK, true, command_link},
    {"disasm", "[OPTION...] FILE|SYMBOL...", "disassemble objects or linked code",
     "FILE is an object, an archive or LLVM IR, which is compiled first. Objects are shown with their relocations. "
     "With\n"
     "SYMBOL the FILEs are linked as by 'tenon run', and the functions of that name are shown as they would run.\n",
     FOR_DISASM, true, command_disasm},
    {"relocs", "[FORMAT]", "print the relocation types that the linker knows", "A line for each type.\n", FOR_RELOCS,
     false, command_relocs},
    {"opt", "--passes=NAME[,NAME...] FILE", "run passes over managed code and print the IR",
     "FILE is LLVM IR, text or bitcode; - is standard input. doc/IR.md describes the passes.\n", FOR_OPT, false,
     command_opt},
    {"verify", "[--weak] FILE...", "check that IR keeps the contract of managed code",
     "FILE is LLVM IR, text or bitcode; - is standard input. Violations are printed, a line each.\n", FOR_VERIFY, true,
     command_verify},
    {"cpu", "[--targets STRING] [IMAGE]", "show the features of this CPU, and which target fits it",
     "STRING has the form of doc/CPU.md, as in 'x86-64;x86-64-v3,clone_all'; the default is $TENON_CPU_TARGET. The\n"
     "variable TENON_CPU, as in TENON_CPU=x86-64-v2, limits the CPU. The exit status is 1 if no target fits.\n"
     "IMAGE is a file that contains an image, whose targets are shown.\n",
     FOR_CPU, false, command_cpu},
    {"build", "[OPTION...] FILE... -o OUT", "compile programs ahead of time, for several CPUs, to an image",
     "FILE is LLVM IR, text or bitcode; - is standard input. Several are linked first. OUT is complete or not written\n"
     "at all, and does not depend on the number of threads. doc/IMAGE.md describes how programs use it.\n",
     FOR_BUILD, true, command_build},
    {"cache", "show|verify|prune DIR", "look at what 'tenon run --cache=DIR' has kept",
     "show prints a line for each module, verify only those that are damaged: then the status is 1. prune removes\n"
     "these, what killed writers have left, and with --limit what was not used for longest.\n",
     FOR_CACHE, true, command_cache, "show|verify|prune"},
    {"serve", "--compile [OPTION...] ADDRESS", "compile for other processes",
     "ADDRESS is fd:N, a socket that is connected, or unix:PATH, where only this user can connect. doc/REMOTE.md\n"
     "describes the protocol; clients use tenon_remote.h.\n",
     FOR_SERVE, true, command_serve},
    {"image", "check FILE... | rebase FILE -o OUT", "check images together; give saved objects another address",
     "check says which of the images can be opened, in an order in which they can be, and why the others cannot: then\n"
     "the status is 1. rebase writes what tn_save_write has written for another address: without an option, the one\n"
     "that follows from its name and its contents. Numbers are decimal or, after 0x, hexadecimal. OUT may be FILE.\n",
     FOR_IMAGE, true, command_image, "check|rebase"},
    {"completion", "bash|zsh|fish", "print what completes command lines of tenon in a shell",
     "The output is a script for the shell: 'source <(tenon completion bash)'. 'make install' puts all three where\n"
     "the shells look for them.\n",
     FOR_COMPLETION, true, command_completion, "bash|zsh|fish"},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const struct command *tool_command_at(size_t index)
{
    return index < COMMAND_COUNT ? &commands[index] : NULL;
}

static const struct command *find_command(const char *name)
{
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static int help(int argc, char **argv);
static int version(int argc, char **argv);

static const struct builtin {
    const char *names[3]; /* the first one is shown */
    const char *arguments, *summary;
    int (*run)(int argc, char **argv);
} builtins[] = {
    {{"help", "--help", "-h"}, "[COMMAND]", "show this, or the options of a command", help},
    {{"version", "--version", "-V"}, "", "show versions and built-in targets", version},
};

enum { BUILTIN_COUNT = sizeof builtins / sizeof builtins[0] };

const char *tool_builtin_at(size_t index, const char **summary)
{
    *summary = index < BUILTIN_COUNT ? builtins[index].summary : NULL;
    return index < BUILTIN_COUNT ? builtins[index].names[0] : NULL;
}

static const struct builtin *find_builtin(const char *name)
{
    for (const struct builtin *b = builtins; b < builtins + BUILTIN_COUNT; b++)
        for (size_t i = 0; i < TN_COUNT(b->names); i++)
            if (strcmp(b->names[i], name) == 0)
                return b;
    return NULL;
}

static int report_unknown(const char *name)
{
    struct nearest nearest = {name, strlen(name), NULL, 0};
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        tool_consider(&nearest, c->name);
    for (const struct builtin *b = builtins; b < builtins + BUILTIN_COUNT; b++)
        for (size_t i = 0; i < TN_COUNT(b->names); i++)
            tool_consider(&nearest, b->names[i]);
    return tool_unknown(name[0] == '-' ? "option" : "command", &nearest, "");
}

static void print_overview(FILE *out)
{
    fputs("usage: tenon COMMAND ...\n\n", out);
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        fprintf(out, "  tenon %-12s %-34s %s\n", c->name, c->arguments, c->summary);
    for (const struct builtin *b = builtins; b < builtins + BUILTIN_COUNT; b++)
        fprintf(out, "  tenon %-12s %-34s %s\n", b->names[0], b->arguments, b->summary);
}

static int print_help(const struct command *command)
{
    printf("usage: tenon %s %s\n\n%s\n", command->name, command->arguments, command->details);
    tool_print_options(command, stdout);
    return STATUS_OK;
}

static int version(int argc, char **argv)
{
    (void)argv;
    if (argc)
        return tool_fail(STATUS_USAGE, "version takes no arguments");
    printf("tenon %s\nLLVM %s, targets", tn_version(), tn_codegen_llvm_version());
    for (const char *const *target = tn_codegen_targets(); *target; target++)
        printf(" %s", *target);
    printf("\nhost %s, CPU %s\n", tn_codegen_host_triple(), tn_codegen_host_cpu());
    return STATUS_OK;
}

static int help(int argc, char **argv)
{
    if (argc > 1)
        return tool_fail(STATUS_USAGE, "help takes one command");
    const struct command *command = argc ? find_command(argv[0]) : NULL;
    if (argc && !command && !find_builtin(argv[0]))
        return report_unknown(argv[0]);
    if (command)
        return print_help(command);
    print_overview(stdout);
    return STATUS_OK;
}

static int dispatch(const char *program, const struct command *command, int argc, char **argv)
{
    struct settings settings = {.program = program, .opt_level = 2};
    tool_name_command(command->name);
    if (!tool_parse(command, argc, argv, &settings))
        return STATUS_USAGE;
    if (settings.help)
        return print_help(command);
    if (command->needs_file && !settings.file_count && !settings.map && !settings.libc &&
        !tool_has_item(&settings, "--for"))
        return tool_fail(STATUS_USAGE, "no FILE given; usage: tenon %s %s", command->name, command->arguments);
    return command->run(&settings);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return STATUS_USAGE;
    }
    const struct builtin *builtin = find_builtin(argv[1]);
    if (builtin)
        return builtin->run(argc - 2, argv + 2);
    const struct command *command = find_command(argv[1]);
    return command ? dispatch(argv[0], command, argc - 2, argv + 2) : report_unknown(argv[1]);
}

int main(int argc, char **argv)
{
    tool_keep_standard_descriptors();
    return tool_finish_output(run(argc, argv));
}
