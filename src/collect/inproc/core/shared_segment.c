/* SPDX-License-Identifier: Apache-2.0
 *
 * The rendezvous: makes a sealed memfd with the rings of up to 64 threads, maps it, and hands it to
 * strata in one message over a unix socket. Nothing is awaited and no descriptor is kept; whatever
 * fails, the process goes on unrecorded, without a word.
 */
#include "collect/inproc/core/state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/intern.h"
#include "collect/inproc/core/thread.h"

enum { FEW_SLOTS = 8, LIMITED_SEGMENTS = 2 };

static void close_fd(int fd)
{
	if (fd >= 0)
		st_syscall(SYS_close, fd);
}

int st_above_standard(long fd)
{
	long high;

	if (fd < 0 || fd > 2)
		return (int)fd;
	high = st_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	close_fd((int)fd);
	return (int)high;
}

static uint32_t slot_bytes(void)
{
	return st_config.ring_bytes + ST_SHM_HANDLER_RING_BYTES + ST_SHM_FLOOD_RING_BYTES;
}

static size_t segment_bytes(uint32_t slots)
{
	return ST_SHM_RINGS_OFFSET + (size_t)slots * slot_bytes();
}

/* Growing a file beyond the limit is not only refused: the kernel sends SIGXFSZ, which is fatal. */
static bool file_size_allowed(size_t size_bytes)
{
	struct {
		uint64_t soft, hard;
	} limit = {0};

	return !st_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) && size_bytes <= limit.soft;
}

static int make_memfd(size_t size_bytes)
{
	int fd;

	if (!file_size_allowed(size_bytes))
		return -1;
	fd = st_above_standard(
		st_syscall(SYS_memfd_create, "strata", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd < 0)
		return -1;
	if (st_syscall(SYS_fchmod, fd, 0600) || st_syscall(SYS_ftruncate, fd, size_bytes) ||
	    st_syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		close_fd(fd);
		return -1;
	}
	return fd;
}

/* Maps so that a forked child has no part of it: its writes would end up among the parent's. */
static void *map_segment(int fd, size_t size_bytes)
{
	void *at = st_map_lazily(size_bytes, MAP_SHARED, fd);

	if (!at)
		return NULL;
	if (st_syscall(SYS_madvise, at, size_bytes, MADV_DONTFORK)) {
		st_syscall(SYS_munmap, at, size_bytes);
		return NULL;
	}
	st_syscall(SYS_madvise, at, size_bytes, MADV_DONTDUMP);
	return at;
}

/* Abstract names have no permissions: whoever bound ours must be root or ourselves. */
static bool server_is_trusted(int fd)
{
	struct ucred peer = {0};
	unsigned int length = sizeof(peer);

	if (st_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return false;
	return peer.uid == 0 || (long)peer.uid == st_syscall(SYS_geteuid, 0);
}

static int connect_once(const char *name, uint32_t name_bytes, bool abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = offsetof(struct sockaddr_un, sun_path) + name_bytes + 1;
	int fd;

	if (!name_bytes)
		return -1;
	memcpy(address.sun_path + abstract, name, name_bytes);
	fd = st_above_standard(
		st_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -1;
	if (st_syscall(SYS_connect, fd, &address, length) || (abstract && !server_is_trusted(fd))) {
		close_fd(fd);
		return -1;
	}
	return fd;
}

bool st_rendezvous_send(const void *content, size_t size_bytes, int passed)
{
	struct iovec part = {.iov_base = (void *)content, .iov_len = size_bytes};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *cmsg = &control.align;
	long sent;
	int fd = connect_once(st_config.sock, st_config.sock_bytes, false);

	if (fd < 0)
		fd = connect_once(st_config.abs, st_config.abs_bytes, true);
	if (fd < 0)
		return false;
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &passed, sizeof(passed));
	if (passed >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	sent = st_syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	close_fd(fd);
	return sent == (long)size_bytes;
}

static uint64_t make_token(void)
{
	uint64_t token = 0;

	if (st_syscall(SYS_getrandom, &token, sizeof(token), 1) != (long)sizeof(token) || !token)
		token = (st_clock_mono_raw_ns() ^ (uint64_t)st_syscall(SYS_getpid, 0) << 40) | 1;
	return token;
}

/* Who this process is, decided once, at its first hello. The ancestor's ids stay valid: they are in
 * copied memory and in its definitions. */
static void become_process(void)
{
	if (st_process->token)
		return;
	st_process->parent_token = st_shared.token;
	if (st_shared.token)
		st_intern_highest(&st_shared.strings, &st_shared.domains, &st_shared.objects);
	st_process->inherited_strings = st_shared.strings;
	st_process->inherited_domains = st_shared.domains;
	st_process->inherited_objects = st_shared.objects;
	st_process->token = make_token();
}

static void fill_hello(struct st_shm_hello *hello, uint32_t index, size_t size_bytes)
{
	memset(hello, 0, sizeof(*hello));
	hello->magic = ST_SHM_MAGIC;
	hello->layout_hash = ST_SHM_LAYOUT_HASH;
	hello->segment_index = index;
	memcpy(hello->token, st_config.token, sizeof(hello->token));
	hello->pid = (uint32_t)st_syscall(SYS_getpid, 0);
	hello->tid = (uint32_t)st_syscall(SYS_gettid, 0);
	hello->process_token = st_process->token;
	hello->parent_token = st_process->parent_token;
	hello->inherited_strings = st_process->inherited_strings;
	hello->inherited_domains = st_process->inherited_domains;
	hello->inherited_objects = st_process->inherited_objects;
	hello->segment_bytes = size_bytes;
	hello->ticks = st_ticks();
	hello->mono_raw_ns = st_clock_mono_raw_ns();
}

/* What strata tells those that have not said hello yet (format/shm.h). */
static bool has_flag(char name)
{
	char path[sizeof(st_config.sock)];

	if (!st_config.sock_bytes)
		return false;
	memcpy(path, st_config.sock, sizeof(path));
	path[st_config.sock_bytes - 1] = name;
	return st_syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

bool st_starts_paused(void)
{
	uint32_t paused = atomic_load_explicit(&st_shared.self_paused, memory_order_relaxed);

	if (paused != ST_SELF_PAUSED_AT_START)
		return paused;
	if ((!st_config.resume_at_ns || st_clock_mono_raw_ns() < st_config.resume_at_ns) &&
	    !has_flag(ST_FLAG_RESUMED))
		return true;
	atomic_store_explicit(&st_shared.self_paused, ST_SELF_RUNNING, memory_order_relaxed);
	return false;
}

static uint32_t first_control(void)
{
	bool paused = st_starts_paused();

	/* Whatever is no longer true when the hello is taken in, strata clears. */
	return (paused ? ST_CONTROL_PAUSED_SELF : 0) |
	       (has_flag(ST_FLAG_PAUSED) ? ST_CONTROL_PAUSED_FAMILY : 0);
}

static void fill_header(struct st_shm_header *header, uint32_t index, uint32_t slots)
{
	header->magic = ST_SHM_MAGIC;
	header->layout_hash = ST_SHM_LAYOUT_HASH;
	header->segment_index = index;
	header->slot_count = slots;
	header->slot_bytes = slot_bytes();
	header->ring_bytes[ST_RING_SLICE] = st_config.ring_bytes;
	header->ring_bytes[ST_RING_HANDLER] = ST_SHM_HANDLER_RING_BYTES;
	header->ring_bytes[ST_RING_FLOOD] = ST_SHM_FLOOD_RING_BYTES;
	header->clock = st_config.clock;
	if (index == 0)
		atomic_store_explicit(&header->control, first_control(), memory_order_relaxed);
}

static bool create_with(uint32_t index, uint32_t slots, struct st_segment *segment)
{
	size_t size_bytes = segment_bytes(slots), threads_bytes = (size_t)slots * ST_THREAD_STRIDE;
	struct st_shm_hello hello;
	int fd = make_memfd(size_bytes);

	if (fd < 0)
		return false;
	segment->header = map_segment(fd, size_bytes);
	segment->threads = segment->header ? st_map_wiped(threads_bytes) : NULL;
	if (!segment->threads)
		goto fail;
	fill_header(segment->header, index, slots);
	fill_hello(&hello, index, size_bytes);
	if (atomic_load_explicit(&st_shared.self_paused, memory_order_relaxed) ==
	    ST_SELF_PAUSED_AT_START)
		hello.flags = ST_HELLO_PAUSED_AT_START;
	if (!st_rendezvous_send(&hello, sizeof(hello), fd))
		goto fail;
	close_fd(fd);
	segment->slots = (struct st_shm_slot *)(segment->header + 1);
	segment->rings = (uint8_t *)segment->header + ST_SHM_RINGS_OFFSET;
	segment->slot_count = slots;
	segment->slot_bytes = slot_bytes();
	if (st_handler_memory_bytes)
		segment->samplers = st_map_wiped(slots * st_handler_memory_bytes);
	return true;
fail:
	if (segment->threads)
		st_syscall(SYS_munmap, segment->threads, threads_bytes);
	if (segment->header)
		st_syscall(SYS_munmap, segment->header, size_bytes);
	close_fd(fd);
	memset(segment, 0, sizeof(*segment));
	return false;
}

/* A process that cannot record says so once, so that nobody takes it for one with nothing to record. */
static void tell_no_memory(void)
{
	struct st_shm_hello hello;

	fill_hello(&hello, 0, 0);
	hello.flags = ST_HELLO_NO_MEMORY;
	st_rendezvous_send(&hello, sizeof(hello), -1);
}

/* As many as fit our share of a limited address space; 0 when there is no place for one. */
static uint32_t slots_allowed(uint32_t index)
{
	size_t share = st_address_share();
	uint32_t slots = st_config.slots;

	if (share != SIZE_MAX && index >= LIMITED_SEGMENTS)
		return 0;
	while (slots && segment_bytes(slots) + slots * st_handler_memory_bytes > share)
		slots--;
	return slots;
}

bool st_segment_create(uint32_t index)
{
	struct st_segment segment = {0};
	uint32_t slots;
	bool made;

	if (st_sandboxed())
		return false;
	slots = slots_allowed(index);
	if (slots || index == 0)
		become_process();
	made = slots && create_with(index, slots, &segment);
	if (!made && slots > FEW_SLOTS)
		made = create_with(index, FEW_SLOTS, &segment); /* RLIMIT_FSIZE counts all of it */
	if (!made) {
		if (index == 0)
			tell_no_memory();
		return false;
	}
	/* Complete before it is seen: a handler that interrupts us counts its losses in it. */
	st_process->segment[index] = segment;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_fetch_add_explicit(
		&st_header()->lost_no_slot,
		atomic_exchange_explicit(&st_process->lost_early, 0, memory_order_relaxed),
		memory_order_relaxed);
	st_shared.token = st_process->token;
	/* Pairs with the acquire loads of claimers: a counted segment is complete. */
	atomic_store_explicit(&st_process->segment_count, index + 1, memory_order_release);
	return true;
}
