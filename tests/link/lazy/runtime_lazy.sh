# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lazy functions in a C++ program: a failing call throws through its loaded caller, and gdb's backtrace during a first
# call leads from the linker through the stub's entry to the loaded caller and the host. gdb knows stubs by their names.

. tests/build/check

: "${CC:=gcc}" "${CXX:=g++}"
if ! command -v "$CXX" >/dev/null; then
    echo "ok lazy functions in C++ # SKIP $CXX is not installed"
    exit 0
fi

here=tests/link/lazy/throwing
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

$CXX -g -O1 -Iinclude $here/host.cpp "$BUILD/libtenon.a" -o "$work/host" || exit 1
$CXX -g -O1 -fPIC -c $here/loaded.cpp -o "$work/loaded.o" || exit 1
$CC -g -O1 -fPIC -c tests/link/data/lazy_once.c -o "$work/once.o" || exit 1

cat >"$work/expected" <<'END'
caught function, cleaned 1
caught in loaded code -5, cleaned 2
answer 43, cleaned 3
END
"$work/host" "$work/loaded.o" "$work/once.o" >"$work/output" 2>&1
none "a failing call throws through its loaded caller" "$(diff "$work/expected" "$work/output")"

if ! command -v gdb >/dev/null; then
    echo "ok gdb # SKIP gdb is not installed"
    exit 0
fi
gdb -nx -q -batch -ex 'set debuginfod enabled off' -ex 'set width 0' -ex 'break while_linking' -ex run -ex backtrace \
    --args "$work/host" "$work/loaded.o" "$work/once.o" >"$work/gdb.log" 2>&1
# gdb takes two underscores of a name without debug information for Ada's, and shows a dot.
frames=$(sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\?\([a-z_.]*\).*/\2/p' "$work/gdb.log" |
    grep -E '^(while_linking|tn(__|\.)lazy_.*|caller|main)$' | tr '\n' ' ')
case $frames in
"while_linking tn__lazy_resolve tn"*"lazy_entry_"*" caller main ") wrong= ;;
*) wrong="$frames $(tail -n 30 "$work/gdb.log")" ;;
esac
none "gdb sees the callers of a function that is linked" "$wrong"

cat >"$work/script" <<'END'
set debuginfod enabled off
set breakpoint pending on
set width 0
break 'function@stub'
run
set $stub = $pc
info symbol $pc
backtrace
stepi
backtrace
stepi
backtrace
delete
break exit
continue
info symbol $stub
END
gdb -nx -q -batch -x "$work/script" --args "$work/host" "$work/loaded.o" "$work/once.o" >"$work/stub.log" 2>&1
some "gdb stops at a stub by its name" "$(grep '^Breakpoint 1, .* in function@stub ()$' "$work/stub.log")"
some "gdb names the stub" "$(grep '^function@stub in section .text of ' "$work/stub.log")"
frames=$(sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\?\([a-z_@]*\) (.*/\2/p' "$work/stub.log" | tr '\n' ' ')
wanted=$(printf 'function@stub caller main %.0s' 1 2 3)
none "gdb sees the caller from each instruction of it" "$([ "$frames" = "$wanted" ] || echo "$frames")"
some "gdb has forgotten it once it was removed" "$(grep '^No symbol matches $stub\.$' "$work/stub.log")"
