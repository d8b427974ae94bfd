/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images of what was added to a JIT that keeps its IR. */

#include "codegen/image/image.h"
#include "jit/jit.h"

/* Oldest first. What is in the list stays as it is, so the inputs are good without the lock. NULL: memory is out. */
static struct tn_image_input *list_inputs(struct tn_jit *jit, const struct tn_library *library, size_t *count)
{
    const uint64_t number = tn_library_number(library);
    *count = 0;
    tn__jit_lock();
    for (const struct tn__jit_kept *kept = jit->kept; kept; kept = kept->next)
        *count += kept->library == number;
    struct tn_image_input *inputs = tn__alloc_zeroed(NULL, *count + 1, sizeof *inputs);
    size_t at = *count;
    for (const struct tn__jit_kept *kept = jit->kept; kept && inputs; kept = kept->next)
        if (kept->library == number)
            inputs[--at] = (struct tn_image_input){kept->name, kept->ir, kept->length};
    tn__jit_unlock();
    return inputs;
}

int tn_jit_build_image(struct tn_jit *jit, struct tn_library *library, const struct tn_image_options *options,
                       struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err)
{
    if (!jit || !out)
        return tn__no_argument(err);
    memset(out, 0, TN_IMAGE_OUTPUTS * sizeof *out);
    if (!jit->keeps_ir)
        return tn__fail(err, TN_EINVAL, "tn_jit_build_image: the JIT was created without keep_ir");
    struct tn_image_options taken;
    int code = tn__take_options(&taken, sizeof taken, options, "struct tn_image_options", err);
    if (code)
        return code;
    if (!taken.native)
        taken.native = jit->compile.native;
    size_t count;
    struct tn_image_input *inputs = list_inputs(jit, library ? library : jit->library, &count);
    if (!inputs)
        return tn__fail(err, TN_ENOMEM, "no memory for a list of modules");
    code = count ? tn__image_build(inputs, count, true, &taken, out, stats, err)
                 : tn__fail(err, TN_EINVAL, "tn_jit_build_image: no module was added to the library");
    tn__free(NULL, inputs);
    return code;
}
