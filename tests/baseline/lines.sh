#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tables of lines: LLVM's tools find nothing wrong with them, each function has the lines that LLVM's own table at
# level 0 has, a debugger steps from line to line in the same way, and traces have lines.

. tests/build/check

here=tests/baseline
out=$BUILD/tests/baseline/lines
mkdir -p "$out" || exit 1

# lines_of OBJECT: each function's lines, sorted.
lines_of() {
    "$LLVM_BIN/llvm-objdump" -dl --no-show-raw-insn "$1" | awk '
        /^[0-9a-f]+ <.*>:$/ { name = $2 }
        /^; .*:[0-9]+$/ { sub(/^; /, ""); sub(/^.*\//, ""); print name, $0 }' | sort -u
}

# steps OBJECT: where a debugger stops.
steps() {
    "${CC:-gcc}" -no-pie "$1" -o "$1.exe" &&
        gdb -nx -q -batch -ex 'set debuginfod enabled off' -ex 'break main' -ex run -ex 'python
for i in range(80):
    where = gdb.selected_frame().find_sal()
    if not where.symtab: break
    print("at", where.symtab.filename.split("/")[-1], where.line)
    gdb.execute("step", to_string=True)' "$1.exe" 2>&1 </dev/null | grep '^at lines.c\|^at other.h'
}

# The same without jumps, which one of the two does not have, and without a line that is written on two.
stops() {
    grep -v 'lines.c 30$\|lines.c 33$\|other.h 103$' | uniq
}

for flags in -O0 "-O1 -Xclang -disable-llvm-passes" -O2; do
    name=lines${flags//[^A-Z0-9]/}
    # shellcheck disable=SC2086
    "$LLVM_BIN/clang" -w -gline-tables-only $flags -emit-llvm -c $here/source/lines.c -o "$out/$name.bc"
    succeeds "$flags: by LLVM" "$BUILD/tenon" compile -O0 "$out/$name.bc" -o "$out/$name.llvm.o"
    said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/$name.bc" -o "$out/$name.o" 2>&1)
    some "$flags: covered" "$(grep ' functions; 0 left to LLVM' <<<"$said")"
    some "$flags: well-formed" "$("$LLVM_BIN/llvm-dwarfdump" --verify "$out/$name.o" 2>&1 | grep '^No errors')"
    some "$flags: there are lines" "$(lines_of "$out/$name.o" | grep '<elsewhere>: other.h:102\|<main>:.*lines.c')"
    # Jumps to what follows, and beginnings and ends of functions, have code in one of the two only.
    none "$flags: the same lines" "$(diff <(lines_of "$out/$name.llvm.o") <(lines_of "$out/$name.o") |
        grep '^[<>]' | grep -v 'lines.c:30$\|lines.c:33$\|other.h:10[17]$')"
done
if command -v gdb >/dev/null; then
    steps "$out/linesO0.o" >"$out/steps"
    some "a debugger steps" "$(grep 'at other.h 102' "$out/steps")"
    none "as through LLVM's code" "$(diff <(steps "$out/linesO0.llvm.o" | stops) <(stops <"$out/steps"))"
else
    echo "skip: there is no gdb"
fi
cat >"$out/crash.c" <<'END'
int *nothing;
int fail(void)
{
    return *nothing;
}
int main(void)
{
    return fail() +
           1;
}
END
"$LLVM_BIN/clang" -w -gline-tables-only -emit-llvm -c "$out/crash.c" -o "$out/crash.bc"
for how in "" --lazy --tiers; do
    said=$(ulimit -c 0 && "$BUILD/tenon" run -O0 --stats $how "$out/crash.bc" 2>&1)
    some "a trace has lines, $how" "$(grep '#0  fail at /.*crash.c:4$' <<<"$said")"
    some "and another, $how" "$(grep '#1  main at /.*crash.c:8$' <<<"$said")"
done
# A file without a folder or a name ends no list.
said=$("$BUILD/tenon" compile -O0 --baseline --stats $here/source/names.ll -o "$out/names.o" 2>&1)
some "names: covered" "$(grep ' functions; 0 left to LLVM' <<<"$said")"
some "names: well-formed" "$("$LLVM_BIN/llvm-dwarfdump" --verify "$out/names.o" 2>&1 | grep '^No errors')"
none "names: all are there" "$("$LLVM_BIN/llvm-dwarfdump" --debug-line "$out/names.o" 2>&1 | grep warning)"
for line in "<nowhere>: names.c:11" "<whole>: whole.h:21" "<nameless>: <stdin>:31" "<elsewhere>: last.h:41"; do
    some "names: $line" "$(lines_of "$out/names.o" | grep -Fx "$line")"
done
# Descriptions of variables are LLVM's.
"$LLVM_BIN/clang" -w -g -emit-llvm -c $here/source/lines.c -o "$out/full.bc"
said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/full.bc" -o "$out/full.o" 2>&1)
some "variables" "$(grep '[0-9]  debug information of variables' <<<"$said")"
