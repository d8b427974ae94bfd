# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The manual names every command and option that the command itself names, and formats without a complaint.

: "${BUILD:=build}"
. tests/build/check

page=$(sed 's/Fl Fl /--/g; s/Fl /-/g; s/\(-O\) Ar/\1/' doc/tenon.1)
commands=$("$BUILD/tenon" help | sed -n 's/^  tenon \([a-z][a-z-]*\) .*/\1/p')
some "commands are found" "$(echo "$commands" | grep -x export-table)"
for command in $commands; do
    some "command $command" "$(echo "$page" | grep "^.Ss tenon $command\$\|Cm $command")"
    [ "$command" != help ] || continue
    for option in $("$BUILD/tenon" help "$command" | sed -n 's/^  \(-.*\)  .*/\1/p' |
        grep -oE -- '(^|[ ,])-[-A-Za-z]*'); do
        some "option $command $option" "$(echo "$page" | grep -E -- "(^|[^-A-Za-z])$option\b")"
    done
done

# Variables that the tool, the library and the programs it writes read.
for variable in $(grep -rhoE 'getenv\("TENON_[A-Z_]+"\)|is_set\("TENON_[A-Z_]+"\)' src tools |
    grep -oE 'TENON_[A-Z_]+' | sort -u); do
    some "variable $variable" "$(grep -E "^\.It Ev (.* )?$variable( |\$)" doc/tenon.1)"
done

none "it has no mistake" "$(groff -mdoc -ww -z -Tutf8 doc/tenon.1 2>&1)"
