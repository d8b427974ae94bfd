# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For the scripts beside it.

# table FILE LIBRARY...: C source of a table for tn_resolve_table with what these shared libraries need of glibc, which
# a static program then contains. What is undefined without a version is another library's.
table() {
    local out=$1
    shift
    nm -D --undefined-only "$@" | awk '
        NF == 2 && $2 ~ /@GLIBC_/ { sub("@.*", "", $2); print $2 }' | sort -u |
        grep -Ev '^(dl[a-z]*|_dl_.*|__tls_get_addr|__cxa_atexit|__cxa_thread_atexit_impl|__register_atfork)$' |
        awk '
            BEGIN { print "#include <tenon.h>" }
            { name[++count] = $1; printf "extern char host_%d[] __asm__(\"%s\");\n", count, $1 }
            END {
                print "static const struct tn_export entries[] = {"
                for (i = 1; i <= count; i++) printf "    {\"%s\", host_%d},\n", name[i], i
                print "};"
                printf "const struct tn_symbol_table table = {entries, %d};\n", count
            }' >"$out"
}
