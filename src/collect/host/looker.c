// SPDX-License-Identifier: Apache-2.0
#include "collect/host/looker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "collect/host/outside_maps.h"
#include "collect/host/outside_python.h"
#include "format/sample_record.h"
#include "format/wait_kind.h"
#include "unwind/rt/walk.h"

enum {
	ASKED_MAX = 64,
	PROCESSES_MAX = 16, /* whose mappings are kept */
	FRAMES_MAX = 512,
	STACK_MAX_BYTES = 64 << 10,
	NICE = 10,
};

static const uint64_t reread_ns = 500000000u;

struct asked {
	uint32_t pid, tid;
	uint64_t since_ns;
};

struct watched {
	pid_t pid; /* 0: free */
	struct st_outside_maps maps;
	struct st_outside_python *python;
	struct st_outside_options told;
	uint32_t python_version;
	uint64_t read_ns, used_ns;
	bool wants_maps;
};

struct st_looker {
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows, up to the state */
	pthread_cond_t news;
	struct asked asked[ASKED_MAX];
	uint32_t asked_first, asked_count;
	struct st_look *done, **done_end;
	bool stops;
	struct st_looker_state state;
	/* Of its thread alone. */
	struct watched processes[PROCESSES_MAX];
	struct st_look_code *codes; /* of the look at hand */
	uint8_t stack[STACK_MAX_BYTES];
	uint64_t native[FRAMES_MAX], python[FRAMES_MAX];
};

static bool read_file(const struct asked *asked, const char *name, char *out, size_t out_bytes)
{
	char path[80];
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", asked->pid, asked->tid, name);
	file = fopen(path, "re");
	if (file) {
		size = fread(out, 1, out_bytes - 1, file);
		fclose(file);
	}
	out[size] = '\0';
	return size > 0;
}

/* How often it has been on a CPU: the third number. */
static bool read_turns(const struct asked *asked, uint64_t *turns)
{
	char text[96], *last;

	if (!read_file(asked, "schedstat", text, sizeof(text)))
		return false;
	last = strrchr(text, ' ');
	*turns = last ? strtoull(last + 1, NULL, 10) : 0;
	return last;
}

struct call {
	int64_t number; /* -1: none, it waits for a page */
	uint64_t first; /* argument */
	uint64_t sp, pc;
};

/* "number arguments sp pc", or "-1 sp pc". */
static bool read_call(const struct asked *asked, struct call *out)
{
	char text[256], *at;

	if (!read_file(asked, "syscall", text, sizeof(text)) || text[0] == 'r')
		return false;
	out->number = strtoll(text, &at, 10);
	out->first = out->number < 0 ? 0 : strtoull(at, NULL, 16);
	at = strrchr(text, ' ');
	if (!at)
		return false;
	out->pc = strtoull(at + 1, NULL, 16);
	*at = '\0';
	at = strrchr(text, ' ');
	out->sp = at ? strtoull(at + 1, NULL, 16) : 0;
	return out->pc && out->sp;
}

static const struct {
	int16_t call;
	uint8_t kind;
} kinds[] = {
	{SYS_futex, ST_WAIT_FUTEX},
	{SYS_nanosleep, ST_WAIT_SLEEP},
	{SYS_clock_nanosleep, ST_WAIT_SLEEP},
	{SYS_poll, ST_WAIT_POLL},
	{SYS_ppoll, ST_WAIT_POLL},
	{SYS_select, ST_WAIT_POLL},
	{SYS_pselect6, ST_WAIT_POLL},
	{SYS_epoll_wait, ST_WAIT_POLL},
	{SYS_epoll_pwait, ST_WAIT_POLL},
	{SYS_io_uring_enter, ST_WAIT_POLL},
	{SYS_io_getevents, ST_WAIT_POLL},
	{SYS_read, ST_WAIT_READ},
	{SYS_readv, ST_WAIT_READ},
	{SYS_pread64, ST_WAIT_READ},
	{SYS_preadv, ST_WAIT_READ},
	{SYS_recvfrom, ST_WAIT_READ},
	{SYS_recvmsg, ST_WAIT_READ},
	{SYS_accept, ST_WAIT_READ},
	{SYS_accept4, ST_WAIT_READ},
	{SYS_getdents64, ST_WAIT_READ},
	{SYS_write, ST_WAIT_WRITE},
	{SYS_writev, ST_WAIT_WRITE},
	{SYS_pwrite64, ST_WAIT_WRITE},
	{SYS_sendto, ST_WAIT_WRITE},
	{SYS_sendmsg, ST_WAIT_WRITE},
	{SYS_connect, ST_WAIT_WRITE},
	{SYS_fsync, ST_WAIT_FILE_SYNC},
	{SYS_fdatasync, ST_WAIT_FILE_SYNC},
	{SYS_sync_file_range, ST_WAIT_FILE_SYNC},
	{SYS_wait4, ST_WAIT_CHILD},
	{SYS_waitid, ST_WAIT_CHILD},
	{SYS_vfork, ST_WAIT_CHILD}, /* until it has executed another program */
	{SYS_clone, ST_WAIT_CHILD},
	{SYS_clone3, ST_WAIT_CHILD},
	{SYS_pause, ST_WAIT_SIGNAL},
	{SYS_rt_sigsuspend, ST_WAIT_SIGNAL},
	{SYS_rt_sigtimedwait, ST_WAIT_SIGNAL},
	{SYS_semop, ST_WAIT_SEMAPHORE},
	{SYS_semtimedop, ST_WAIT_SEMAPHORE},
	{SYS_flock, ST_WAIT_FILE_LOCK},
	{SYS_fcntl, ST_WAIT_FILE_LOCK},
};

static void name_call(const struct call *call, struct st_look *look)
{
	look->kind = call->number < 0 ? ST_WAIT_PAGE : ST_WAIT_CALL;
	look->object = call->number < 0 ? 0 : (uint64_t)call->number;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].call != call->number)
			continue;
		look->kind = kinds[i].kind;
		/* As the library of waits tells them: descriptors from 1 on, several at once as none. */
		look->object = call->first;
		if (look->kind == ST_WAIT_SLEEP || look->kind == ST_WAIT_POLL ||
		    look->kind == ST_WAIT_SIGNAL || look->kind == ST_WAIT_CHILD)
			look->object = 0;
		else if (look->kind >= ST_WAIT_READ)
			look->object++;
	}
}

static void keep_code(void *arg, const struct st_outside_code *code)
{
	struct st_looker *looker = arg;
	struct st_look_code *kept;
	uint8_t *texts;

	kept = malloc(sizeof(*kept) + code->file_bytes + code->name_bytes + code->table_bytes + 1);
	if (!kept)
		return;
	texts = (uint8_t *)(kept + 1);
	*kept = (struct st_look_code){.code = *code, .next = looker->codes};
	looker->codes = kept;
	memcpy(texts, code->file, code->file_bytes);
	kept->code.file = (const char *)texts;
	texts += code->file_bytes;
	memcpy(texts, code->name, code->name_bytes);
	kept->code.name = (const char *)texts;
	texts += code->name_bytes;
	memcpy(texts, code->table, code->table_bytes);
	kept->code.table = texts;
}

static void forget(struct watched *watched)
{
	if (!watched->pid)
		return;
	st_outside_python_destroy(watched->python);
	st_outside_maps_fini(&watched->maps);
	memset(watched, 0, sizeof(*watched));
}

/* The process, its mappings as of lately; NULL: they cannot be read. */
static struct watched *watch(struct st_looker *looker, pid_t pid)
{
	uint64_t now_ns = st_clock_mono_raw_ns();
	struct watched *found = &looker->processes[0];

	for (unsigned int i = 0; i < PROCESSES_MAX && found->pid != pid; i++) {
		struct watched *watched = &looker->processes[i];

		if (watched->pid == pid || watched->used_ns < found->used_ns)
			found = watched;
	}
	if (found->pid != pid) {
		forget(found);
		if (st_outside_maps_init(&found->maps, pid, NULL))
			return NULL;
		found->pid = pid;
		found->told =
			(struct st_outside_options){.pid = pid, .code = keep_code, .arg = looker};
		found->wants_maps = true;
	}
	found->used_ns = now_ns;
	if (found->wants_maps && now_ns - found->read_ns > reread_ns) {
		found->wants_maps = false;
		st_outside_maps_read(&found->maps);
		found->read_ns = st_clock_mono_raw_ns();
	}
	if (!found->python)
		found->python = st_outside_python_create(pid, &found->told, &found->python_version);
	return found;
}

static bool read_code(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	return st_outside_read(((const struct watched *)arg)->pid, address, out, size_bytes);
}

static uint32_t walk(struct st_looker *looker, struct watched *watched, const struct call *call,
		     size_t stack_bytes, uint32_t *flags)
{
	struct st_walk walk = {.modules = {watched->maps.modules, watched->maps.count},
			       .pc = call->pc,
			       .sp = call->sp,
			       .stack = looker->stack,
			       .stack_low = call->sp,
			       .stack_high = call->sp + stack_bytes,
			       .read_code = read_code,
			       .arg = watched,
			       .frames = looker->native,
			       .frames_max = FRAMES_MAX,
			       .recover = true};

	if (!stack_bytes) {
		*flags |= ST_SAMPLE_TRUNCATED;
		looker->native[0] = call->pc;
		return 1;
	}
	st_walk_run(&walk);
	*flags |= walk.flags;
	if ((walk.flags & ST_SAMPLE_TRUNCATED) && walk.missing_pc &&
	    !st_outside_maps_knows(&watched->maps, walk.missing_pc))
		watched->wants_maps = true;
	return walk.frame_count;
}

static size_t copy_stack(struct st_looker *looker, uint32_t pid, uint64_t sp)
{
	struct iovec local = {looker->stack, STACK_MAX_BYTES};
	struct iovec remote = {(void *)(uintptr_t)sp, STACK_MAX_BYTES};
	ssize_t size = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	return size > 0 ? (size_t)size : 0;
}

static void count(struct st_looker *looker, uint64_t *what, int code)
{
	pthread_mutex_lock(&looker->lock);
	++*what;
	if (code && !looker->state.why)
		looker->state.why = code;
	pthread_mutex_unlock(&looker->lock);
}

static struct st_look *make(const struct st_looker *looker, uint32_t native, uint32_t python)
{
	struct st_look *look =
		calloc(1, sizeof(*look) + ((size_t)native + python) * sizeof(*look->words));

	if (!look)
		return NULL;
	look->native_count = native;
	look->python_count = python;
	memcpy(look->words, looker->native, native * sizeof(*look->words));
	memcpy(look->words + native, looker->python, python * sizeof(*look->words));
	return look;
}

/* NULL: there was nothing to see. */
static struct st_look *look_at(struct st_looker *looker, const struct asked *asked)
{
	struct watched *watched = watch(looker, (pid_t)asked->pid);
	uint32_t flags = ST_SAMPLE_WAITING, native, python = 0;
	uint64_t before, after;
	struct st_look *look;
	struct call call;
	size_t stack_bytes;

	errno = 0;
	if (!watched || !read_turns(asked, &before) || !read_call(asked, &call)) {
		if (errno != ENOENT && errno != ESRCH && errno)
			count(looker, &looker->state.refused, errno);
		return NULL;
	}
	stack_bytes = copy_stack(looker, asked->pid, call.sp);
	if (!stack_bytes && errno == EPERM)
		count(looker, &looker->state.refused, errno);
	if (watched->python)
		python = st_outside_python_walk(watched->python, asked->tid, looker->python,
						FRAMES_MAX, &flags);
	if (!read_turns(asked, &after) || after != before) {
		count(looker, &looker->state.moved, 0);
		return NULL;
	}
	native = walk(looker, watched, &call, stack_bytes, &flags);
	look = make(looker, native, python);
	if (!look)
		return NULL;
	name_call(&call, look);
	look->flags = flags;
	look->python_version = watched->python_version;
	if (watched->python)
		st_outside_python_eval(watched->python, look->eval);
	count(looker, &looker->state.looks, 0);
	return look;
}

static void *run(void *arg)
{
	struct st_looker *looker = arg;

	/* The program's threads come first. */
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	pthread_mutex_lock(&looker->lock);
	while (!looker->stops) {
		struct asked asked;
		struct st_look *look;

		if (!looker->asked_count) {
			pthread_cond_wait(&looker->news, &looker->lock);
			continue;
		}
		asked = looker->asked[looker->asked_first++ % ASKED_MAX];
		looker->asked_count--;
		pthread_mutex_unlock(&looker->lock);
		look = look_at(looker, &asked);
		if (!look) /* that there is nothing is news too */
			look = make(looker, 0, 0);
		pthread_mutex_lock(&looker->lock);
		if (!look)
			continue;
		look->pid = asked.pid;
		look->tid = asked.tid;
		look->since_ns = asked.since_ns;
		look->codes = looker->codes;
		looker->codes = NULL;
		*looker->done_end = look;
		looker->done_end = &look->next;
	}
	pthread_mutex_unlock(&looker->lock);
	return NULL;
}

static int try_it(void)
{
	struct asked self = {.pid = (uint32_t)getpid(), .tid = (uint32_t)getpid()};
	uint8_t byte = 0, copy;
	struct iovec local = {&copy, 1}, remote = {&byte, 1};
	char text[96];
	uint64_t turns;

	errno = 0;
	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1 ||
	    !read_file(&self, "syscall", text, sizeof(text)) || !read_turns(&self, &turns))
		return errno ? errno : ENOSYS;
	return 0;
}

/* In a child: a filter may kill where it could refuse. */
int st_looker_refusal(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(try_it());
	if (child < 0 || waitpid(child, &status, 0) != child)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

struct st_looker *st_looker_create(void)
{
	struct st_looker *looker = calloc(1, sizeof(*looker));

	if (!looker)
		return NULL;
	pthread_mutex_init(&looker->lock, NULL);
	pthread_cond_init(&looker->news, NULL);
	looker->done_end = &looker->done;
	if (pthread_create(&looker->thread, NULL, run, looker) == 0)
		return looker;
	pthread_cond_destroy(&looker->news);
	pthread_mutex_destroy(&looker->lock);
	free(looker);
	return NULL;
}

static void free_codes(struct st_look_code *code)
{
	while (code) {
		struct st_look_code *next = code->next;

		free(code);
		code = next;
	}
}

void st_look_free(struct st_look *look)
{
	if (!look)
		return;
	free_codes(look->codes);
	free(look);
}

void st_looker_destroy(struct st_looker *looker)
{
	struct st_look *look;

	if (!looker)
		return;
	pthread_mutex_lock(&looker->lock);
	looker->stops = true;
	pthread_cond_signal(&looker->news);
	pthread_mutex_unlock(&looker->lock);
	pthread_join(looker->thread, NULL);
	while ((look = st_looker_take(looker)))
		st_look_free(look);
	free_codes(looker->codes);
	for (unsigned int i = 0; i < PROCESSES_MAX; i++)
		forget(&looker->processes[i]);
	pthread_cond_destroy(&looker->news);
	pthread_mutex_destroy(&looker->lock);
	free(looker);
}

bool st_looker_ask(struct st_looker *looker, uint32_t pid, uint32_t tid, uint64_t since_ns)
{
	bool is_asked;

	pthread_mutex_lock(&looker->lock);
	is_asked = looker->asked_count < ASKED_MAX;
	if (is_asked) {
		looker->asked[(looker->asked_first + looker->asked_count++) % ASKED_MAX] =
			(struct asked){.pid = pid, .tid = tid, .since_ns = since_ns};
		pthread_cond_signal(&looker->news);
	}
	pthread_mutex_unlock(&looker->lock);
	return is_asked;
}

struct st_look *st_looker_take(struct st_looker *looker)
{
	struct st_look *look;

	pthread_mutex_lock(&looker->lock);
	look = looker->done;
	if (look) {
		looker->done = look->next;
		if (!looker->done)
			looker->done_end = &looker->done;
		look->next = NULL;
	}
	pthread_mutex_unlock(&looker->lock);
	return look;
}

struct st_looker_state st_looker_state(struct st_looker *looker)
{
	struct st_looker_state state;

	pthread_mutex_lock(&looker->lock);
	state = looker->state;
	pthread_mutex_unlock(&looker->lock);
	return state;
}
