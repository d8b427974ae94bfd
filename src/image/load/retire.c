/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Closing an image that threads may be running. What leads to it is led away; then each attached thread passes a
 * quiescent point. Before its own, a thread may have stored an address that it had found earlier: at the end of a first
 * call, for example. Another thread may have come by there, after its quiescent point. So both steps are done twice. */

#include "base/onward.h"
#include "image/load/image.h"
#include "tenon/thread.h"

static void lead_away(const struct tn__image_mapping *mapping)
{
    const struct tn__onward *const kinds[] = {tn__onward_by(&tn__onward_stubs), tn__onward_by(&tn__onward_entries)};
    for (size_t i = 0; i < TN_COUNT(kinds); i++)
        if (kinds[i])
            kinds[i]->lead_away(mapping->start, mapping->size);
}

void tn_image_retire(struct tn_image *image)
{
    for (int round = 0; round < 2 && image && image->file; round++) {
        lead_away(&image->file->mapping);
        tn_quiesce();
    }
    tn_image_close(image);
}
