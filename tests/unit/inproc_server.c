/* SPDX-License-Identifier: Apache-2.0
 *
 * See inproc_server.h.
 */
#include "inproc_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static _Atomic uint64_t *polls; /* shared with the child */
static pid_t self, running; /* this process, which serves; its child, if a failed test left one */

static void end_child(void)
{
	if (running > 0 && getpid() == self && !kill(running, SIGKILL))
		waitpid(running, NULL, 0);
	running = 0;
}

const char *server_library(void)
{
	return ST_TEST_BUILD_DIR "/lib/strata/libstrata_collector.so";
}

void server_init(struct server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	end_child();
	self = getpid();
	memset(server, 0, sizeof(*server));
	unsetenv("STRATA_ABS");
	snprintf(server->folder, sizeof(server->folder), "/tmp/strata-test-XXXXXX");
	assert_non_null(mkdtemp(server->folder));
	snprintf(server->path, sizeof(server->path), "%s/s", server->folder);
	memcpy(address.sun_path, server->path, strlen(server->path) + 1);
	server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server->listener, 4096), 0);
	server->config = "clock=tsc";
	if (!polls)
		polls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(polls != MAP_FAILED);
}

void server_listen_abstract(struct server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "strata-test-%d",
			      (int)getpid());

	close(server->listener);
	server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(
		bind(server->listener, (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)),
		0);
	assert_int_equal(listen(server->listener, 4096), 0);
	setenv("STRATA_ABS", address.sun_path + 1, 1);
}

void server_wait_drained(void)
{
	uint64_t seen = atomic_load(polls);

	while (atomic_load(polls) < seen + 3) {
		/* Also for the children of a child: nobody would ever answer. */
		if (kill(self, 0))
			_exit(94);
		sched_yield();
	}
}

static void push_word(struct words *words, uint64_t word)
{
	if (words->count == words->capacity) {
		words->capacity = words->capacity ? words->capacity * 2 : 1024;
		words->at = realloc(words->at, words->capacity * sizeof(*words->at));
		assert_non_null(words->at);
	}
	words->at[words->count++] = word;
}

static void take_arm(struct server *server, const struct st_shm_arm *arm, int fd)
{
	assert_int_equal(arm->layout_hash, ST_SHM_LAYOUT_HASH);
	assert_int_equal(arm->token[0], 0xab);
	assert_true(server->arm_count < SERVER_ARMS);
	server->triggers[server->arm_count] = fd;
	server->arms[server->arm_count++] = *arm;
}

static void take_hello(struct server *server, struct segment *segment, int fd)
{
	const struct st_shm_hello *hello = &segment->hello;

	assert_true(fd >= 0);
	assert_true(hello->magic == ST_SHM_MAGIC);
	assert_int_equal(hello->layout_hash, ST_SHM_LAYOUT_HASH);
	assert_int_equal(hello->token[0], 0xab);
	assert_int_equal(hello->token[15], 0xcd);
	assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	segment->header =
		mmap(NULL, hello->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(segment->header != MAP_FAILED);
	close(fd);
	assert_true(server->segment_count < SERVER_SEGMENTS);
	server->segments[server->segment_count++] = segment;
	if (server->on_hello)
		server->on_hello(segment);
}

static void take_message(struct server *server, int peer)
{
	union {
		struct st_shm_hello hello;
		struct st_shm_arm arm;
	} body;
	struct iovec part = {&body, sizeof(body)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct segment *segment;
	ssize_t got = recvmsg(peer, &message, 0);
	int fd = -1;

	if (CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	if (got == (ssize_t)sizeof(body.arm) && body.arm.magic == ST_SHM_ARM_MAGIC) {
		take_arm(server, &body.arm, fd);
		return;
	}
	assert_int_equal(got, sizeof(body.hello));
	segment = calloc(1, sizeof(*segment));
	segment->hello = body.hello;
	take_hello(server, segment, fd);
}

static void accept_all(struct server *server)
{
	int peer;

	while ((peer = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		take_message(server, peer);
		close(peer);
	}
}

static void drain_ring(struct words *out, struct st_shm_ring *ring, const uint64_t *data,
		       uint64_t size_bytes, uint64_t *tail)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	assert_true(head - *tail <= size_bytes && head % 8 == 0);
	for (; *tail < head; *tail += 8)
		push_word(out, data[(*tail / 8) & (size_bytes / 8 - 1)]);
	atomic_store_explicit(&ring->tail, *tail, memory_order_release);
}

static void drain(struct server *server, bool definitions, bool events)
{
	for (uint32_t i = 0; i < server->segment_count; i++) {
		struct segment *segment = server->segments[i];
		struct st_shm_header *header = segment->header;
		struct st_shm_slot *slots = (struct st_shm_slot *)(header + 1);
		uint8_t *base = (uint8_t *)header + ST_SHM_HEADER_BYTES;

		if (segment->ring[0].count > 4) /* more than the thread's identity */
			atomic_fetch_or(&header->control, server->control_after_first);
		if (definitions)
			drain_ring(&segment->definitions, &header->definitions, (uint64_t *)base,
				   ST_SHM_DEFINITIONS_BYTES, &segment->definitions_tail);
		for (uint32_t k = 0; events && k < header->slot_count; k++) {
			uint8_t *data = (uint8_t *)header + ST_SHM_RINGS_OFFSET +
					(size_t)k * header->slot_bytes;

			drain_ring(&segment->ring[k], &slots[k].ring[ST_RING_SLICE],
				   (uint64_t *)data, header->ring_bytes[ST_RING_SLICE],
				   &segment->tail[k]);
			drain_ring(&segment->handler[k], &slots[k].ring[ST_RING_HANDLER],
				   (uint64_t *)(data + header->ring_bytes[ST_RING_SLICE]),
				   header->ring_bytes[ST_RING_HANDLER], &segment->handler_tail[k]);
		}
	}
}

/* All texts of the running test, freed by server_fini. */
struct text {
	struct text *next;
	char bytes[];
};
static struct text *texts;

static char *take_text(const uint64_t *words, uint64_t length)
{
	struct text *text = malloc(sizeof(*text) + length + 1);

	assert_non_null(text);
	text->next = texts;
	texts = text;
	memcpy(text->bytes, words, length);
	text->bytes[length] = '\0';
	return text->bytes;
}

static struct process *find_process(struct server *server, uint64_t token)
{
	for (uint32_t i = 0; i < server->process_count; i++)
		if (server->processes[i].hello.process_token == token)
			return &server->processes[i];
	return NULL;
}

static void define(char ***table, uint32_t *count, uint32_t inherited, uint32_t id, char *text)
{
	if (*count < inherited)
		*count = inherited;
	assert_int_equal(id, *count + 1);
	*table = realloc(*table, (id + 1) * sizeof(**table));
	assert_non_null(*table);
	(*table)[id] = text;
	*count = id;
}

/* All objects of the running test are freed by server_fini. */
static void define_object(struct process *process, uint32_t id, const char *body, uint64_t length)
{
	uint32_t inherited = process->hello.inherited_objects;
	struct object *object;

	if (!process->objects) {
		process->object_count = inherited;
		process->objects = calloc((size_t)inherited + 1, sizeof(*process->objects));
	}
	assert_true(id > 0 && id <= process->object_count + 1);
	if (id > process->object_count) {
		process->objects =
			realloc(process->objects, ((size_t)id + 1) * sizeof(*process->objects));
		process->objects[id] = NULL;
		process->object_count = id;
	}
	/* A process may define anew what it inherited: for itself. */
	if (!process->objects[id])
		process->objects[id] = calloc(1, sizeof(struct object));
	object = process->objects[id];
	assert_true(length >= sizeof(object->head));
	memcpy(&object->head, body, sizeof(object->head));
	assert_int_equal(length, sizeof(object->head) + object->head.name_bytes +
					 object->head.second_bytes);
	assert_true(object->head.kind > 0 && object->head.kind < ST_OBJECT_KINDS);
	object->name =
		take_text((const void *)(body + sizeof(object->head)), object->head.name_bytes);
	object->second =
		take_text((const void *)(body + sizeof(object->head) + object->head.name_bytes),
			  object->head.second_bytes);
	object->defined++;
}

static void define_fact(struct process *process, uint32_t id, const char *body, uint64_t length)
{
	struct object_fact *fact = &process->facts[process->fact_count++];

	assert_true(process->fact_count <= 64);
	assert_true(length >= sizeof(fact->head));
	memcpy(&fact->head, body, sizeof(fact->head));
	assert_int_equal(length, sizeof(fact->head) + fact->head.text_bytes);
	fact->object = id;
	fact->text = take_text((const void *)(body + sizeof(fact->head)), fact->head.text_bytes);
}

static void decode_definitions(struct process *process, const struct words *words)
{
	for (size_t at = 0; at < words->count;) {
		uint64_t word = words->at[at], length = words->at[at + 1];
		uint32_t id = (uint32_t)(word >> 32), size = (uint32_t)(word >> 8) & 0xffffff;
		char *text;

		assert_int_equal(size, 2 + (length + 7) / 8);
		text = take_text(words->at + at + 2, length);
		if ((word & 255) == ST_DEFINE_STRING) {
			define(&process->strings, &process->string_count,
			       process->hello.inherited_strings, id, text);
		} else if ((word & 255) == ST_DEFINE_DOMAIN) {
			define(&process->domains, &process->domain_count,
			       process->hello.inherited_domains, id, text);
		} else if ((word & 255) == ST_DEFINE_OBJECT) {
			define_object(process, id, text, length);
		} else if ((word & 255) == ST_DEFINE_OBJECT_METADATA) {
			define_fact(process, id, text, length);
		} else {
			assert_int_equal(word & 255, ST_DEFINE_THREAD_NAME);
			process->thread_name = text;
			process->thread_name_tid = id;
		}
		at += size;
	}
}

static const char *string_of(struct process *process, uint32_t id)
{
	for (; id && process; process = process->parent)
		if (id > process->hello.inherited_strings) {
			assert_true(id <= process->string_count);
			return process->strings[id];
		}
	assert_int_equal(id, 0);
	return "";
}

static const char *domain_of(struct process *process, uint32_t id)
{
	for (; id && process; process = process->parent)
		if (id > process->hello.inherited_domains) {
			assert_true(id <= process->domain_count);
			return process->domains[id];
		}
	assert_int_equal(id, 0);
	return "";
}

static const struct object *object_of(struct process *process, uint64_t word)
{
	uint32_t id = (uint32_t)word;

	assert_int_equal(word >> 32, 0);
	for (; id && process; process = process->parent) {
		if (process->objects && id <= process->object_count && process->objects[id])
			return process->objects[id];
		assert_true(id <= process->hello.inherited_objects);
	}
	fail_msg("object %u is not defined", id);
	return NULL;
}

struct decoder {
	struct server *server;
	struct process *process;
	uint64_t time, depth;
	uint32_t tid;
	bool timed, identified, text_fresh;
	const char *text;
	uint64_t caller[ST_CALLER_SLOTS];
	uint64_t caller_next;
	bool caller_fresh; /* nothing but its begin, and the text of it, may follow */
};

static struct event *new_event(struct decoder *decoder, enum event_kind kind)
{
	struct server *server = decoder->server;
	struct event *event;

	if (server->event_count == server->event_capacity) {
		server->event_capacity = server->event_capacity ? server->event_capacity * 2 : 4096;
		server->events =
			realloc(server->events, server->event_capacity * sizeof(*server->events));
		assert_non_null(server->events);
	}
	event = &server->events[server->event_count++];
	*event = (struct event){.kind = kind,
				.process = (uint32_t)(decoder->process - server->processes),
				.tid = decoder->tid,
				.domain = "",
				.name = "",
				.time = decoder->time};
	return event;
}

static void decode_begin(struct decoder *decoder, uint32_t domain, uint32_t name, uint64_t flags)
{
	struct event *event = new_event(decoder, EVENT_BEGIN);

	assert_true(decoder->identified);
	event->domain = domain_of(decoder->process, domain);
	event->name = string_of(decoder->process, name);
	event->flags = flags;
	if (decoder->caller_fresh)
		decoder->caller[name % ST_CALLER_SLOTS] = decoder->caller_next;
	decoder->caller_fresh = false;
	event->caller = decoder->caller[name % ST_CALLER_SLOTS];
	if (flags & ST_BEGIN_TEXT) {
		assert_true(decoder->text_fresh);
		event->name = decoder->text;
		event->text = true;
		decoder->text_fresh = false;
	}
	decoder->depth++;
}

static void decode_end(struct decoder *decoder, uint32_t domain)
{
	assert_true(decoder->identified);
	assert_true(decoder->depth > 0);
	decoder->depth--;
	new_event(decoder, EVENT_END)->domain = domain_of(decoder->process, domain);
}

static void decode_thread(struct decoder *decoder, uint64_t payload)
{
	assert_true(decoder->timed);
	decoder->tid = (uint32_t)payload;
	decoder->identified = true;
	decoder->depth = 0;
	decoder->text_fresh = false;
	memset(decoder->caller, 0, sizeof(decoder->caller));
	new_event(decoder, EVENT_THREAD)->value = payload >> 32;
}

static const uint64_t *take_id(const uint64_t *at, uint64_t *id)
{
	memcpy(id, at, 3 * sizeof(*id));
	return at + 3;
}

static void decode_event(struct decoder *decoder, const uint64_t *at, uint32_t size)
{
	struct event *event = new_event(decoder, EVENT_RECORD);
	const uint64_t *end = at + size;

	assert_true(decoder->identified);
	event->record = (uint32_t)at[1] & 0xffff;
	event->mask = (uint32_t)(at[1] >> 16) & 0xffff;
	event->detail = (uint32_t)(at[1] >> 32);
	assert_true(event->record > 0 && event->record < ST_EVENT_KINDS);
	assert_int_equal(event->mask & ~(uint32_t)ST_FIELDS_ALL, 0);
	at += 2;
	if (event->mask & ST_FIELD_NAMES) {
		event->domain = domain_of(decoder->process, (uint32_t)*at);
		event->name = string_of(decoder->process, (uint32_t)(*at++ >> 32));
	}
	if (event->mask & ST_FIELD_ID)
		at = take_id(at, event->id);
	if (event->mask & ST_FIELD_OTHER)
		at = take_id(at, event->other);
	if (event->mask & ST_FIELD_VALUE)
		event->value = *at++;
	if (event->mask & ST_FIELD_EXTRA)
		event->extra = *at++;
	if (event->mask & ST_FIELD_OBJECT)
		event->object = object_of(decoder->process, *at++);
	if (event->mask & ST_FIELD_TIME)
		event->given_time = *at++;
	if (event->mask & ST_FIELD_CLOCK)
		event->clock = object_of(decoder->process, *at++);
	if (event->mask & ST_FIELD_DATA) {
		event->data_bytes = *at++;
		event->data = take_text(at, event->data_bytes);
		at += (event->data_bytes + 7) / 8;
	}
	assert_true(at == end);
}

static void decode_extended(struct decoder *decoder, const uint64_t *at, uint32_t size)
{
	uint32_t subkind = (at[0] >> 4) & 255;

	if (decoder->caller_fresh)
		assert_true(subkind == ST_EXT_BEGIN || subkind == ST_EXT_TEXT ||
			    subkind == ST_EXT_TIME);
	switch (subkind) {
	case ST_EXT_EVENT:
		decode_event(decoder, at, size);
		break;
	case ST_EXT_CALLER:
		assert_int_equal(size, 2);
		decoder->caller_next = at[1];
		decoder->caller_fresh = true;
		break;
	case ST_EXT_TIME:
		assert_int_equal(size, 2);
		assert_true(at[1] >= decoder->time);
		decoder->time = at[1];
		decoder->timed = true;
		break;
	case ST_EXT_THREAD:
		decode_thread(decoder, at[1]);
		break;
	case ST_EXT_THREAD_END:
		new_event(decoder, EVENT_THREAD_END)->value = decoder->depth;
		decoder->identified = false;
		break;
	case ST_EXT_BEGIN:
		assert_int_equal(size, 3);
		decode_begin(decoder, (uint32_t)at[1], (uint32_t)(at[1] >> 32), at[2]);
		break;
	case ST_EXT_END:
		decode_end(decoder, (uint32_t)at[1]);
		break;
	case ST_EXT_UNMATCHED_END:
		assert_int_equal(decoder->depth, 0);
		new_event(decoder, EVENT_UNMATCHED)->domain =
			domain_of(decoder->process, (uint32_t)at[1]);
		break;
	case ST_EXT_TEXT:
		assert_int_equal(size, 2 + (at[1] + 7) / 8);
		decoder->text = take_text(at + 2, at[1]);
		decoder->text_fresh = true;
		break;
	case ST_EXT_LOST:
		new_event(decoder, EVENT_LOST)->value = at[1];
		break;
	case ST_EXT_PAUSE:
		new_event(decoder, EVENT_PAUSE);
		break;
	case ST_EXT_RESUME:
		new_event(decoder, EVENT_RESUME);
		break;
	case ST_EXT_DETACH:
		new_event(decoder, EVENT_DETACH);
		break;
	default:
		fail_msg("unknown record");
	}
}

static void decode_ring(struct server *server, struct process *process, const struct words *words)
{
	struct decoder decoder = {.server = server, .process = process};

	for (size_t at = 0; at < words->count;) {
		uint64_t word = words->at[at];
		uint32_t size = 1;

		decoder.time += word >> 28;
		if ((word & 15) == ST_WORD_EXTENDED) {
			size = (uint32_t)(word >> 12) & 0xffff;
			assert_true(size >= 1 && at + size <= words->count);
			decode_extended(&decoder, words->at + at, size);
		} else if ((word & 15) == ST_WORD_BEGIN) {
			decode_begin(&decoder, (uint32_t)(word >> 4) & 127,
				     (uint32_t)(word >> 11) & 0x1ffff, 0);
		} else {
			assert_int_equal(word & 15, ST_WORD_END);
			decode_end(&decoder, (uint32_t)(word >> 4) & 127);
		}
		at += size;
	}
}

static void decode(struct server *server)
{
	for (uint32_t i = 0; i < server->segment_count; i++) {
		struct segment *segment = server->segments[i];
		struct process *process;

		if (segment->hello.segment_index)
			continue;
		process = &server->processes[server->process_count++];
		process->hello = segment->hello;
		process->header = segment->header;
		decode_definitions(process, &segment->definitions);
	}
	for (uint32_t i = 0; i < server->process_count; i++)
		server->processes[i].parent =
			find_process(server, server->processes[i].hello.parent_token);
	for (uint32_t i = 0; i < server->segment_count; i++) {
		struct segment *segment = server->segments[i];
		struct process *process = find_process(server, segment->hello.process_token);

		assert_non_null(process);
		for (uint32_t k = 0; k < segment->header->slot_count; k++)
			decode_ring(server, process, &segment->ring[k]);
	}
}

static pid_t start_child(struct server *server, void (*scenario)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	/* A test that fails must not leave anyone behind who spins. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != self)
		_exit(94);
	setenv("STRATA_SOCK", server->path, 1);
	setenv("STRATA_TOKEN", "ab0000000000000000000000000000cd", 1);
	setenv("STRATA_CONFIG", server->config, 1);
	setenv("INTEL_LIBITTNOTIFY64", server_library(), 1);
	scenario();
	_exit(0);
}

void server_run_prepared(struct server *server, void (*scenario)(void))
{
	struct pollfd poll_for = {.fd = server->listener, .events = POLLIN};
	pid_t pid = start_child(server, scenario);
	bool gone = false;

	running = pid;
	while (!gone) {
		gone = waitpid(pid, &server->status, WNOHANG) == pid;
		if (gone)
			running = 0;
		poll(&poll_for, 1, gone ? 0 : 1);
		accept_all(server);
		drain(server, gone || (!server->frozen && !server->no_definitions),
		      gone || !server->frozen);
		if (server->on_poll)
			server->on_poll(server);
		atomic_fetch_add(polls, 1);
	}
	decode(server);
}

void server_run(struct server *server, const char *config, void (*scenario)(void))
{
	server_init(server);
	if (config)
		server->config = config;
	server_run_prepared(server, scenario);
	assert_true(WIFEXITED(server->status));
	assert_int_equal(WEXITSTATUS(server->status), 0);
}

void server_fini(struct server *server)
{
	for (uint32_t i = 0; i < server->arm_count; i++)
		if (server->triggers[i] >= 0)
			close(server->triggers[i]);
	for (uint32_t i = 0; i < server->segment_count; i++) {
		struct segment *segment = server->segments[i];

		munmap(segment->header, segment->hello.segment_bytes);
		free(segment->definitions.at);
		for (uint32_t k = 0; k < ST_SHM_SLOTS; k++) {
			free(segment->ring[k].at);
			free(segment->handler[k].at);
		}
		free(segment);
	}
	for (uint32_t i = 0; i < server->process_count; i++) {
		free(server->processes[i].strings);
		free(server->processes[i].domains);
		for (uint32_t k = 0;
		     k <= server->processes[i].object_count && server->processes[i].objects; k++)
			free(server->processes[i].objects[k]);
		free(server->processes[i].objects);
	}
	while (texts) {
		struct text *next = texts->next;

		free(texts);
		texts = next;
	}
	free(server->events);
	close(server->listener);
	unlink(server->path);
	rmdir(server->folder);
}

size_t server_count(const struct server *server, enum event_kind kind, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < server->event_count; i++)
		count += server->events[i].kind == kind &&
			 (!name || !strcmp(server->events[i].name, name));
	return count;
}

const struct event *server_event(const struct server *server, enum event_kind kind, size_t n)
{
	for (size_t i = 0; i < server->event_count; i++)
		if (server->events[i].kind == kind && n-- == 0)
			return &server->events[i];
	return NULL;
}

const struct event *server_record(const struct server *server, enum st_event_kind kind, size_t n)
{
	for (size_t i = 0; i < server->event_count; i++)
		if (server->events[i].kind == EVENT_RECORD && server->events[i].record == kind &&
		    n-- == 0)
			return &server->events[i];
	return NULL;
}

size_t server_record_count(const struct server *server, enum st_event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < server->event_count; i++)
		count += server->events[i].kind == EVENT_RECORD && server->events[i].record == kind;
	return count;
}

const struct object *server_object(const struct server *server, enum st_object_kind kind,
				   const char *name)
{
	for (uint32_t i = 0; i < server->process_count; i++) {
		const struct process *process = &server->processes[i];

		for (uint32_t k = process->hello.inherited_objects + 1; k <= process->object_count;
		     k++)
			if (process->objects[k]->head.kind == kind &&
			    !strcmp(process->objects[k]->name, name))
				return process->objects[k];
	}
	return NULL;
}

static uint64_t sum_of(const struct server *server, size_t offset)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < server->segment_count; i++) {
		struct st_shm_header *header = server->segments[i]->header;
		struct st_shm_slot *slots = (struct st_shm_slot *)(header + 1);

		for (uint32_t k = 0; k < header->slot_count; k++)
			sum += *(uint64_t *)((char *)&slots[k].ring[ST_RING_SLICE] + offset);
	}
	return sum;
}

uint64_t server_dropped(const struct server *server)
{
	return sum_of(server, offsetof(struct st_shm_ring, dropped));
}

uint64_t server_unmatched(const struct server *server)
{
	return sum_of(server, offsetof(struct st_shm_ring, unmatched_ends));
}

uint64_t server_events_dropped(const struct server *server)
{
	return sum_of(server, offsetof(struct st_shm_ring, events_dropped));
}

uint64_t server_events_cut(const struct server *server)
{
	return sum_of(server, offsetof(struct st_shm_ring, events_cut));
}
