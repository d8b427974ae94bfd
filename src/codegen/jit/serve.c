/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM in this process as the compiler of a server (src/remote). */

#include "remote/service.h"
#include "tenon_codegen.h"

int tn_compile_serve(const struct tn_serve_options *options, struct tn_error *err)
{
    const struct tn__service service = {.compiler = *tn_codegen_compiler(), .whole = tn_compile};
    return options ? tn__serve(&service, options, err) : tn__no_argument(err);
}
