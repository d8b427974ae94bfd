/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How code finds the images of the process: dl_iterate_phdr shows their own segments, and unwinders that were loaded
 * ask _dl_find_object. The list is guarded by the threads' lock, because images come and go while a session is
 * locked. */

#include <link.h>

#include "base/thread.h"
#include "link/process/process.h"
#include "link/shared/shared.h"
#include "link/tls/tls.h"

static struct tn__list images = {&images, &images};

/* Under the lock. */
static void drop(struct tn__shared_image *image)
{
    if (!--image->users)
        tn__free(NULL, image);
}

/* ---- dl_iterate_phdr ---- */

struct list {
    struct tn__shared_image **items;
    size_t count, capacity;
};

static bool take_all(struct list *list)
{
    bool ok = true;
    tn__threads_lock();
    for (TN_EACH(struct tn__shared_image, image, &images, listed)) {
        ok = ok && tn__grow(NULL, &list->items, &list->capacity, list->count + 1, sizeof *list->items);
        if (!ok)
            break;
        image->users++;
        list->items[list->count++] = image;
    }
    tn__threads_unlock();
    return ok;
}

static void drop_all(struct list *list)
{
    tn__threads_lock();
    for (size_t i = 0; i < list->count; i++)
        drop(list->items[i]);
    tn__threads_unlock();
    tn__free(NULL, list->items);
}

static struct dl_phdr_info describe(const struct tn__shared_image *image)
{
    struct dl_phdr_info info = {.dlpi_addr = image->link_map.bias,
                                .dlpi_name = image->link_map.name,
                                .dlpi_phdr = (const ElfW(Phdr) *)image->headers,
                                .dlpi_phnum = image->header_count};
    if (image->tls) {
        info.dlpi_tls_modid = (size_t)image->tls + TN__TLS_MODULE; /* tls.h */
        info.dlpi_tls_data = tn__tls_peek((uint64_t)image->tls);
    }
    return info;
}

/* No lock is held while the caller's function runs. Unwinders keep the headers that they are shown, until the counts
 * change: so they are the image's own. */
static int visit_images(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context,
                        unsigned long long adds, unsigned long long subs)
{
    struct list list = {0};
    int code = take_all(&list) ? 0 : -1;
    for (size_t i = 0; i < list.count && !code; i++) {
        struct dl_phdr_info info = describe(list.items[i]);
        info.dlpi_adds = adds;
        info.dlpi_subs = subs;
        code = visit(&info, sizeof info, context);
    }
    drop_all(&list);
    return code;
}

/* ---- _dl_find_object ---- */

/* As glibc's struct dl_find_object. */
struct found {
    unsigned long long flags;
    void *start, *end;
    const void *link_map;
    void *frames;
    unsigned long long reserved[7];
};

extern int find_in_host(void *address, void *result) __asm__("_dl_find_object") __attribute__((weak));

int tn__shared_find_object(void *address, void *result)
{
    int code = -1;
    uint64_t at = (uintptr_t)address;
    tn__threads_lock();
    for (TN_EACH(const struct tn__shared_image, image, &images, listed)) {
        const struct tn__mem_range *range = &image->image.range;
        if (at - range->address >= range->size)
            continue;
        *(struct found *)result = (struct found){.start = (void *)(uintptr_t)range->address,
                                                 .end = (void *)(uintptr_t)(range->address + range->size),
                                                 .link_map = &image->link_map,
                                                 .frames = (void *)(uintptr_t)image->frames};
        code = image->frames ? 0 : -1;
    }
    tn__threads_unlock();
    return code && find_in_host ? find_in_host(address, result) : code;
}

/* ---- the list ---- */

void tn__shared_announce(struct tn__shared_image *image)
{
    tn__itself_watch_images(visit_images);
    tn__threads_lock();
    tn__list_append(&images, &image->listed);
    tn__threads_unlock();
}

void tn__shared_withdraw(struct tn__shared_image *image)
{
    tn__threads_lock();
    tn__list_remove(&image->listed);
    drop(image);
    tn__threads_unlock();
}
