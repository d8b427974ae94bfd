#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The benchmarks' programs measure what they say, on a small object: that they run and that their answers make sense.

. "$(dirname "$0")/programs.bash"
echo 1..4
bench=$out/bench
mkdir -p "$bench"
make -s -f bench/rules.mk out="$bench" BUILD="$BUILD" CC="${CC:-gcc}" LLVM_BIN="$LLVM_BIN" \
    "$bench"/{spawn,copy,link,one} || exit 1
echo 'static int table[3] = {40, 1, 1}; extern int host_function(void); int called(void) { return host_function(); }
int answer(void) { return table[0] + table[1] + table[2]; }' >"$out/small.c"
${CC:-gcc} -O0 -fPIC -c "$out/small.c" -o "$out/small.o" || exit 1

# expect NAME PATTERN COMMAND...: every line of the pattern, an extended regular expression, occurs in what is printed.
expect() {
    local name=$1 patterns=$2 pattern output
    shift 2
    output=$("$@" 2>&1)
    while read -r pattern; do
        grep -Eqx "$pattern" <<<"$output" && continue
        echo "not ok programs/bench.$name: no line '$pattern' in: $(tr '\n' ' ' <<<"$output")"
        return
    done <<<"$patterns"
    echo "ok programs/bench.$name"
}
number='[1-9][0-9]*(\.[0-9]+)?'
expect link "cold median_us $number
warm median_us ([0-9]|$number)(\.[0-9])?
relocations [1-9][0-9]*
peak_rss_kb $number
answer\(\) 42" "$bench/link" "$out/small.o" --symbol answer --call --runs 3
expect link_unknown "link: no object defines the symbol
link: a run failed" "$bench/link" "$out/small.o" --symbol no_such_symbol --runs 3
expect copy "copy_us $number
first_output_us $number
peak_rss_kb $number" "$bench/spawn" 3 "$bench/copy" "$out/small.o"
expect one "first_output_us $number
exit_us $number" "$bench/spawn" 3 "$bench/one"
