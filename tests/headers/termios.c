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
    printf("%d %d\n", tcgetattr(ends[0], &settings), errno == ENOTTY);
    printf("%d %d\n", cfsetispeed(&settings, B9600), cfgetispeed(&settings) == B9600);
    cfmakeraw(&settings);
    if (openpty(&leader, &follower, NULL, NULL, NULL) == 0) {
        printf("%d %d\n", tcgetattr(follower, &settings), isatty(follower));
        settings.c_lflag &= ~(tcflag_t)ECHO;
        printf("%d %d\n", tcsetattr(follower, TCSANOW, &settings), tcflush(follower, TCIOFLUSH));
        struct winsize size = {.ws_row = 33, .ws_col = 99};
        ioctl(leader, TIOCSWINSZ, &size);
        memset(&size, 0, sizeof size);
        ioctl(follower, TIOCGWINSZ, &size);
        printf("%d %d\n", size.ws_row, size.ws_col);
    }
    return 0;
}
