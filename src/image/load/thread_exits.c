/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How long a loaded file stays: until it is closed, all threads have run the destructors of its thread_local objects,
 * and no file is left that was opened with it and may call it from such a destructor. These are its users, which are
 * counted. Its finalizers run once: when it is closed, or at the end of the process. */

#include <pthread.h>
#include <stdlib.h>

#include "base/fork.h"
#include "image/load/image.h"

int __cxa_atexit(void (*function)(void *argument), void *argument, void *handle);

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_IMAGES);
static struct tn__list all = {&all, &all};
static struct tn__list left = {&left, &left}; /* in the child of a fork: without users, but not released yet */

static void lock_all(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_IMAGES, &hooks);
    tn__mutex_lock(&lock);
}

/* ---- users ---- */

static void move_image(struct tn_image *image, struct tn__list *to)
{
    tn__list_remove(&image->listed);
    tn__list_append(to, &image->listed);
}

static void drop_user(struct tn_image *image, struct tn__list *going)
{
    if (!--image->users)
        move_image(image, going);
}

/* Unlocks. What is going comes before the images that it used. */
static void release_all(struct tn__list *going)
{
    while (left.next != &left)
        move_image(tn__container_of(left.next, struct tn_image, listed), going);
    for (TN_EACH(struct tn_image, image, going, listed))
        for (size_t i = 0; i < image->used_count; i++)
            drop_user(image->used[i], going);
    tn__mutex_unlock(&lock);
    for (TN_EACH_TO_REMOVE(struct tn_image, image, going, listed)) {
        tn__image_release(image->file);
        tn__image_free(image);
    }
}

static bool let_go(struct tn_image *image)
{
    struct tn__list going = {&going, &going};
    lock_all();
    drop_user(image, &going);
    bool gone = !image->users;
    release_all(&going);
    return gone;
}

/* ---- destructors of threads ---- */

/* In the child of a fork, nothing can be released yet. */
static bool ended(struct tn__thread_ends *owner, void *part, bool ran)
{
    (void)part;
    struct tn_image *image = tn__container_of(owner, struct tn_image, thread_exits);
    if (ran)
        return let_go(image);
    drop_user(image, &left);
    return false;
}

static bool holds(const struct tn_image *image, const void *address)
{
    const struct tn__image_mapping *m = &image->file->mapping;
    return (uintptr_t)address - m->start < m->size;
}

/* Registering is rare, so all files are looked at. */
static struct tn_image *image_at(const void *address)
{
    for (TN_EACH(struct tn_image, image, &all, listed))
        if (holds(image, address))
            return image;
    return NULL;
}

int tn__image_thread_atexit(void (*function)(void *), void *argument, void *handle)
{
    lock_all();
    struct tn_image *image = image_at(handle);
    if (!image)
        image = image_at((const void *)(uintptr_t)function);
    bool added = image && tn__thread_end_add(&image->thread_exits, NULL, function, argument);
    if (added)
        image->users++;
    tn__mutex_unlock(&lock);
    return added ? 0 : -1;
}

void tn__image_run_thread_exits(struct tn_image *image)
{
    for (struct tn__thread_end *end; (end = tn__thread_end_take(&image->thread_exits, NULL, NULL));)
        tn__thread_end_run(end);
}

/* ---- finalizers ---- */

static void run_thread_exits_of(void *handle)
{
    lock_all();
    struct tn_image *image = tn__thread_end_waits() ? image_at(handle) : NULL;
    tn__mutex_unlock(&lock);
    if (image)
        tn__image_run_thread_exits(image);
}

/* At the end of the process, the objects of the thread that calls exit go before what is registered here (C++
 * [basic.start.term]), so each handler has one before it that sees to that. */
int tn__image_atexit(void (*function)(void *), void *argument, void *handle)
{
    int code = __cxa_atexit(function, argument, handle);
    return code ? code : __cxa_atexit(run_thread_exits_of, handle, handle);
}

void tn__image_finalize(struct tn_image *image)
{
    const struct tn__image_calls *calls = &image->file->finalizers;
    for (uint64_t rest = __atomic_load_n(&image->finalizers, __ATOMIC_RELAXED); rest;) {
        if (!__atomic_compare_exchange_n(&image->finalizers, &rest, rest - 1, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        void (*function)(void);
        memcpy(&function, (const void *)(uintptr_t)(calls->address + 8 * --rest), sizeof function);
        function();
    }
}

/* The one that was opened last, with another user; NULL: none is rest. */
static struct tn_image *next_to_finalize(void)
{
    struct tn_image *found = NULL;
    lock_all();
    for (TN_EACH(struct tn_image, image, &all, listed))
        if (__atomic_load_n(&image->finalizers, __ATOMIC_RELAXED))
            found = image;
    if (found)
        found->users++;
    tn__mutex_unlock(&lock);
    return found;
}

/* Also what a finalizer leaves that has called exit. */
static void finalize_all(void)
{
    for (struct tn_image *image; (image = next_to_finalize());) {
        tn__image_run_thread_exits(image);
        tn__image_finalize(image);
        let_go(image);
    }
}

/* What files register to run at exit comes later in the C library's list, and so runs before. */
int tn__image_finalize_at_exit(const struct tn__image_opening *o)
{
    static bool is_watched;
    struct tn_image *image = o->image;
    bool needed = image->file->finalizers.count, failed = false;
    lock_all();
    if (needed && !is_watched)
        failed = !(is_watched = !atexit(finalize_all));
    if (!failed)
        __atomic_store_n(&image->finalizers, image->file->finalizers.count, __ATOMIC_RELAXED);
    tn__mutex_unlock(&lock);
    return failed ? tn__fail(o->err, TN_ENOMEM, "out of memory") : 0;
}

/* ---- images ---- */

int tn__image_enter(const struct tn__image_opening *o)
{
    const struct tn_image_load_options *options = o->options;
    struct tn_image *image = o->image;
    struct tn_image **used = tn__arena_array(&image->arena, options->image_count, sizeof *used);
    if (options->image_count && !used)
        return tn__fail(o->err, TN_ENOMEM, "%s: out of memory", image->file->mapping.name);
    image->used = used;
    image->thread_exits = (struct tn__thread_ends){ended};
    tn__thread_ends_prepare();
    image->users = 1 + (image->heap != NULL); /* which is over when the heap is */
    lock_all();
    for (size_t i = 0; i < options->image_count; i++)
        if (options->images[i]->file) { /* what is linked in stays anyway */
            options->images[i]->users++;
            used[image->used_count++] = options->images[i];
        }
    tn__list_append(&all, &image->listed);
    tn__mutex_unlock(&lock);
    return 0;
}

void tn__image_leave(struct tn_image *image)
{
    let_go(image);
}
