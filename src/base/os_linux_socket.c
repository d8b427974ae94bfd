/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sockets between processes of one machine. See unix(7), cmsg(3), fcntl(2) F_GET_SEALS. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

int tn__os_socket_pair(int pair[2])
{
    int error = tn__os_fault(false, NULL);
    if (!error && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        error = errno;
    if (error)
        return error;
    int second = 0;
    error = tn__os_raise(&pair[0]);
    second = tn__os_raise(&pair[1]);
    if (!error && !second)
        return 0;
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
    return error ? error : second;
}

static int make_address(const char *path, struct sockaddr_un *address)
{
    size_t length = strlen(path);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!length || length >= sizeof address->sun_path)
        return ENAMETOOLONG;
    memcpy(address->sun_path, path, length);
    return 0;
}

static int open_socket(const char *path, struct sockaddr_un *address, int *fd)
{
    int error = tn__os_fault(false, NULL);
    if (!error)
        error = make_address(path, address);
    if (error)
        return error;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return *fd < 0 ? errno : tn__os_raise(fd);
}

int tn__os_connect(const char *path, int *fd)
{
    struct sockaddr_un address;
    int error = open_socket(path, &address, fd);
    if (error || !connect(*fd, (struct sockaddr *)&address, sizeof address))
        return error;
    error = errno;
    close(*fd);
    return error;
}

int tn__os_listen(const char *path, bool any_user, int *fd)
{
    enum { WAITING = 64 };
    struct sockaddr_un address;
    int error = open_socket(path, &address, fd);
    if (error)
        return error;
    mode_t mask = umask(any_user ? 0111 : 0177);
    bool good = !bind(*fd, (struct sockaddr *)&address, sizeof address);
    error = errno;
    umask(mask);
    if (good && !listen(*fd, WAITING))
        return 0;
    error = good ? errno : error;
    close(*fd);
    return error;
}

int tn__os_accept(int listening, int *fd)
{
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    struct sockaddr_un peer;
    socklen_t size = sizeof peer;
    do
        *fd = accept4(listening, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);
    while (*fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return *fd < 0 ? errno : tn__os_raise(fd);
}

int tn__os_keep_socket(int fd)
{
    int flags = fcntl(fd, F_GETFD);
    return flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) ? errno : 0;
}

void tn__os_shutdown(int fd)
{
    shutdown(fd, SHUT_RDWR);
}

int tn__os_peer_user(int fd, uint32_t *user)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size))
        return errno;
    *user = credentials.uid;
    return 0;
}

uint32_t tn__os_user(void)
{
    return geteuid();
}

/* ---- sending and receiving ---- */

/* Waits until the socket can be read or written. */
static int await(int fd, short events, uint64_t until)
{
    for (;;) {
        struct pollfd one = {.fd = fd, .events = events};
        uint64_t now = until == UINT64_MAX ? 0 : tn__os_now_ns();
        if (until != UINT64_MAX && now >= until)
            return ETIMEDOUT;
        uint64_t left = until - now;
        struct timespec time = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        int ready = ppoll(&one, 1, until == UINT64_MAX ? NULL : &time, NULL);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return errno;
    }
}

static bool is_for_later(int error)
{
    return error == EAGAIN || error == EINTR;
}

union control {
    char bytes[CMSG_SPACE(4 * sizeof(int))];
    struct cmsghdr aligned;
};

static void attach(struct msghdr *message, union control *control, int passed)
{
    *control = (union control){{0}};
    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(sizeof passed);
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof passed), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &passed, sizeof passed);
}

int tn__os_send(int fd, const void *bytes, size_t size, int passed, uint64_t until)
{
    const char *at = bytes;
    while (size) {
        bool half;
        int error = tn__os_socket_fault(&half);
        if (error == EINTR)
            continue;
        if (error)
            return error;
        union control control;
        struct iovec piece = {(void *)(uintptr_t)at, half ? (size + 1) / 2 : size};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        if (passed >= 0)
            attach(&message, &control, passed);
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        error = sent < 0 ? errno : 0;
        if (is_for_later(error))
            error = await(fd, POLLOUT, until);
        if (error)
            return error == ECONNRESET ? EPIPE : error;
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
            passed = -1;
        }
    }
    return 0;
}

/* Takes the descriptors that came; more than the caller wants are a mistake of the other end. */
static int take_passed(struct msghdr *message, int *passed)
{
    int error = message->msg_flags & MSG_CTRUNC ? EPROTO : 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
            if (passed && *passed < 0 && !tn__os_raise(&fd))
                *passed = fd;
            else
                error = EPROTO;
            if (error && fd >= 0 && (!passed || fd != *passed))
                close(fd);
        }
    }
    return error;
}

int tn__os_receive(int fd, void *bytes, size_t size, int *passed, uint64_t until, size_t *got)
{
    char *at = bytes;
    *got = 0;
    if (passed)
        *passed = -1;
    while (*got < size) {
        bool half;
        int error = tn__os_socket_fault(&half);
        if (error == EINTR)
            continue;
        union control control;
        struct iovec piece = {at + *got, half ? (size - *got + 1) / 2 : size - *got};
        struct msghdr message = {
            .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        ssize_t taken = error ? -1 : recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        error = error ? error : taken < 0 ? errno : take_passed(&message, passed);
        if (is_for_later(error))
            error = await(fd, POLLIN, until);
        if (error == ECONNRESET || (!error && !taken))
            return 0;
        if (error)
            return error;
        *got += taken > 0 ? (size_t)taken : 0;
    }
    return 0;
}

/* ---- sealed files ---- */

int tn__os_make_sealed(const void *bytes, size_t size, int *fd)
{
    enum { NEVER_EXECUTABLE = 8 /* MFD_NOEXEC_SEAL, which is not in all headers */ };
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const struct tn__piece piece = {bytes, size};
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    *fd = memfd_create("tenon", flags | NEVER_EXECUTABLE);
    if (*fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        *fd = memfd_create("tenon", flags);
    if (*fd < 0)
        return errno;
    error = tn__os_raise(fd);
    if (!error)
        error = tn__os_write(*fd, 0, &piece, 1);
    if (!error)
        error = tn__os_seal(*fd);
    if (error && *fd >= 0)
        close(*fd);
    return error;
}

bool tn__os_is_sealed(int fd, uint64_t size)
{
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int set = fcntl(fd, F_GET_SEALS); /* which other files do not have */
    off_t end = set >= 0 && (set & seals) == seals ? lseek(fd, 0, SEEK_END) : -1;
    return end >= 0 && (uint64_t)end == size;
}
