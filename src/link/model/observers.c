/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/model/session.h"

/* The observers that were added before `end`, last to first. */
static void tell_removed(const struct tn__observers *observers, size_t end,
                         const struct tn_linked_object *const *objects, size_t count)
{
    while (end-- > 0)
        if (observers->items[end].removed)
            observers->items[end].removed(observers->items[end].context, objects, count);
}

void tn__observers_tell_removed(struct tn_session *session, const struct tn_linked_object *const *objects, size_t count)
{
    tell_removed(&session->observers, session->observers.count, objects, count);
}

int tn__observers_tell(struct tn_session *session, const struct tn_linked_object *const *objects, size_t count,
                       struct tn_error *err)
{
    for (size_t i = 0; i < session->observers.count; i++) {
        const struct tn_observer *observer = &session->observers.items[i];
        struct tn_error why;
        tn__fail(&why, 0, "an observer refused it");
        int code = observer->linked ? observer->linked(observer->context, objects, count, &why) : 0;
        if (code) {
            tell_removed(&session->observers, i, objects, count);
            code = tn__fail(err, code < 0 ? code : TN_EINVAL, "%s", "");
            tn__append_text(err, why.text);
            return code;
        }
    }
    return 0;
}
