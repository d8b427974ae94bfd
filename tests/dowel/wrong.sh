# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Wrong programs, with the message that each gets: in tests/dowel/wrong.txt, each ends with a line `=> MESSAGE`.

. tests/dowel/dowel

awk -v work="$work" '
{ file = sprintf("%s/%03d", work, number + 1) }
/^=> / { print substr($0, 4) >(file ".expected"); close(file ".expected"); number++; next }
{ print >(file ".dowel") }' tests/dowel/wrong.txt
for program in "$work"/*.dowel; do
    answers "$(head -c 60 "$program" | head -1)" "wrong:$(cat "${program%dowel}expected")" \
        bash -c "'$dowel' '$program' 2>&1 | sed 's|^$program|wrong|'"
done
{
    for i in {1..65}; do echo "        let v$i = $i"; done
    echo "    let f = fn(): i64 { return $(printf '%s + ' v{1..65})0 }"
} | { echo 'if true {'; cat; echo '}'; } >"$work/copies"
answers "a closure with 65 copies is refused" "$work/copies:67:203: copies of more than 30 variables are too many" \
    "$dowel" "$work/copies"
some "there are 40 of them" "$(find "$work" -name '*.expected' | wc -l | grep -x '[4-9].')"

answers "a folder is no program" "dowel: $work cannot be read" bash -c "'$dowel' '$work' 2>&1"
: >"$work/empty"
succeeds "an empty file is one" "$dowel" "$work/empty"

lsan=$("$CC" -print-file-name=liblsan.so)
if [ -e "$lsan" ]; then
    printf 'fn f() { }\nlet x = 1\nprint(y)\n' >"$work/leak.dowel"
    answers "modules around a mistake are freed" "$work/leak.dowel:3:7: there is no 'y'" \
        env LD_PRELOAD="$lsan" "$dowel" "$work/leak.dowel"
else
    echo "ok modules around a mistake # SKIP $CC has no leak sanitizer"
fi
