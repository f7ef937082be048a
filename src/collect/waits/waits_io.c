/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping, waiting for descriptors, reading and writing, waiting for children. All of these are cancellation points, and a signal may
 * end them: libc's own functions decide, ours only look at the clock.
 */
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "collect/waits/waits.h"

#define READS(fd, call) ST_WAITED(ST_WAIT_READ, fd, st_outcome_of_errno, call)
#define WRITES(fd, call) ST_WAITED(ST_WAIT_WRITE, fd, st_outcome_of_errno, call)
#define POLLS(fd, call) ST_WAITED(ST_WAIT_POLL, fd, outcome_of_poll, call)

/* What the headers only declare where reads are checked. */
ST_WRAPPER int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size_bytes);
ST_WRAPPER int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			   const sigset_t *mask, size_t size_bytes);
ST_WRAPPER ssize_t __read_chk(int fd, void *to, size_t size_bytes, size_t room_bytes);
ST_WRAPPER ssize_t __pread_chk(int fd, void *to, size_t size_bytes, off_t at, size_t room_bytes);
ST_WRAPPER ssize_t __pread64_chk(int fd, void *to, size_t size_bytes, off64_t at,
				 size_t room_bytes);
ST_WRAPPER ssize_t __recv_chk(int fd, void *to, size_t size_bytes, size_t room_bytes, int flags);
ST_WRAPPER ssize_t __recvfrom_chk(int fd, void *to, size_t size_bytes, size_t room_bytes, int flags,
				  struct sockaddr *from, socklen_t *from_bytes);

static inline enum st_wait_outcome outcome_of_poll(int result)
{
	return result == 0 ? ST_WAIT_TIMED_OUT : st_outcome_of_errno(result);
}

/* --- sleeping --- */

static inline enum st_wait_outcome outcome_of_sleep(unsigned int left)
{
	return left ? ST_WAIT_INTERRUPTED : ST_WAIT_DONE;
}

ST_WRAPPER unsigned int sleep(unsigned int seconds)
{
	return ST_WAITED(ST_WAIT_SLEEP, 0, outcome_of_sleep, ST_REAL(sleep)(seconds));
}

ST_WRAPPER int usleep(useconds_t us)
{
	return ST_WAITED(ST_WAIT_SLEEP, 0, st_outcome_of_errno, ST_REAL(usleep)(us));
}

ST_WRAPPER int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	return ST_WAITED(ST_WAIT_SLEEP, 0, st_outcome_of_errno, ST_REAL(nanosleep)(wanted, left));
}

ST_WRAPPER int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
			       struct timespec *left)
{
	return ST_WAITED(ST_WAIT_SLEEP, 0, st_outcome_of_number,
			 ST_REAL(clock_nanosleep)(clock, flags, wanted, left));
}

/* --- descriptors --- */

/* The call, as a wait for the one descriptor of `fds`, or for several. They are looked at when the call has said that they are
 * there. */
#define POLLS_LIST(fds, count, call)                                                               \
	({                                                                                         \
		struct st_open_wait wait = {.caller = __builtin_return_address(0),                 \
					    .kind = ST_WAIT_POLL};                                 \
		int given_back;                                                                    \
                                                                                                   \
		strata_wait_begin(&wait);                                                          \
		given_back = (call);                                                               \
		if (given_back >= 0 && (count) == 1)                                               \
			wait.object = (uint64_t)(unsigned int)(fds)->fd + 1;                       \
		strata_wait_end(&wait, outcome_of_poll(given_back));                               \
		given_back;                                                                        \
	})

/* Without a time to wait nobody waits. */
ST_WRAPPER int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	if (!timeout_ms)
		return ST_REAL(poll)(fds, count, timeout_ms);
	return POLLS_LIST(fds, count, ST_REAL(poll)(fds, count, timeout_ms));
}

ST_WRAPPER int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size_bytes)
{
	if (!timeout_ms)
		return ST_REAL(__poll_chk)(fds, count, timeout_ms, size_bytes);
	return POLLS_LIST(fds, count, ST_REAL(__poll_chk)(fds, count, timeout_ms, size_bytes));
}

ST_WRAPPER int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		     const sigset_t *mask)
{
	return POLLS_LIST(fds, count, ST_REAL(ppoll)(fds, count, timeout, mask));
}

ST_WRAPPER int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			   const sigset_t *mask, size_t size_bytes)
{
	return POLLS_LIST(fds, count, ST_REAL(__ppoll_chk)(fds, count, timeout, mask, size_bytes));
}

/* With nothing to look at it is a way to sleep. */
static bool is_sleep(const fd_set *reads, const fd_set *writes, const fd_set *others)
{
	return !reads && !writes && !others;
}

static inline enum st_wait_outcome outcome_of_select_sleep(int result)
{
	return result == 0 ? ST_WAIT_DONE : st_outcome_of_errno(result);
}

ST_WRAPPER int select(int count, fd_set *reads, fd_set *writes, fd_set *others,
		      struct timeval *timeout)
{
	if (is_sleep(reads, writes, others))
		return ST_WAITED(ST_WAIT_SLEEP, 0, outcome_of_select_sleep,
				 ST_REAL(select)(count, reads, writes, others, timeout));
	return POLLS(0, ST_REAL(select)(count, reads, writes, others, timeout));
}

ST_WRAPPER int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
		       const struct timespec *timeout, const sigset_t *mask)
{
	if (is_sleep(reads, writes, others))
		return ST_WAITED(ST_WAIT_SLEEP, 0, outcome_of_select_sleep,
				 ST_REAL(pselect)(count, reads, writes, others, timeout, mask));
	return POLLS(0, ST_REAL(pselect)(count, reads, writes, others, timeout, mask));
}

ST_WRAPPER int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
	if (!timeout_ms)
		return ST_REAL(epoll_wait)(epoll, events, most, timeout_ms);
	return POLLS((unsigned int)epoll + 1, ST_REAL(epoll_wait)(epoll, events, most, timeout_ms));
}

ST_WRAPPER int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout_ms,
			   const sigset_t *mask)
{
	if (!timeout_ms)
		return ST_REAL(epoll_pwait)(epoll, events, most, timeout_ms, mask);
	return POLLS((unsigned int)epoll + 1,
		     ST_REAL(epoll_pwait)(epoll, events, most, timeout_ms, mask));
}

ST_WRAPPER int epoll_pwait2(int epoll, struct epoll_event *events, int most,
			    const struct timespec *timeout, const sigset_t *mask)
{
	return POLLS((unsigned int)epoll + 1,
		     ST_REAL(epoll_pwait2)(epoll, events, most, timeout, mask));
}

/* --- reading; a descriptor is told with 1 added, because 0 is none --- */

#define FD(fd) ((uint64_t)(unsigned int)(fd) + 1)

ST_WRAPPER ssize_t read(int fd, void *to, size_t size_bytes)
{
	return READS(FD(fd), ST_REAL(read)(fd, to, size_bytes));
}

ST_WRAPPER ssize_t __read_chk(int fd, void *to, size_t size_bytes, size_t room_bytes)
{
	return READS(FD(fd), ST_REAL(__read_chk)(fd, to, size_bytes, room_bytes));
}

ST_WRAPPER ssize_t readv(int fd, const struct iovec *parts, int count)
{
	return READS(FD(fd), ST_REAL(readv)(fd, parts, count));
}

ST_WRAPPER ssize_t pread(int fd, void *to, size_t size_bytes, off_t at)
{
	return READS(FD(fd), ST_REAL(pread)(fd, to, size_bytes, at));
}

ST_WRAPPER ssize_t pread64(int fd, void *to, size_t size_bytes, off64_t at)
{
	return READS(FD(fd), ST_REAL(pread64)(fd, to, size_bytes, at));
}

ST_WRAPPER ssize_t __pread_chk(int fd, void *to, size_t size_bytes, off_t at, size_t room_bytes)
{
	return READS(FD(fd), ST_REAL(__pread_chk)(fd, to, size_bytes, at, room_bytes));
}

ST_WRAPPER ssize_t __pread64_chk(int fd, void *to, size_t size_bytes, off64_t at, size_t room_bytes)
{
	return READS(FD(fd), ST_REAL(__pread64_chk)(fd, to, size_bytes, at, room_bytes));
}

ST_WRAPPER ssize_t preadv(int fd, const struct iovec *parts, int count, off_t at)
{
	return READS(FD(fd), ST_REAL(preadv)(fd, parts, count, at));
}

ST_WRAPPER ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t at)
{
	return READS(FD(fd), ST_REAL(preadv64)(fd, parts, count, at));
}

ST_WRAPPER int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
			struct timespec *timeout)
{
	return READS(FD(fd), ST_REAL(recvmmsg)(fd, messages, count, flags, timeout));
}

ST_WRAPPER ssize_t recv(int fd, void *to, size_t size_bytes, int flags)
{
	return READS(FD(fd), ST_REAL(recv)(fd, to, size_bytes, flags));
}

ST_WRAPPER ssize_t __recv_chk(int fd, void *to, size_t size_bytes, size_t room_bytes, int flags)
{
	return READS(FD(fd), ST_REAL(__recv_chk)(fd, to, size_bytes, room_bytes, flags));
}

ST_WRAPPER ssize_t recvfrom(int fd, void *to, size_t size_bytes, int flags, struct sockaddr *from,
			    socklen_t *from_bytes)
{
	return READS(FD(fd), ST_REAL(recvfrom)(fd, to, size_bytes, flags, from, from_bytes));
}

ST_WRAPPER ssize_t __recvfrom_chk(int fd, void *to, size_t size_bytes, size_t room_bytes, int flags,
				  struct sockaddr *from, socklen_t *from_bytes)
{
	return READS(FD(fd), ST_REAL(__recvfrom_chk)(fd, to, size_bytes, room_bytes, flags, from,
						     from_bytes));
}

ST_WRAPPER ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return READS(FD(fd), ST_REAL(recvmsg)(fd, message, flags));
}

ST_WRAPPER int accept(int fd, struct sockaddr *from, socklen_t *from_bytes)
{
	return READS(FD(fd), ST_REAL(accept)(fd, from, from_bytes));
}

ST_WRAPPER int accept4(int fd, struct sockaddr *from, socklen_t *from_bytes, int flags)
{
	return READS(FD(fd), ST_REAL(accept4)(fd, from, from_bytes, flags));
}

/* --- writing --- */

ST_WRAPPER ssize_t write(int fd, const void *from, size_t size_bytes)
{
	return WRITES(FD(fd), ST_REAL(write)(fd, from, size_bytes));
}

ST_WRAPPER ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return WRITES(FD(fd), ST_REAL(writev)(fd, parts, count));
}

ST_WRAPPER ssize_t pwrite(int fd, const void *from, size_t size_bytes, off_t at)
{
	return WRITES(FD(fd), ST_REAL(pwrite)(fd, from, size_bytes, at));
}

ST_WRAPPER ssize_t pwrite64(int fd, const void *from, size_t size_bytes, off64_t at)
{
	return WRITES(FD(fd), ST_REAL(pwrite64)(fd, from, size_bytes, at));
}

ST_WRAPPER ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	return WRITES(FD(fd), ST_REAL(pwritev)(fd, parts, count, at));
}

ST_WRAPPER ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
	return WRITES(FD(fd), ST_REAL(pwritev64)(fd, parts, count, at));
}

ST_WRAPPER ssize_t sendfile(int to, int from, off_t *at, size_t size_bytes)
{
	return WRITES(FD(to), ST_REAL(sendfile)(to, from, at, size_bytes));
}

ST_WRAPPER ssize_t sendfile64(int to, int from, off64_t *at, size_t size_bytes)
{
	return WRITES(FD(to), ST_REAL(sendfile64)(to, from, at, size_bytes));
}

ST_WRAPPER int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
	return WRITES(FD(fd), ST_REAL(sendmmsg)(fd, messages, count, flags));
}

ST_WRAPPER ssize_t send(int fd, const void *from, size_t size_bytes, int flags)
{
	return WRITES(FD(fd), ST_REAL(send)(fd, from, size_bytes, flags));
}

ST_WRAPPER ssize_t sendto(int fd, const void *from, size_t size_bytes, int flags,
			  const struct sockaddr *to, socklen_t to_bytes)
{
	return WRITES(FD(fd), ST_REAL(sendto)(fd, from, size_bytes, flags, to, to_bytes));
}

ST_WRAPPER ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return WRITES(FD(fd), ST_REAL(sendmsg)(fd, message, flags));
}

ST_WRAPPER int connect(int fd, const struct sockaddr *to, socklen_t to_bytes)
{
	return WRITES(FD(fd), ST_REAL(connect)(fd, to, to_bytes));
}

ST_WRAPPER int fsync(int fd)
{
	return ST_WAITED(ST_WAIT_FILE_SYNC, FD(fd), st_outcome_of_errno, ST_REAL(fsync)(fd));
}

ST_WRAPPER int fdatasync(int fd)
{
	return ST_WAITED(ST_WAIT_FILE_SYNC, FD(fd), st_outcome_of_errno, ST_REAL(fdatasync)(fd));
}

ST_WRAPPER int syncfs(int fd)
{
	return ST_WAITED(ST_WAIT_FILE_SYNC, FD(fd), st_outcome_of_errno, ST_REAL(syncfs)(fd));
}

/* A lock of a file that is not to be waited for is none. */
ST_WRAPPER int flock(int fd, int operation)
{
	if (operation & (LOCK_NB | LOCK_UN))
		return ST_REAL(flock)(fd, operation);
	return ST_WAITED(ST_WAIT_FILE_LOCK, FD(fd), st_outcome_of_errno,
			 ST_REAL(flock)(fd, operation));
}

ST_WRAPPER int lockf(int fd, int command, off_t size_bytes)
{
	if (command != F_LOCK)
		return ST_REAL(lockf)(fd, command, size_bytes);
	return ST_WAITED(ST_WAIT_FILE_LOCK, FD(fd), st_outcome_of_errno,
			 ST_REAL(lockf)(fd, command, size_bytes));
}

ST_WRAPPER int lockf64(int fd, int command, off64_t size_bytes)
{
	if (command != F_LOCK)
		return ST_REAL(lockf64)(fd, command, size_bytes);
	return ST_WAITED(ST_WAIT_FILE_LOCK, FD(fd), st_outcome_of_errno,
			 ST_REAL(lockf64)(fd, command, size_bytes));
}

ST_WRAPPER int pause(void)
{
	return ST_WAITED(ST_WAIT_SIGNAL, 0, st_outcome_of_errno, ST_REAL(pause)());
}

ST_WRAPPER int msync(void *at, size_t size_bytes, int flags)
{
	return ST_WAITED(ST_WAIT_FILE_SYNC, 0, st_outcome_of_errno,
			 ST_REAL(msync)(at, size_bytes, flags));
}

/* --- children --- */

#define CHILD(pid, call)                                                                           \
	ST_WAITED(ST_WAIT_CHILD, (pid) > 0 ? (uint64_t)(pid) : 0, st_outcome_of_errno, call)

ST_WRAPPER pid_t wait(int *status)
{
	return CHILD(0, ST_REAL(wait)(status));
}

ST_WRAPPER pid_t waitpid(pid_t pid, int *status, int options)
{
	if (options & WNOHANG)
		return ST_REAL(waitpid)(pid, status, options);
	return CHILD(pid, ST_REAL(waitpid)(pid, status, options));
}

ST_WRAPPER int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (options & WNOHANG)
		return ST_REAL(waitid)(type, id, info, options);
	return CHILD(type == P_PID ? (pid_t)id : 0, ST_REAL(waitid)(type, id, info, options));
}

ST_WRAPPER pid_t wait3(int *status, int options, struct rusage *usage)
{
	if (options & WNOHANG)
		return ST_REAL(wait3)(status, options, usage);
	return CHILD(0, ST_REAL(wait3)(status, options, usage));
}

ST_WRAPPER pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (options & WNOHANG)
		return ST_REAL(wait4)(pid, status, options, usage);
	return CHILD(pid, ST_REAL(wait4)(pid, status, options, usage));
}
