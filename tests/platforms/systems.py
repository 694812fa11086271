"""What other systems lack of the standard library as it is on Linux."""

from __future__ import annotations

__all__ = ["NOT_IN_MACOS", "NOT_IN_WINDOWS"]

NOT_IN_MACOS = (
    "os.sched_getaffinity os.pidfd_open os.memfd_create os.eventfd os.setresuid os.posix_fadvise "
    "signal.pidfd_send_signal socket.MSG_CMSG_CLOEXEC socket.MSG_NOSIGNAL socket.SOCK_SEQPACKET select.epoll "
    "fcntl.F_OFD_SETLK fcntl.F_OFD_SETLKW fcntl.F_OFD_GETLK resource.prlimit"
)
NOT_IN_WINDOWS = (
    "fcntl resource pwd grp termios tty pty readline syslog os.sched_getaffinity os.pidfd_open os.memfd_create "
    "os.eventfd os.register_at_fork os.fork os.getuid os.geteuid os.killpg os.setresuid os.sched_yield os.uname "
    "os.pread os.pwrite os.O_CLOEXEC os.O_NOFOLLOW os.O_DIRECTORY os.fchmod os.sysconf signal.pidfd_send_signal "
    "signal.pthread_sigmask signal.pthread_kill signal.setitimer signal.SIGALRM signal.SIGHUP signal.SIGKILL "
    "signal.SIGXCPU signal.SIGSYS signal.SIGTRAP signal.SIGCHLD socket.MSG_DONTWAIT "
    "socket.MSG_NOSIGNAL socket.MSG_CMSG_CLOEXEC socket.SOCK_SEQPACKET socket.CMSG_LEN select.poll select.POLLIN "
    "select.POLLOUT select.epoll"
)
