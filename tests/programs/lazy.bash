# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What lazy_*.sh share: a program's bitcode, compiled function by function while it already runs, prints what the
# ordinary command prints; no function is compiled twice, and some never are. With tiers, some are compiled again.

. "$(dirname "${BASH_SOURCE[0]}")/programs.bash"

declare -A functions # how many there are in these files

# Two checks: $1 name, $2 record of the ordinary program, $3 threads, $4 how many percent of the functions may be
# compiled at most, then the bitcode and after -- the arguments. Standard input is the file $input, if that is set.
check_lazy() {
    local name="programs/$1, lazily, $3 threads" ordinary=$2 threads=$3 most=$4 stem=$out/$1.threads$3 files=() file
    shift 4
    for file; do
        [ "$file" = -- ] && break
        files+=("$file")
    done
    record "$stem" "$BUILD/tenon" run -O0 --lazy --threads "$threads" --trace-compile="$stem.trace" "$@" \
        <"${input:-/dev/null}"
    same "$name" "$ordinary" "$stem"
    local all compiled twice
    [ -n "${functions[${files[*]}]-}" ] || functions[${files[*]}]=$(for file in "${files[@]}"; do
        "$BUILD/tenon" compile -O0 --trace-compile=- "$file" -o /dev/null 2>&1
    done | grep -c '^precompile')
    all=${functions[${files[*]}]}
    compiled=$(sort -u "$stem.trace" | grep -c '^precompile')
    twice=$(sed 's/ #.*//' "$stem.trace" | sort | uniq -d)
    if [ "$compiled" -gt 100 ] && [ "$compiled" -lt $((all * most / 100)) ] && [ -z "$twice" ]; then
        echo "ok $name: compiled $compiled of $all functions"
    else
        echo "not ok $name: compiled $compiled of $all functions, twice: $twice"
    fi
}

# $1 name, $2 record of the ordinary program, $3 how many functions have to be compiled again at least, then what stands
# after `tenon run`. Standard input as above. Two checks; one if that is 0, as for a program that may end before.
check_tiers() {
    local name="programs/$1, with tiers" stem=$out/$1.tiers ordinary=$2 least=$3 again
    shift 3
    record "$stem" "$BUILD/tenon" run --tiers --profile="$stem.profile" "$@" <"${input:-/dev/null}"
    same "$name" "$ordinary" "$stem"
    [ "$least" -gt 0 ] || return 0
    again=$(awk '$2 == 1 && $NF != "main"' "$stem.profile" | wc -l)
    if [ "$again" -ge "$least" ]; then
        echo "ok $name: compiled $again functions again"
    else
        echo "not ok $name: compiled $again functions again, not $least"
    fi
}
