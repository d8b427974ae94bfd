# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Each pass of ours has a row in doc/PASSES.md or in the table of doc/IR.md, and a test in tests/ir that runs it by its
# name. A row of PASSES.md names counters that tenon opt --stats prints, and tests that expect more than 0 of each; and
# unless nothing else can do what the pass does, an option that turns it off, with which a test runs as well.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
. tests/build/check

ours=$(comm -23 <("$BUILD/tenon" opt | sed 's/<.*//' | sort -u) \
    <("$LLVM_BIN/opt" --print-passes | sed -n 's/^  \([a-z0-9-]*\).*/\1/p' | sort -u))
stages=$(sed -n '/^| stage | markers/,/^$/s/^| `\([a-z-]*\)` .*/\1/p' doc/PASSES.md)
ours=$(grep -vxF -e tenon -e asan -e msan -e tsan -e "$stages" <<<"$ours")
counters=$("$BUILD/tenon" opt --stats --passes=sroa bench/one.ll 2>&1 >/dev/null | sed -n 's/^ *0 //p')
options=$("$BUILD/tenon" opt '--passes=tenon<unknown>' bench/one.ll 2>&1 | grep -oP '\[no_\]\K[a-z0-9_]*')
some "passes are found" "$(grep -x alloc-opt <<<"$ours")"
some "counters are found" "$(grep -x handlers <<<"$counters")"
some "options are found" "$(grep -x alloc_opt <<<"$options")"

# column TITLE: of the tables of PASSES.md that have counters, "FIRST TITLE|NAME|CELL" of each row.
column() {
    awk -F ' *[|] *' -v title="^$1s?\$" '
        !/^\|/ { at = 0 }
        /^\|/ && !at { for (i = 2; i < NF; i++) if ($i ~ title) at = i; counted = /\| counters? \|/; first = $2; next }
        /^\| `/ && at && counted { gsub("`", "", $2); print first "|" $2 "|" $at }' doc/PASSES.md
}

# ---- passes ----

for pass in $ours; do
    some "$pass is in a table" "$(grep -E "^\| .*\`$pass\`.* \|" doc/PASSES.md doc/IR.md)"
    some "$pass is run by a test" "$(grep -lE "passes='?([^ ]*[,;])?$pass\b" tests/ir/*.{ll,test})"
done

# ---- rows ----

rows=$(column counter)
some "rows are found" "$(grep "alloc-opt" <<<"$rows")"
while IFS='|' read -r title name counted; do
    mapfile -t tests < <(column test | grep -F "|$name|" | grep -o 'tests/ir/[^`]*')
    some "$name has tests" "$(ls "${tests[@]}" 2>/dev/null)"
    some "$name has counters" "$counted"
    while read -r counter; do
        some "$name: tenon opt --stats prints '$counter'" "$(grep -xF "$counter" <<<"$counters")"
        some "$name: a test expects some '$counter'" "$(grep -E "STATS: [1-9][0-9]* $counter\$" "${tests[@]}")"
    done < <(sed 's/, */\n/g' <<<"$counted")
    [ "$title" != "lowering pass" ] || continue
    option=${name//-/_}
    some "$name: option $option" "$(grep -x "$option" <<<"$options")"
    some "$name: a test runs with no_$option" "$(grep -E "no_$option\b" "${tests[@]}")"
done <<<"$rows"

# ---- counters and options ----

# Those of root placement and of what is inserted are described there.
for counter in $(tr ' ' '_' <<<"$counters"); do
    some "a test counts ${counter//_/ }" "$(grep -hE "[A-Z]: [1-9][0-9]* ${counter//_/ }\$" tests/ir/*.{ll,test})"
done
for option in $options; do
    some "option $option is described" "$(grep -E "^\| .*\`$option\`" doc/PASSES.md)"
done
