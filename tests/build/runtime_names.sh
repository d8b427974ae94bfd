# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What libtenon.a shows to the program around it, and what it wants from there.

. tests/build/check

archive=$BUILD/libtenon.a
undefined=$(nm --undefined-only "$archive" | awk 'NF == 2 { print $2 }' | sort -u)
# visibility and name of what other objects can see; COM is a definition too
visible=$(readelf --wide --syms "$archive" |
    awk '$1 ~ /^[0-9]+:$/ && $5 ~ /^(GLOBAL|WEAK|UNIQUE)$/ && $7 != "UND" { print $6, $8 }' | sort -u)

# What debuggers look for, see tn_observe_gdb.
debuggers='__jit_debug_(register_code|descriptor)$'

some "it defines public names" "$(echo "$visible" | grep '^DEFAULT tn_')"
none "every public name begins with tn_" "$(echo "$visible" | grep '^DEFAULT' |
    grep -v -E "^DEFAULT (tn_[a-z]|$debuggers)")"
some "debuggers find their interface" "$(echo "$visible" | grep -E "^DEFAULT $debuggers")"
some "it defines internal names" "$(echo "$visible" | grep '^HIDDEN tn__')"
none "every internal name begins with tn__" "$(echo "$visible" | grep -v '^DEFAULT' | grep -v ' tn__[a-z]')"
none "nothing of LLVM is wanted" "$(echo "$undefined" | grep -i 'llvm')"
# Of the names of C++'s runtime, C libraries have these.
none "nothing of C++ is wanted" "$(echo "$undefined" | grep -E '^(_Z|__cxa_|__gxx_)' |
    grep -vE '^__cxa_(atexit|at_quick_exit|finalize)$')"
none "nothing of tenon_codegen is wanted" "$(echo "$undefined" | grep -E '^(tn_compile|tn_codegen)')"
some "mimalloc is inside" "$(nm "$archive" | grep ' t mi_malloc$')"
none "no name of mimalloc is visible" "$(echo "$visible" | grep -E '_?mi_')"
none "nothing of mimalloc is wanted" "$(echo "$undefined" | grep -E '^_?mi_')"
