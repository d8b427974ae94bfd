# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Images of managed code for several CPUs, of a hundredth of the first 10,000 generated programs, another one each day.
#
# time limit: 36000

today=$(($(date +%s) / 86400))
exec bash tests/image/collected.sh $((today % 100 * 100 + 1)) 100
