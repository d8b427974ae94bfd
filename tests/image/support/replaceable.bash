# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What tests/image/source/replaceable_host.c prints.

said="before: 203 5 10 3 125136 5
redirected: 809 11 -96 6 155321 5
leaf is depth: 103 4 10 3 125136 5
TN_EINVAL: 'depth' would lead to itself
TN_EINVAL: 'depth' would lead to itself
TN_ENOTSUP: 'calls' of image tn_image was built with direct calls; --replaceable
TN_EUNDEF: 'none' is not a public function of image tn_image
after: 203 5 10 3 125136 5
0 calls were wrong
at the end: 203 5 10 3 125136 5"
