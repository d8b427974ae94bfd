/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon completion: scripts that complete command lines in shells, from the tables of commands and options. */

#include <string.h>

#include "base/base.h"
#include "lib/tool.h"

/* What a shell offers for a value. */
enum value { VALUE_NONE, VALUE_WORDS, VALUE_FILES, VALUE_FOLDERS };

static const struct {
    const char *argument; /* as options and usages name it */
    enum value value;
} arguments[] = {{"FILE", VALUE_FILES}, {"OUT", VALUE_FILES}, {"DIR", VALUE_FOLDERS}, {"FOLDER", VALUE_FOLDERS}};

static enum value value_of(const struct option *option)
{
    if (option->choices)
        return VALUE_WORDS;
    for (size_t i = 0; i < TN_COUNT(arguments); i++)
        if (strcmp(option->argument, arguments[i].argument) == 0)
            return arguments[i].value;
    return VALUE_NONE;
}

/* ---- text within quotes ---- */

/* Prints the text; each character of `set` is replaced by the text of its index in `escapes`. */
static void put(const char *text, const char *set, const char *const *escapes)
{
    for (; *text; text++) {
        const char *found = strchr(set, *text);
        if (found)
            fputs(escapes[found - set], stdout);
        else
            putchar(*text);
    }
}

static void put_words(const char *choices)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* Within single quotes of a POSIX shell. */
static void put_posix(const char *text)
{
    put(text, "'", (const char *const[]){"'\\''"});
}

static void put_commands(const char *before, const char *after)
{
    const struct command *command;
    const char *name, *summary;
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        printf("%s%s%s", before, command->name, after);
    for (size_t i = 0; (name = tool_builtin_at(i, &summary)); i++)
        printf("%s%s%s", before, name, after);
}

/* ---- bash ---- */

/* The words that begin a value of this option in _tenon_value: its kind, and what it may be. */
static void bash_value(const struct option *option)
{
    static const char *const kinds[] = {
        [VALUE_NONE] = "none", [VALUE_WORDS] = "words ", [VALUE_FILES] = "files", [VALUE_FOLDERS] = "folders"};
    fputs(kinds[value_of(option)], stdout);
    if (option->choices)
        put_words(option->choices);
}

static void bash_values(const struct command *command)
{
    const struct option *option;
    for (size_t i = 0; (option = tool_option_at(i)); i++) {
        if (!(option->commands & command->mask) || !option->argument || tool_is_optional(option))
            continue;
        printf("    %s:%s", command->name, option->name);
        if (option->alias)
            printf(" | %s:%s", command->name, option->alias);
        fputs(") echo '", stdout);
        bash_value(option);
        fputs("' ;;\n", stdout);
    }
}

static void bash_options(const struct command *command)
{
    const struct option *option;
    printf("    %s) echo '", command->name);
    for (size_t i = 0; (option = tool_option_at(i)); i++)
        if (option->commands & command->mask)
            printf("%s%s%s ", option->name, option->alias ? " " : "", option->alias ? option->alias : "");
    fputs("' ;;\n", stdout);
}

static void write_bash(void)
{
    const struct command *command;
    fputs("# What the value of COMMAND:OPTION may be: its kind, and words. Fails for an option without a value.\n"
          "_tenon_value()\n{\n    case $1 in\n",
          stdout);
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        bash_values(command);
    fputs("    *) return 1 ;;\n    esac\n}\n\n_tenon_options()\n{\n    case $1 in\n", stdout);
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        bash_options(command);
    fputs("    esac\n}\n\n# What the first argument of COMMAND may be, if it is no file.\n"
          "_tenon_actions()\n{\n    case $1 in\n    '') echo '",
          stdout);
    put_commands("", " ");
    fputs("' ;;\n    help) _tenon_actions '' ;;\n", stdout);
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        if (command->actions) {
            printf("    %s) echo '", command->name);
            put_words(command->actions);
            fputs("' ;;\n", stdout);
        }
    fputs("    esac\n}\n\n"
          "_tenon()\n"
          "{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} prefix= kind words word\n"
          "    local command=${COMP_WORDS[1]}\n"
          "    COMPREPLY=()\n"
          "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
          "        [[ $word != -- ]] || return 0 # what follows belongs to the program\n"
          "    done\n"
          "    # '--emit=asm' is one word or, where '=' divides words, three.\n"
          "    if [[ $current == = ]]; then\n"
          "        current=\n"
          "    elif [[ $before == = ]]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    elif [[ $current == --*=* ]]; then\n"
          "        before=${current%%=*} prefix=${current%%=*}= current=${current#*=}\n"
          "    fi\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        kind=words words=$(_tenon_actions '')\n"
          "    elif [[ $current != -* ]] && kind=$(_tenon_value \"$command:$before\"); then\n"
          "        read -r kind words <<<\"$kind\"\n"
          "    elif [[ $current == -* ]]; then\n"
          "        kind=words words=$(_tenon_options \"$command\")\n"
          "    elif ((COMP_CWORD == 2)) && words=$(_tenon_actions \"$command\") && [[ $words ]]; then\n"
          "        kind=words\n"
          "    else\n"
          "        kind=files\n"
          "    fi\n"
          "    # Nothing in COMPREPLY: bash completes names of files, as it does without this function.\n"
          "    case $kind in\n"
          "    words) COMPREPLY=($(compgen -P \"$prefix\" -W \"$words\" -- \"$current\")) ;;\n"
          "    folders) compopt -o dirnames +o default 2>/dev/null ;;\n"
          "    esac\n"
          "    [[ $kind == files || $kind == folders ]] || compopt +o default 2>/dev/null\n"
          "    return 0\n"
          "}\n"
          "complete -o default -F _tenon tenon\n",
          stdout);
}

/* ---- zsh ---- */

/* Within the brackets of a specification of _arguments, which single quotes are around. */
static void zsh_help(const char *help)
{
    putchar('[');
    put(help, "'[]\\", (const char *const[]){"'\\''", "\\[", "\\]", "\\\\"});
    putchar(']');
}

/* One spelling of an option. A value follows "=" or a space; that of a letter may be attached. */
static void zsh_option(const struct option *option, const char *name)
{
    bool is_word = name[1] == '-';
    printf("        '*%s", name);
    if (option->argument)
        fputs(tool_is_optional(option) ? "=-" : is_word ? "=" : "+", stdout);
    zsh_help(option->help);
    if (option->argument) {
        printf(tool_is_optional(option) ? "::" : ":");
        put(option->argument, "'[]=", (const char *const[]){"", "", "", ""});
        switch (tool_is_optional(option) ? VALUE_NONE : value_of(option)) {
        case VALUE_WORDS:
            fputs(":(", stdout);
            put_words(option->choices);
            putchar(')');
            break;
        case VALUE_FILES:
            fputs(":_files", stdout);
            break;
        case VALUE_FOLDERS:
            fputs(":_files -/", stdout);
            break;
        case VALUE_NONE:
            fputs(": ", stdout);
        }
    }
    fputs("' \\\n", stdout);
}

static void zsh_command(const struct command *command)
{
    const struct option *option;
    printf("    %s)\n        _arguments \\\n", command->name);
    for (size_t i = 0; (option = tool_option_at(i)); i++) {
        if (!(option->commands & command->mask))
            continue;
        zsh_option(option, option->name);
        if (option->alias)
            zsh_option(option, option->alias);
    }
    if (command->actions) {
        fputs("        '1:action:(", stdout);
        put_words(command->actions);
        fputs(")' \\\n", stdout);
    }
    fputs("        '*:FILE:_files' ;;\n", stdout);
}

static void write_zsh(void)
{
    const struct command *command;
    const char *name, *summary;
    fputs("_tenon()\n{\n    local -a commands\n    commands=(\n", stdout);
    for (size_t i = 0; (command = tool_command_at(i)); i++) {
        printf("        '%s:", command->name);
        put_posix(command->summary);
        fputs("'\n", stdout);
    }
    for (size_t i = 0; (name = tool_builtin_at(i, &summary)); i++) {
        printf("        '%s:", name);
        put_posix(summary);
        fputs("'\n", stdout);
    }
    fputs(
        "    )\n    if ((CURRENT == 2)); then\n        _describe -t commands command commands\n        return\n    fi\n"
        "    shift words\n    ((CURRENT--))\n    case $words[1] in\n",
        stdout);
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        zsh_command(command);
    fputs("    help) _describe -t commands command commands ;;\n    esac\n}\n"
          "if [[ $funcstack[1] == _tenon ]]; then\n    _tenon \"$@\"\nelse\n    compdef _tenon tenon\nfi\n",
          stdout);
}

/* ---- fish ---- */

/* Within single quotes. */
static void put_fish(const char *text)
{
    put(text, "'\\", (const char *const[]){"\\'", "\\\\"});
}

/* The end of each line: the text beside what is offered. */
static void fish_help(const char *help)
{
    fputs(" -d '", stdout);
    put_fish(help);
    fputs("'\n", stdout);
}

static void fish_name(const char *name)
{
    if (name)
        printf(name[1] == '-' ? " -l %s" : " -s %s", name + strspn(name, "-"));
}

static void fish_option(const struct option *option)
{
    const struct command *command;
    fputs("complete -c tenon -n '__tenon_is", stdout);
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        if (command->mask & option->commands)
            printf(" %s", command->name);
    fputs("'", stdout);
    fish_name(option->name);
    fish_name(option->alias);
    if (option->argument && !tool_is_optional(option))
        switch (value_of(option)) {
        case VALUE_WORDS:
            fputs(" -x -a '", stdout);
            put_words(option->choices);
            putchar('\'');
            break;
        case VALUE_FILES:
            fputs(" -r -F", stdout);
            break;
        case VALUE_FOLDERS:
            fputs(" -x -a '(__fish_complete_directories)'", stdout);
            break;
        case VALUE_NONE:
            fputs(" -x", stdout);
        }
    fish_help(option->help);
}

static void fish_first_word(const char *name, const char *summary)
{
    printf("complete -c tenon -f -n __tenon_has_no_command -a %s", name);
    fish_help(summary);
}

static void write_fish(void)
{
    const struct command *command;
    const struct option *option;
    const char *name, *summary;
    fputs("# True if the command is one of these.\n"
          "function __tenon_is\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -gt 1; and contains -- $words[2] $argv\n"
          "end\n\n"
          "function __tenon_has_no_command\n    test (count (commandline -opc)) -eq 1\nend\n\n"
          "# True if the command is this one, and has no argument yet.\n"
          "function __tenon_acts\n"
          "    __tenon_is $argv; and test (count (commandline -opc)) -eq 2\n"
          "end\n\n",
          stdout);
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        fish_first_word(command->name, command->summary);
    for (size_t i = 0; (name = tool_builtin_at(i, &summary)); i++)
        fish_first_word(name, summary);
    for (size_t i = 0; (command = tool_command_at(i)); i++)
        if (command->actions) {
            printf("complete -c tenon -f -n '__tenon_acts %s' -a '", command->name);
            put_words(command->actions);
            fputs("'\n", stdout);
        }
    fputs("complete -c tenon -f -n '__tenon_acts help' -a '", stdout);
    put_commands("", " ");
    fputs("'\n", stdout);
    for (size_t i = 0; (option = tool_option_at(i)); i++)
        fish_option(option);
}

/* ---- the command ---- */

int command_completion(struct settings *settings)
{
    static const struct {
        const char *name, *first; /* the first line, which zsh looks at */
        void (*write)(void);
    } shells[] = {{"bash", "", write_bash}, {"zsh", "#compdef tenon\n", write_zsh}, {"fish", "", write_fish}};
    for (size_t i = 0; i < TN_COUNT(shells) && settings->file_count == 1; i++)
        if (strcmp(shells[i].name, settings->files[0]) == 0) {
            printf("%s# Completes command lines of tenon %s; printed by 'tenon completion %s'.\n\n", shells[i].first,
                   tn_version(), shells[i].name);
            shells[i].write();
            return STATUS_OK;
        }
    return tool_fail(STATUS_USAGE, "one of bash, zsh and fish");
}
