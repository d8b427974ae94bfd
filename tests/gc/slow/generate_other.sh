# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# 10,000 generated programs with the generational collector, each at one optimisation level; a tenth of them mostly do
# what needs several threads; and a tenth as many with the concurrent one. PROGRAMS=N: so many.
#
# time limit: 36000

: "${PROGRAMS:=10000}"
export FOLDER=generate_other TENON_GC=generational
first=100000 threads=$((PROGRAMS / 10))
bash tests/gc/generate.sh $first $((PROGRAMS - threads)) | sed 's/gc\/generate/& generational/'
bash tests/gc/generate.sh $((first + PROGRAMS)) $threads "" threads | sed 's/gc\/generate/& generational, threads/'
TENON_GC=concurrent STRESS=0 bash tests/gc/generate.sh $((first + PROGRAMS + threads)) $threads |
    sed 's/gc\/generate/& concurrent/'
