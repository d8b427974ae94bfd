/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sections of COFF that are called NAME$SUFFIX lie together whether or not something refers to their bounds, in the
 * order of the suffixes: programs put labels into the first and the last. */

#include "link/passes/steps.h"

/* Sections with a $ in their names, which come behind one without it. */
int tn__gather_groups(struct tn__link *link)
{
    int code = link->named ? 0 : tn__link_index_sections(link);
    for (size_t i = 0; !code && i < link->named_count; i++) {
        const struct tn__input_section *section = link->named[i].section;
        bool open = section->grouped && !section->gathered && tn__section_may_be_gathered(section);
        const char *dollar = open ? strchr(section->name, '$') : NULL;
        if (dollar)
            code = tn__link_gather_wanted(
                link, &(struct tn__gather_pattern){section->name, (size_t)(dollar - section->name), TN__GATHER_GROUP});
    }
    return code;
}
