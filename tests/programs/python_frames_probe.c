/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler's reader of Python frames as a library that ctypes can call: at once, so that the interpreter
 * itself can say what stands there, or from a signal handler at any instant. It keeps in memory what the
 * sampler would write into rings.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "base/rt/syscall.h"
#include "collect/inproc/python/python_frames.h"
#include "collect/inproc/core/handler_ring.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/core/thread.h"
#include "format/sample_record.h"
#include "store/python_lines.h"

#define PROBE __attribute__((visibility("default")))

enum { CODES_MAX = 64 << 10, TEXT_BYTES = 64 << 20, SAMPLES_MAX = 1 << 20, WORDS_MAX = 1 << 24 };

struct st_shared st_shared; /* the collector's; here nothing is ever passive */
struct st_inproc_process *st_process;

/* All of a thread's; one thread is sampled at a time. */
struct probe {
	struct st_handler_ring ring; /* nothing is written into it */
	uint32_t refuse;	     /* the next so many records find no room */
	uint32_t runtimes;
	uint64_t runtime[5];
	uint32_t text_used;
	uint32_t defined_twice;
	struct {
		uint64_t head[3];
		uint32_t at;
	} codes[CODES_MAX];
	uint8_t texts[TEXT_BYTES];
	struct {
		uint32_t first, count, flags, ns;
	} samples[SAMPLES_MAX];
	uint32_t sample_count, word_count;
	uint64_t words[WORDS_MAX];
	uint64_t frames[4096];
	uint8_t scratch[ST_PYTHON_SCRATCH_BYTES];
	uint8_t thread[64 << 10];
};
static struct probe *probe;
static uint32_t depth = 4095;
static timer_t timer;

bool st_handler_put(struct st_handler_ring *ring, enum st_ring_ext subkind,
		    const struct st_part *parts, uint32_t part_count)
{
	const uint64_t *head = parts[0].at;
	uint32_t id = (uint32_t)head[0] % CODES_MAX;

	(void)ring;
	if (probe->refuse) {
		probe->refuse--;
		return false;
	}
	if (subkind == ST_EXT_PYTHON_RUNTIME) {
		probe->runtimes++;
		memcpy(probe->runtime, head, sizeof(probe->runtime));
		return true;
	}
	probe->defined_twice += probe->codes[id].head[0] != 0;
	memcpy(probe->codes[id].head, head, 24);
	probe->codes[id].at = probe->text_used;
	for (uint32_t i = 1; i < part_count; i++) {
		memcpy(probe->texts + probe->text_used, parts[i].at, parts[i].size_bytes);
		probe->text_used += parts[i].size_bytes;
	}
	return true;
}

void *st_map_wiped(size_t size_bytes)
{
	return mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void walk(uint64_t pc)
{
	struct st_python_walk now = {
		.ring = &probe->ring,
		.generation = 1,
		.thread = probe->thread,
		.scratch = probe->scratch,
		.pc = pc,
		.frames = probe->frames,
		.frames_max = depth,
	};
	uint64_t start = st_clock_mono_raw_ns();
	uint32_t at = probe->sample_count;

	st_python_frames_walk(&now);
	if (at == SAMPLES_MAX || probe->word_count + now.frame_count > WORDS_MAX)
		return;
	probe->samples[at].ns = (uint32_t)(st_clock_mono_raw_ns() - start);
	probe->samples[at].first = probe->word_count;
	probe->samples[at].count = now.frame_count;
	probe->samples[at].flags = now.flags;
	memcpy(probe->words + probe->word_count, probe->frames, now.frame_count * 8);
	probe->word_count += now.frame_count;
	probe->sample_count++;
}

PROBE int probe_init(void);
PROBE int probe_now(void (*then)(void));
PROBE int probe_samples(void);
PROBE int probe_sample(int index, uint64_t *words, uint32_t *flags, uint32_t *ns);
PROBE int probe_code(uint32_t id, uint64_t *head, char *texts);
PROBE int probe_count(const char *what);
PROBE void probe_depth(uint32_t frames);
PROBE void probe_refuse(uint32_t records);
PROBE int probe_start(long period_ns);
PROBE void probe_stop(void);
PROBE void probe_runtime(uint64_t *words);
PROBE uint32_t probe_line_of(const struct st_python_line_table *table, uint32_t position);

int probe_init(void)
{
	probe = mmap(NULL, sizeof(*probe), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (probe == MAP_FAILED || st_python_thread_bytes() > sizeof(probe->thread))
		return -1;
	return st_python_frames_init() ? (int)st_python_frames_refusal() : -2;
}

/* `then` is called from the same place, so that Python can look at the frames that stand here now. */
int probe_now(void (*then)(void))
{
	walk(0);
	if (then)
		then();
	return (int)probe->sample_count - 1;
}

int probe_samples(void)
{
	return (int)probe->sample_count;
}

int probe_sample(int index, uint64_t *words, uint32_t *flags, uint32_t *ns)
{
	memcpy(words, probe->words + probe->samples[index].first,
	       (size_t)probe->samples[index].count * 8);
	*flags = probe->samples[index].flags;
	*ns = probe->samples[index].ns;
	return (int)probe->samples[index].count;
}

/* File, name and line table behind each other; their lengths are in the head. */
int probe_code(uint32_t id, uint64_t *head, char *texts)
{
	uint64_t bytes;

	if (!probe->codes[id % CODES_MAX].head[0])
		return -1;
	memcpy(head, probe->codes[id % CODES_MAX].head, 24);
	bytes = (uint32_t)head[1] + (head[1] >> 32) + (uint32_t)head[2];
	memcpy(texts, probe->texts + probe->codes[id % CODES_MAX].at, bytes);
	return (int)bytes;
}

int probe_count(const char *what)
{
	return (int)(strcmp(what, "runtimes") ? probe->defined_twice : probe->runtimes);
}

void probe_depth(uint32_t frames)
{
	depth = frames;
}

void probe_refuse(uint32_t records)
{
	probe->refuse = records;
}

void probe_runtime(uint64_t *words)
{
	memcpy(words, probe->runtime, sizeof(probe->runtime));
}

/* What the reader of results makes of a position. */
uint32_t probe_line_of(const struct st_python_line_table *table, uint32_t position)
{
	return st_python_line_of(table, position);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
	const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	walk((uint64_t)registers[REG_RIP]);
#else
	const mcontext_t *at = &((ucontext_t *)context)->uc_mcontext;

	walk(at->pc);
#endif
	(void)number;
	(void)info;
}

/* Samples the calling thread until probe_stop. */
int probe_start(long period_ns)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 5};
	struct itimerspec period = {{0, period_ns}, {0, period_ns}};

	event._sigev_un._tid = (int)st_syscall(SYS_gettid, 0);
	sigaction(SIGRTMIN + 5, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return -1;
	return timer_settime(timer, 0, &period, NULL);
}

void probe_stop(void)
{
	timer_delete(timer);
}
