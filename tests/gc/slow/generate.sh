# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Generated programs, each at all optimisation levels: SEEDS=FIRST:COUNT, or else a twentieth of the first 10,000, a
# different one each day. Sanitizers look at the ordinary programs that say what is right: a data race, for example,
# would make that random.
#
# time limit: 36000

count=500 portions=20
today=$(($(date +%s) / 86400))
: "${SEEDS:=$((today % portions * count + 1)):$count}"
[[ $SEEDS =~ ^[0-9]+:[1-9][0-9]*$ ]] || { echo "not ok gc/generate: SEEDS=$SEEDS is no FIRST:COUNT"; exit 1; }
export TWIN_SANITIZERS="thread address memory"
exec bash tests/gc/generate.sh "${SEEDS%:*}" "${SEEDS#*:}" "0 1 2 3 baseline"
