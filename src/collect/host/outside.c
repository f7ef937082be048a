// SPDX-License-Identifier: Apache-2.0
#include "collect/host/outside.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "base/vec.h"
#include "collect/host/outside_maps.h"
#include "collect/host/outside_python.h"
#include "collect/host/outside_watch.h"
#include "collect/host/perf_record.h"
#include "collect/host/perf_rings.h"
#include "format/sample_record.h"
#include "unwind/rt/walk.h"

/* Numbers of x86-64 registers in perf's list. */
enum { REGISTER_BX = 1, REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_IP = 8 };
enum {
	STACK_BYTES = 32 << 10,
	RING_PAGES_MAX = 4096, /* 16 MiB a processor: half a second of one busy thread at 1 kHz */
	RING_PAGES_MIN = 256,
	RINGS_PAGES_MAX = 64 << 10, /* 256 MiB for all processors of a large machine */
	FRAMES_MAX = 1024,
};

/* How often the mappings are read again for addresses that nobody explains. */
static const uint64_t reread_ns = 100000000u, python_retry_ns = 1000000000u;
/* By then it is known whether the frames of a sample were read in time. */
static const uint64_t hold_ns = 10000000u;

struct code_news {
	struct st_outside_code code;
	uint8_t *bytes; /* file, name, table */
};

struct st_outside {
	struct st_outside_options options;
	struct st_outside_state state;
	struct st_perf_rings *rings;
	struct st_outside_maps maps;
	pthread_mutex_t lock; /* of python and codes */
	struct st_outside_python *python;
	struct code_news
		*codes; /* found by whoever reads frames, to be told in st_outside_poll() */
	uint32_t code_count, code_capacity;
	struct st_outside_options told; /* for python: codes are kept */
	struct st_outside_watch *watch; /* NULL: frames are read when samples are looked at */
	struct st_outside_switches switches;
	struct st_unwind_cache *cache;
	bool wants_maps; /* an address was met that lies in no known file, or a file was mapped */
	uint64_t reread_ns, python_ns; /* not before */
	uint64_t native[FRAMES_MAX], frames[FRAMES_MAX], kernel[FRAMES_MAX];
};

static struct perf_event_attr sampling_attr(const struct st_outside_options *options, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = options->period_ns,
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER,
		.sample_regs_user = UINT64_C(1) << REGISTER_BX | UINT64_C(1) << REGISTER_BP |
				    UINT64_C(1) << REGISTER_SP | UINT64_C(1) << REGISTER_IP,
		.disabled = 1,
		.inherit = 1,
		.inherit_thread = 1,
		.exclude_hv = 1,
		.exclude_kernel = !kernel,
		.exclude_callchain_user = 1,
		.task = 1,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.context_switch = 1,
		.wakeup_events = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};

	if (!options->no_stacks) {
		attr.sample_type |= PERF_SAMPLE_STACK_USER;
		attr.sample_stack_user = options->stack_bytes ? options->stack_bytes : STACK_BYTES;
	}
	if (kernel)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	return attr;
}

static uint32_t ring_pages(void)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t pages = RING_PAGES_MAX;

	while (pages > RING_PAGES_MIN && processors * (long)pages > RINGS_PAGES_MAX)
		pages /= 2;
	return pages;
}

/* Every thread that exists; those they create later inherit the event. */
static enum st_status add_threads(struct st_outside *outside, struct st_error *err)
{
	enum st_status status = ST_ENOTFOUND;
	char name[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)outside->options.pid);
	folder = opendir(name);
	if (!folder)
		return st_error_set(err, ST_ENOTFOUND, errno, "process %d",
				    (int)outside->options.pid);
	while ((entry = readdir(folder)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		enum st_status one =
			tid > 0 ? st_perf_rings_add(outside->rings, tid, err) : ST_ENOTFOUND;

		if (one == ST_OK)
			status = ST_OK;
		else if (one != ST_ENOTFOUND)
			status = one;
		if (one != ST_OK && one != ST_ENOTFOUND)
			break;
	}
	closedir(folder);
	return status;
}

static enum st_status open_events(struct st_outside *outside, bool kernel, struct st_error *err)
{
	struct perf_event_attr attr = sampling_attr(&outside->options, kernel);
	enum st_status status = st_perf_rings_create(&outside->rings, &attr, ring_pages(), err);

	if (!status)
		status = add_threads(outside, err);
	if (status) {
		st_perf_rings_destroy(outside->rings);
		outside->rings = NULL;
	}
	return status;
}

static enum st_status start_events(struct st_outside *outside, struct st_error *err)
{
	enum st_status status = open_events(outside, true, err);

	if (status == ST_EUNSUPPORTED && (err->code == EACCES || err->code == EPERM)) {
		status = open_events(outside, false, err);
		if (!status)
			snprintf(outside->state.note, sizeof(outside->state.note),
				 "kernel time is not sampled: not permitted (requires root, "
				 "CAP_PERFMON or perf_event_paranoid 1)");
	} else {
		outside->state.kernel = !status;
	}
	if (status == ST_EUNSUPPORTED)
		return st_error_set(err, ST_EUNSUPPORTED, err->code,
				    "cannot sample process %d from outside (it must be yours, with "
				    "perf_event_paranoid at most 2; see 'strata doctor')",
				    (int)outside->options.pid);
	return status;
}

static void on_map(void *arg, const struct st_outside_map *map)
{
	struct st_outside *outside = arg;

	if (outside->options.map)
		outside->options.map(outside->options.arg, map);
}

static void note_tables(struct st_outside *outside)
{
	outside->state.tables_built = outside->maps.built;
	outside->state.tables_cached = outside->maps.cached;
	outside->state.build_ns = outside->maps.build_ns;
}

static void keep_code(void *arg, const struct st_outside_code *code)
{
	struct st_outside *outside = arg;
	struct code_news news = {.code = *code};

	news.bytes = malloc((size_t)code->file_bytes + code->name_bytes + code->table_bytes + 1);
	if (!news.bytes)
		return;
	memcpy(news.bytes, code->file, code->file_bytes);
	memcpy(news.bytes + code->file_bytes, code->name, code->name_bytes);
	memcpy(news.bytes + code->file_bytes + code->name_bytes, code->table, code->table_bytes);
	news.code.file = (const char *)news.bytes;
	news.code.name = (const char *)news.bytes + code->file_bytes;
	news.code.table = news.bytes + code->file_bytes + code->name_bytes;
	if (!ST_VEC_PUSH(outside->codes, outside->code_count, outside->code_capacity, news))
		free(news.bytes);
}

/* Before the samples that use them. */
static void tell_codes(struct st_outside *outside)
{
	pthread_mutex_lock(&outside->lock);
	for (uint32_t i = 0; i < outside->code_count; i++) {
		if (outside->options.code)
			outside->options.code(outside->options.arg, &outside->codes[i].code);
		free(outside->codes[i].bytes);
	}
	outside->code_count = 0;
	pthread_mutex_unlock(&outside->lock);
}

static uint32_t walk_python(void *arg, uint32_t tid, uint64_t *frames, uint32_t frames_max,
			    uint32_t *flags)
{
	struct st_outside *outside = arg;
	uint32_t count = 0;

	pthread_mutex_lock(&outside->lock);
	if (outside->python)
		count = st_outside_python_walk(outside->python, tid, frames, frames_max, flags);
	pthread_mutex_unlock(&outside->lock);
	return count;
}

static void look_for_python(struct st_outside *outside, uint64_t now_ns)
{
	struct st_outside_python *python;

	if (outside->python || outside->options.no_stacks || now_ns < outside->python_ns)
		return;
	outside->python_ns = now_ns + python_retry_ns;
	python = st_outside_python_create(outside->options.pid, &outside->told,
					  &outside->state.python_version);
	if (!python)
		return;
	pthread_mutex_lock(&outside->lock);
	outside->python = python;
	pthread_mutex_unlock(&outside->lock);
	outside->state.python = true;
	if (!outside->watch)
		outside->watch = st_outside_watch_create(outside->rings, walk_python, outside);
}

enum st_status st_outside_create(struct st_outside **out, const struct st_outside_options *options,
				 struct st_error *err)
{
	struct st_outside *outside = calloc(1, sizeof(*outside));
	enum st_status status;

	*out = NULL;
	if (!outside)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	outside->options = *options;
	outside->told = *options;
	outside->told.code = keep_code;
	outside->told.arg = outside;
	pthread_mutex_init(&outside->lock, NULL);
	outside->cache = calloc(1, st_unwind_cache_bytes());
	status = st_outside_maps_init(&outside->maps, options->pid, err);
	if (status) {
		free(outside->cache);
		free(outside);
		return status;
	}
	outside->maps.each = on_map;
	outside->maps.arg = outside;
	status = start_events(outside, err);
	if (!status && !st_outside_maps_read(&outside->maps))
		status = st_error_set(err, ST_EUNSUPPORTED, errno, "/proc/%d/maps",
				      (int)options->pid);
	if (status) {
		st_outside_destroy(outside);
		return status;
	}
	note_tables(outside);
	st_perf_rings_hold(outside->rings, hold_ns);
	look_for_python(outside, st_clock_mono_raw_ns());
	*out = outside;
	return ST_OK;
}

void st_outside_destroy(struct st_outside *outside)
{
	if (!outside)
		return;
	st_outside_watch_destroy(outside->watch);
	st_outside_python_destroy(outside->python);
	for (uint32_t i = 0; i < outside->code_count; i++)
		free(outside->codes[i].bytes);
	free(outside->codes);
	free(outside->switches.entries);
	st_perf_rings_destroy(outside->rings);
	st_outside_maps_fini(&outside->maps);
	pthread_mutex_destroy(&outside->lock);
	free(outside->cache);
	free(outside);
}

void st_outside_enable(struct st_outside *outside, bool on)
{
	st_perf_rings_enable(outside->rings, on);
}

static bool read_code(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	struct st_outside *outside = arg;

	return st_outside_read(outside->options.pid, address, out, size_bytes);
}

static void walk_native(struct st_outside *outside, const struct st_perf_sample *sample,
			struct st_outside_sample *out)
{
	struct st_walk walk = {
		.modules = {outside->maps.modules, outside->maps.count},
		.cache = outside->cache,
		.generation = outside->maps.generation,
		.pc = st_perf_sample_register(sample, REGISTER_IP),
		.sp = st_perf_sample_register(sample, REGISTER_SP),
		.fp = st_perf_sample_register(sample, REGISTER_BP),
		.bx = st_perf_sample_register(sample, REGISTER_BX),
		.stack = sample->stack,
		.read_code = read_code,
		.arg = outside,
		.frames = outside->native,
		.frames_max = outside->options.depth && outside->options.depth < FRAMES_MAX
				      ? outside->options.depth
				      : FRAMES_MAX,
		.recover = true,
	};

	if (!sample->registers) /* a thread of the kernel's, or one that has not begun */
		return;
	walk.stack_low = walk.sp;
	walk.stack_high = walk.sp + sample->stack_bytes;
	if (!sample->stack_bytes) {
		outside->native[0] = walk.pc;
		walk.frame_count = 1;
		walk.flags = outside->options.no_stacks ? ST_SAMPLE_NO_STACK : ST_SAMPLE_TRUNCATED;
	} else {
		st_walk_run(&walk);
	}
	out->native = outside->native;
	out->native_count = walk.frame_count;
	out->flags |= walk.flags;
	if ((walk.flags & ST_SAMPLE_TRUNCATED) && walk.missing_pc &&
	    !st_outside_maps_knows(&outside->maps, walk.missing_pc))
		outside->wants_maps = true;
}

static void take_kernel(struct st_outside *outside, const struct st_perf_sample *sample,
			struct st_outside_sample *out)
{
	for (uint64_t i = 0; i < sample->chain_count && out->kernel_count < FRAMES_MAX; i++)
		if (st_perf_u64(sample->chain, i) < (uint64_t)PERF_CONTEXT_MAX)
			outside->kernel[out->kernel_count++] = st_perf_u64(sample->chain, i);
	out->kernel = outside->kernel;
	if (out->kernel_count)
		out->flags |= ST_SAMPLE_KERNEL;
}

/* Frames that are not of the sample's instant are left out: they would put its time on a wrong line. */
static void take_python(struct st_outside *outside, struct st_outside_sample *out)
{
	struct st_outside_capture *capture =
		outside->watch ? st_outside_watch_take(outside->watch, out->tid, out->mono_raw_ns)
			       : NULL;

	st_outside_python_eval(outside->python, out->eval);
	if (capture && !capture->count) { /* a thread that runs no Python */
		free(capture);
		return;
	}
	if (capture &&
	    st_outside_captured_in_time(&outside->switches, capture, out->kernel_count != 0)) {
		out->python_count = capture->count;
		memcpy(outside->frames, capture->frames, capture->count * sizeof(*capture->frames));
		out->python = outside->frames;
		out->flags |= capture->flags;
		outside->state.python_read++;
	} else {
		out->flags |= ST_SAMPLE_PYTHON_LATE;
		outside->state.python_late++;
	}
	free(capture);
}

static void take_sample(struct st_outside *outside, const struct st_perf_record *record)
{
	struct st_perf_sample sample;
	struct st_outside_sample out = {.weight_ns = outside->options.period_ns,
					.flags = ST_SAMPLE_WEIGHT_NOMINAL};

	if (!st_perf_sample_parse(st_perf_rings_attr(outside->rings), record->bytes,
				  record->size_bytes, &sample)) {
		outside->state.lost++;
		return;
	}
	out.tid = sample.tid;
	out.mono_raw_ns = sample.time;
	walk_native(outside, &sample, &out);
	take_kernel(outside, &sample, &out);
	if (outside->python)
		take_python(outside, &out);
	outside->options.sample(outside->options.arg, &out);
}

static void take_thread(struct st_outside *outside, const struct st_perf_record *record)
{
	uint32_t ids[4]; /* pid, parent's pid, tid, parent's tid */

	if (record->size_bytes < sizeof(struct perf_event_header) + sizeof(ids) ||
	    !outside->options.thread)
		return;
	memcpy(ids, record->bytes + sizeof(struct perf_event_header), sizeof(ids));
	if (ids[0] != (uint32_t)outside->options.pid)
		return;
	outside->options.thread(outside->options.arg, ids[2],
				record->header->type == PERF_RECORD_FORK ? ids[3] : 0,
				record->time);
}

static void take(void *arg, const struct st_perf_record *record)
{
	struct st_outside *outside = arg;

	if (record->header->type == PERF_RECORD_SAMPLE)
		take_sample(outside, record);
	else if (record->header->type == PERF_RECORD_FORK ||
		 record->header->type == PERF_RECORD_EXIT)
		take_thread(outside, record);
	else if (record->header->type == PERF_RECORD_MMAP2)
		outside->wants_maps = true;
}

static void look_at_switch(void *arg, const struct st_perf_record *record)
{
	struct st_outside *outside = arg;
	struct st_outside_switches *switches = &outside->switches;
	struct st_perf_switch news;

	if (record->header->type == PERF_RECORD_SWITCH &&
	    st_perf_switch_parse(record->bytes, record->size_bytes, &news))
		(void)ST_VEC_PUSH(switches->entries, switches->count, switches->capacity,
				  (struct st_outside_switch){
					  .time = news.time, .tid = news.tid, .out = news.out});
}

void st_outside_poll(struct st_outside *outside, bool all)
{
	uint64_t now_ns = st_clock_mono_raw_ns();

	if (outside->wants_maps && now_ns >= outside->reread_ns) {
		outside->wants_maps = false;
		st_outside_maps_read(&outside->maps);
		note_tables(outside);
		outside->reread_ns = now_ns + reread_ns;
	}
	look_for_python(outside, now_ns);
	outside->switches.count = 0;
	outside->switches.until_ns = st_perf_rings_read(outside->rings);
	if (outside->watch)
		st_perf_rings_look(outside->rings, look_at_switch, outside);
	tell_codes(outside);
	st_perf_rings_hand_on(outside->rings, all, take, outside);
	outside->state.lost = st_perf_rings_lost(outside->rings);
}

const struct st_outside_state *st_outside_state(const struct st_outside *outside)
{
	return &outside->state;
}
