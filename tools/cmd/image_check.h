/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon image check, of the files after that word. */

#ifndef TENON_TOOL_IMAGE_CHECK_H
#define TENON_TOOL_IMAGE_CHECK_H

struct settings;

int command_image_check(const struct settings *settings);

#endif
