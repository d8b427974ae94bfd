#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of csmith by the baseline compiler: SEEDS=FIRST:COUNT, or else 2,000, others each day.
#
# time limit: 14400

: "${SEEDS:=$(($(date +%s) / 86400 * 5000)):2000}"
[[ $SEEDS =~ ^[0-9]+:[1-9][0-9]*$ ]] || { echo "not ok baseline/csmith: SEEDS=$SEEDS is no FIRST:COUNT"; exit 1; }
. tests/baseline/csmith.bash

check_csmith "$BUILD/tests/baseline/csmith_slow" "${SEEDS%:*}" "${SEEDS#*:}"
