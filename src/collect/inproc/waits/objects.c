/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads wait for. Of mutexes and the like who made them, and when: addresses come again. Most are never waited for, and a
 * program may make millions: who made one is remembered here, and told when somebody begins to wait for it. Of descriptors what they
 * are, asked after a long wait, when that is still true, and told when it differs from the last time.
 */
#include "collect/inproc/waits/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/label.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/python/python_line.h"
#include "collect/inproc/waits/seam.h"
#include "collect/inproc/waits/waits.h"

#define ST_EXPORT __attribute__((visibility("default")))

enum {
	DESCRIPTORS = 1024,
	NAME_BYTES = 512,
	SET_BITS = 14,
	WAYS = 4,
	TAKEN = 1,
	GONE = 2, /* with an address, which is a multiple of four */
	LET_GO_MAX = 32768
};

/* Objects that nobody has waited for yet, by address: 0: free, TAKEN: somebody writes or reads the rest. Where all places are taken
 * by others the oldest one has to go. An address whose object was destroyed is kept as well, as one that nobody has made: whoever
 * waits there next waits for something that did not need to be made. Such a place is given away first. */
static struct makers {
	_Alignas(64) _Atomic uint64_t object[WAYS];
	struct maker {
		_Atomic uint64_t ticks;
		const void *caller;
		uint32_t kind, line;
	} of[WAYS];
} makers[1 << SET_BITS] ST_APART;
_Static_assert(sizeof(struct makers) == 128, "two lines, of which a wait looks at one");

/* Of each descriptor and kind of wait, a number made of what was last told of it. */
static _Atomic uint32_t told[DESCRIPTORS] ST_APART;

uint32_t st_wait_line(struct st_thread *thread)
{
	uint32_t length;

	if (!st_python_line(thread->scratch, sizeof(thread->scratch), &length))
		return 0;
	return st_name_of_text(thread->scratch, length);
}

static struct makers *makers_of(uint64_t object)
{
	return &makers[object * 0x9e3779b97f4a7c15u >> (64 - SET_BITS)];
}

static uint64_t object_at(const struct makers *set, uint32_t way)
{
	return atomic_load_explicit(&set->object[way], memory_order_relaxed);
}

/* The place of the object, be it there or gone; WAYS: none. */
static uint32_t find_maker(const struct makers *set, uint64_t object)
{
	uint32_t way = 0;

	while (way < WAYS && (object_at(set, way) & ~(uint64_t)GONE) != object)
		way++;
	return way;
}

static uint32_t find_gone(const struct makers *set)
{
	uint32_t way = 0;

	while (way < WAYS && !(object_at(set, way) & GONE))
		way++;
	return way;
}

static bool take_place(struct makers *set, uint32_t way, uint64_t object)
{
	/* Pairs with the release of who had it before. */
	return atomic_compare_exchange_strong_explicit(&set->object[way], &object, TAKEN,
						       memory_order_acquire, memory_order_relaxed);
}

/* That of the object itself, a free one, one of what is gone, or the oldest one's. */
static uint32_t place_for(struct makers *set, uint64_t object)
{
	uint32_t way = find_maker(set, object);
	uint64_t oldest = UINT64_MAX, ticks;

	if (way == WAYS)
		way = find_maker(set, 0);
	if (way == WAYS)
		way = find_gone(set);
	for (uint32_t i = 0; way == WAYS && i < WAYS; i++) {
		ticks = atomic_load_explicit(&set->of[i].ticks, memory_order_relaxed);
		oldest = ticks < oldest ? ticks : oldest;
	}
	for (uint32_t i = 0; way == WAYS && i < WAYS; i++)
		if (atomic_load_explicit(&set->of[i].ticks, memory_order_relaxed) == oldest)
			way = i;
	return way;
}

/* What found no place, or lost it: an object, 0: none, and who made it. `gone`: 0 or GONE. */
static uint64_t remember(uint64_t object, struct maker *maker, uint64_t gone)
{
	struct makers *set = makers_of(object);
	uint32_t way = place_for(set, object);
	uint64_t before = way < WAYS ? object_at(set, way) : TAKEN;
	struct maker older;

	/* What is gone takes no place from what is there. */
	if (gone && before != object && before && !(before & GONE))
		return 0;
	if (before == TAKEN || !take_place(set, way, before))
		return object;
	older = set->of[way];
	set->of[way] = *maker;
	/* Pairs with take_place(). */
	atomic_store_explicit(&set->object[way], object | gone, memory_order_release);
	*maker = older;
	return before == object || before & GONE ? 0 : before;
}

static void tell(struct st_thread *thread, uint64_t object, const struct maker *maker)
{
	st_event_put(thread,
		     &(struct st_record){.kind = ST_EVENT_WAIT_OBJECT,
					 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_TIME |
						 (maker->line ? ST_FIELD_NAMES : 0),
					 .detail = maker->kind,
					 .name_id = maker->line,
					 .value = object,
					 .time = maker->ticks,
					 .extra = (uint64_t)(uintptr_t)maker->caller});
}

static bool can_tell(const struct st_thread *thread)
{
	return !st_waits_paused(thread) && st_waits_room(thread, 2) && !st_waits_stranger(thread);
}

/* Somebody may yet wait for it: told, unless there have been very many. */
static void let_go(uint64_t object, const struct maker *maker)
{
	static _Atomic uint32_t let_go_count;
	struct st_waits_entered in;

	if (atomic_load_explicit(&let_go_count, memory_order_relaxed) >= LET_GO_MAX) {
		if (!st_waits_enter(&in, false))
			return;
		atomic_fetch_add_explicit(&st_header()->makers_forgotten, 1, memory_order_relaxed);
	} else {
		if (!st_waits_enter_to_write(&in))
			return;
		if (can_tell(in.thread)) {
			atomic_fetch_add_explicit(&let_go_count, 1, memory_order_relaxed);
			tell(in.thread, object, maker);
		} else {
			atomic_fetch_add_explicit(&st_header()->makers_forgotten, 1,
						  memory_order_relaxed);
		}
	}
	st_waits_leave(&in);
}

ST_EXPORT void strata_wait_made(uint32_t kind, uint64_t object, const void *caller)
{
	struct maker maker = {.caller = caller, .kind = kind};
	struct st_waits_entered in;
	int saved = errno;

	if (!st_waits_settings.per_ms || object & (TAKEN | GONE) || !st_waits_enter(&in, false))
		return;
	maker.ticks = st_ticks();
	maker.line = st_wait_line(in.thread);
	st_waits_leave(&in);
	object = remember(object, &maker, 0);
	if (object)
		let_go(object, &maker);
	errno = saved;
}

ST_EXPORT void strata_wait_gone(uint32_t kind, uint64_t object)
{
	/* When that was does not matter: until the next wait there is nothing to be told of. */
	struct maker nobody = {.kind = kind};

	if (st_waits_settings.per_ms && object && !(object & (TAKEN | GONE)))
		remember(object, &nobody, GONE);
}

bool st_wait_maker_is_untold(uint64_t object)
{
	return object && !(object & (TAKEN | GONE)) && find_maker(makers_of(object), object) < WAYS;
}

void st_wait_tell_maker(uint64_t object)
{
	struct makers *set = makers_of(object);
	uint32_t way = find_maker(set, object);
	uint64_t there = way < WAYS ? object_at(set, way) : TAKEN;
	struct st_waits_entered in;
	struct maker maker;
	int saved = errno;

	if ((there & ~(uint64_t)GONE) != object || !st_waits_enter_to_write(&in))
		return;
	if (can_tell(in.thread) && take_place(set, way, there)) {
		maker = set->of[way];
		atomic_store_explicit(&set->object[way], 0, memory_order_release);
		if (there & GONE)
			maker.ticks = st_ticks();
		tell(in.thread, object, &maker);
	}
	st_waits_leave(&in);
	errno = saved;
}

static uint32_t put_number(char *to, uint32_t value)
{
	char digits[10];
	uint32_t count = 0, length = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (count)
		to[length++] = digits[--count];
	return length;
}

static uint32_t put_text(char *to, const char *text, size_t bytes)
{
	memcpy(to, text, bytes);
	return (uint32_t)bytes;
}

static uint32_t put_address(char *to, const uint8_t *bytes)
{
	uint32_t length = 0;

	for (int i = 0; i < 4; i++) {
		if (i)
			to[length++] = '.';
		length += put_number(to + length, bytes[i]);
	}
	return length;
}

/* ntohs, which is a function of libc's where nothing is optimised. */
static uint16_t port_number(in_port_t port)
{
	return __builtin_bswap16(port);
}

/* Whom a socket is connected to, behind its own name. */
static uint32_t put_peer(char *to, int fd)
{
	static const char digits[] = "0123456789abcdef";
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
		struct sockaddr_un local;
	} peer;
	int bytes = sizeof(peer);
	uint32_t length;
	size_t path;

	memset(&peer, 0, sizeof(peer));
	if (st_syscall(SYS_getpeername, fd, &peer, &bytes) < 0)
		return 0;
	length = put_text(to, " to ", 4);
	if (peer.any.sa_family == AF_INET) {
		length += put_address(to + length, (const uint8_t *)&peer.four.sin_addr);
		to[length++] = ':';
		return length + put_number(to + length, port_number(peer.four.sin_port));
	}
	if (peer.any.sa_family == AF_INET6) {
		to[length++] = '[';
		for (int i = 0; i < 16; i++) {
			if (i && i % 2 == 0)
				to[length++] = ':';
			to[length++] = digits[peer.six.sin6_addr.s6_addr[i] >> 4];
			to[length++] = digits[peer.six.sin6_addr.s6_addr[i] & 15];
		}
		length += put_text(to + length, "]:", 2);
		return length + put_number(to + length, port_number(peer.six.sin6_port));
	}
	path = strnlen(peer.local.sun_path, sizeof(peer.local.sun_path));
	return peer.any.sa_family == AF_UNIX && path
		       ? length + put_text(to + length, peer.local.sun_path, path)
		       : 0;
}

/* What /proc says it is. 0: it does not. */
static uint32_t name_of(int fd, char *name)
{
	char link[32] = "/proc/self/fd/";
	long length;

	link[14 + put_number(link + 14, (uint32_t)fd)] = '\0';
	length = st_syscall(SYS_readlinkat, AT_FDCWD, link, name, NAME_BYTES - 160);
	if (length <= 0)
		return 0;
	if (length > 8 && !memcmp(name, "socket:[", 8))
		length += put_peer(name + length, fd);
	return (uint32_t)length;
}

void st_wait_name_descriptor(const struct st_open_wait *wait)
{
	uint64_t fd = wait->object - 1;
	struct st_waits_entered in;
	char name[NAME_BYTES] = "";
	struct st_part part = {.at = name};
	uint32_t hash = wait->kind;

	if (fd >= DESCRIPTORS || st_passive())
		return;
	part.size_bytes = name_of((int)fd, name);
	for (uint32_t i = 0; i < part.size_bytes; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	if (!part.size_bytes || atomic_load_explicit(&told[fd], memory_order_relaxed) == hash ||
	    !st_waits_enter_to_write(&in))
		return;
	if (st_waits_room(in.thread, 10) &&
	    st_event_put(in.thread,
			 &(struct st_record){.kind = ST_EVENT_WAIT_OBJECT,
					     .mask = ST_FIELD_VALUE | ST_FIELD_TIME | ST_FIELD_DATA,
					     .detail = wait->kind,
					     .value = wait->object,
					     .time = wait->begin,
					     .parts = &part,
					     .part_count = 1}))
		atomic_store_explicit(&told[fd], hash, memory_order_relaxed);
	st_waits_leave(&in);
}
