#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ../corpus.sh, each program at each level.

all_levels='0 1 2 3'
. tests/programs/corpus.sh
