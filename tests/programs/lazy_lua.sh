#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua from its source, a module for each file of it: a program of numbers, and one of strings and patterns.

. "$(dirname "$0")/lazy.bash"
echo 1..10
for script in nbody strings; do
    record "$out/$script.ordinary" lua5.4 $here/$script.lua
    for threads in 0 2; do
        check_lazy $script "$out/$script.ordinary" $threads 75 "$bitcode"/lua/*.bc -- $here/$script.lua
    done
    check_tiers $script "$out/$script.ordinary" 0 "$bitcode"/lua/*.bc -- $here/$script.lua
done
