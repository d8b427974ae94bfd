/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int main(void)
{
    struct termios settings = {0};
    int ends[2], leader, follower;
    if (pipe(ends) < 0)
        return 1;
    printf("%d ", tcgetattr(ends[0], &settings));
    printf("%d\n", errno == ENOTTY);
    printf("%d ", cfsetispeed(&settings, B9600));
    printf("%d\n", cfgetispeed(&settings) == B9600);
    cfmakeraw(&settings);
    if (openpty(&leader, &follower, NULL, NULL, NULL) == 0) {
        printf("%d ", tcgetattr(follower, &settings));
        printf("%d\n", isatty(follower));
        settings.c_lflag &= ~(tcflag_t)ECHO;
        printf("%d ", tcsetattr(follower, TCSANOW, &settings));
        printf("%d\n", tcflush(follower, TCIOFLUSH));
        struct winsize size = {.ws_row = 33, .ws_col = 99};
        ioctl(leader, TIOCSWINSZ, &size);
        memset(&size, 0, sizeof size);
        ioctl(follower, TIOCGWINSZ, &size);
        printf("%d %d\n", size.ws_row, size.ws_col);
    }
    return 0;
}
