"""The numbers of the system calls that the tests of the filters speak of, as the kernel's own tables have them.

Written down here, apart from what makes the filters, so that a mistake there is not repeated by its test.
"""

from __future__ import annotations

__all__ = ["NUMBERS"]

# Each name with its number on x86-64 (syscall_64.tbl of the kernel) and on aarch64 (its asm-generic/unistd.h).
_TABLE = """
accept4 288 242 | access 21 - | acct 163 89 | add_key 248 217 | adjtimex 159 171 | alarm 37 - | arch_prctl 158 -
bind 49 200 | bpf 321 280 | brk 12 214 | capset 126 91 | chdir 80 49 | chmod 90 - | chroot 161 51 | clock_getres 229 114
clock_gettime 228 113 | clock_nanosleep 230 115 | clock_settime 227 112 | clone 56 220 | clone3 435 435 | close 3 57
close_range 436 436 | connect 42 203 | copy_file_range 326 285 | creat 85 - | delete_module 176 106 | dup 32 23
dup2 33 - | dup3 292 24 | epoll_create1 291 20 | epoll_ctl 233 21 | epoll_pwait 281 22 | epoll_wait 232 -
eventfd2 290 19 | execve 59 221 | execveat 322 281 | exit 60 93 | exit_group 231 94 | faccessat 269 48
faccessat2 439 439 | fanotify_init 300 262 | fchmodat 268 53 | fcntl 72 25 | finit_module 313 273 | fork 57 -
fstat 5 80 | futex 202 98 | getcwd 79 17 | getdents64 217 61 | getegid 108 177 | geteuid 107 175 | getgid 104 176
getitimer 36 102 | getpeername 52 205 | getpid 39 172 | getppid 110 173 | getrandom 318 278 | getrusage 98 165
getsockopt 55 209 | gettid 186 178 | gettimeofday 96 169 | getuid 102 174 | init_module 175 105 | inotify_init1 294 26
io_uring_enter 426 426 | io_uring_setup 425 425 | ioctl 16 29 | ioperm 173 - | iopl 172 - | ioprio_set 251 30
kcmp 312 272 | kexec_file_load 320 294 | kexec_load 246 104 | keyctl 250 219 | kill 62 129
landlock_create_ruleset 444 444 | link 86 - | linkat 265 37 | lseek 8 62 | lstat 6 - | madvise 28 233
membarrier 324 283 | memfd_create 319 279 | memfd_secret 447 447 | mkdir 83 - | mkdirat 258 34 | mlock 149 228
mlock2 325 284 | mmap 9 222 | modify_ldt 154 - | mount 165 40 | mprotect 10 226 | mq_open 240 180 | mremap 25 216
msgget 68 186 | munmap 11 215 | name_to_handle_at 303 264 | nanosleep 35 101 | newfstatat 262 79 | open 2 -
open_by_handle_at 304 265 | openat 257 56 | openat2 437 437 | perf_event_open 298 241 | personality 135 92
pidfd_getfd 438 438 | pidfd_open 434 434 | pidfd_send_signal 424 424 | pipe2 293 59 | pivot_root 155 41
pkey_mprotect 329 288 | poll 7 - | ppoll 271 73 | prctl 157 167 | prlimit64 302 261 | process_vm_readv 310 270
pselect6 270 72 | ptrace 101 117 | quotactl 179 60 | read 0 63 | readlink 89 - | readlinkat 267 78 | readv 19 65
recvfrom 45 207 | recvmmsg 299 243 | recvmsg 47 212 | remap_file_pages 216 234 | rename 82 - | renameat 264 38
renameat2 316 276 | request_key 249 218 | restart_syscall 219 128 | rmdir 84 - | rseq 334 293 | rt_sigaction 13 134
rt_sigprocmask 14 135 | rt_sigqueueinfo 129 138 | rt_sigreturn 15 139 | sched_getaffinity 204 123
sched_setaffinity 203 122 | sched_setattr 314 274 | sched_setparam 142 118 | sched_setscheduler 144 119
sched_yield 24 124 | seccomp 317 277 | select 23 - | semget 64 190 | sendfile 40 71 | sendmmsg 307 269 | sendmsg 46 211
sendto 44 206 | set_mempolicy 238 237 | set_robust_list 273 99 | set_tid_address 218 96 | setdomainname 171 162
setfsgid 123 152 | setfsuid 122 151 | setgid 106 144 | setgroups 116 159 | sethostname 170 161 | setitimer 38 103
setns 308 268 | setpgid 109 154 | setpriority 141 140 | setregid 114 143 | setresgid 119 149 | setresuid 117 147
setreuid 113 145 | setrlimit 160 164 | setsid 112 157 | setsockopt 54 208 | settimeofday 164 170 | setuid 105 146
shmget 29 194 | shutdown 48 210 | sigaltstack 131 132 | signalfd 282 - | signalfd4 289 74 | socket 41 198
socketpair 53 199 | splice 275 76 | stat 4 - | statx 332 291 | swapoff 168 225 | swapon 167 224 | symlink 88 -
symlinkat 266 36 | sync 162 81 | sysinfo 99 179 | syslog 103 116 | tee 276 77 | tgkill 234 131 | time 201 -
timer_create 222 107 | timerfd_create 283 85 | times 100 153 | tkill 200 130 | truncate 76 45 | umask 95 166
umount2 166 39 | uname 63 160 | unlink 87 - | unlinkat 263 35 | unshare 272 97 | userfaultfd 323 282 | vfork 58 -
vhangup 153 58 | vmsplice 278 75 | wait4 61 260 | waitid 247 95 | write 1 64 | writev 20 66
"""


def _read() -> dict[str, dict[str, int]]:
    numbers: dict[str, dict[str, int]] = {"x86_64": {}, "aarch64": {}}
    for entry in _TABLE.replace("\n", "|").strip("|").split("|"):
        name, *columns = entry.split()
        for machine, column in zip(numbers, columns, strict=True):
            if column != "-":
                numbers[machine][name] = int(column)
    return numbers


NUMBERS = _read()
"""By machine, the number of each name; a name is absent where the machine has no such call."""
