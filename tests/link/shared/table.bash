# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For the scripts beside it.

export_table="$(realpath "$BUILD/tenon") export-table"

# table FILE LIBRARY...: C source of a table for tn_resolve_table with what these shared libraries need of glibc, which
# a static program then contains.
table() {
    local out=$1
    shift
    $export_table --name=table "${@/#/--for=}" -o "$out"
}
