#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Some programs of csmith, always the same ones; slow/csmith.sh runs more.

. tests/baseline/csmith.bash

check_csmith "$BUILD/tests/baseline/csmith" 500 20
