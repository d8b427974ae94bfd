# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For scripts about images of collected C that uses saved objects: where they work, and how they compile.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
source=tests/image/source
stress='TENON_GC_STRESS=1 TENON_GC_VERIFY=1'
values=(--value 'tn_type_of_node=type:struct node' --value 'tn_type_of_nodes=type:struct nodes'
    --value 'tn_weak_type=type:weak' --value first_node=root:first)

managed() { "$LLVM_BIN/clang" -w -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c "$@"; }

# What values_host.c prints when it uses the code of values.c.
cat >"$work/used" <<'END'
it reads the saved list
it allocates
it stores into the saved list
what it allocates is of the saved type
it finds the object
and its type, on any way
weak references too
END
