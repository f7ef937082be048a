// SPDX-License-Identifier: Apache-2.0
#include "collect/host/wakes.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/host/perf_rings.h"

enum {
	RING_PAGES = 128,
	TEXT_BYTES = 4096,
	RAW_AT = sizeof(struct perf_event_header) + 16 + 4, /* ids, time, size */
	FLAGS_AT = 2,					    /* of every tracepoint */
	CURRENT_AT = 4,
	IN_INTERRUPT = 0x08 | 0x10, /* hard or soft */
};

struct st_wake_watch {
	struct st_perf_rings *rings;
	uint32_t pid_at; /* in the tracepoint's own data */
	void (*each)(void *arg, const struct st_waking *waking);
	void *arg;
};

static bool read_text(const char *name, char *text)
{
	static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char path[128];
		size_t size = 0;
		FILE *file;

		snprintf(path, sizeof(path), "%s/events/sched/sched_waking/%s", folders[i], name);
		file = fopen(path, "re");
		if (file) {
			size = fread(text, 1, TEXT_BYTES - 1, file);
			fclose(file);
		}
		text[size] = '\0';
		if (size)
			return true;
	}
	return false;
}

/* "field:pid_t pid;	offset:24;" */
static uint32_t find_pid(const char *format)
{
	static const char field[] = "pid_t pid;", offset[] = "offset:";
	const char *at = strstr(format, field);

	at = at ? strstr(at, offset) : NULL;
	return at ? (uint32_t)strtoul(at + strlen(offset), NULL, 10) : 0;
}

enum st_status st_wake_watch_create(struct st_wake_watch **out, struct st_error *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};
	struct st_wake_watch *watch = calloc(1, sizeof(*watch));
	char text[TEXT_BYTES];
	enum st_status status;

	*out = NULL;
	if (!watch)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	if (read_text("format", text))
		watch->pid_at = find_pid(text);
	if (!watch->pid_at || !read_text("id", text)) {
		free(watch);
		return st_error_set(err, ST_EUNSUPPORTED, 0,
				    "tracefs is not mounted or not readable");
	}
	attr.config = strtoull(text, NULL, 10);
	status = st_perf_rings_create(&watch->rings, &attr, RING_PAGES, err);
	if (!status)
		status = st_perf_rings_add(watch->rings, -1, err);
	if (status) {
		int code = err->code;

		st_wake_watch_destroy(watch);
		if (code == EACCES || code == EPERM)
			return st_error_set(err, ST_EUNSUPPORTED, code,
					    "requires root or CAP_PERFMON");
		return status;
	}
	*out = watch;
	return ST_OK;
}

void st_wake_watch_destroy(struct st_wake_watch *watch)
{
	if (!watch)
		return;
	st_perf_rings_destroy(watch->rings);
	free(watch);
}

static uint32_t u32_at(const uint8_t *bytes, size_t at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static void take(void *arg, const struct st_perf_record *record)
{
	const struct st_wake_watch *watch = arg;
	struct st_waking waking = {.ns = record->time};

	if (record->header->type != PERF_RECORD_SAMPLE ||
	    record->size_bytes < RAW_AT + watch->pid_at + sizeof(uint32_t))
		return;
	/* The tracepoint has the numbers of the whole machine: in another pid namespace they mean nothing. */
	waking.waker = u32_at(record->bytes, sizeof(struct perf_event_header) + 4);
	if (waking.waker != u32_at(record->bytes, RAW_AT + CURRENT_AT))
		return;
	if (record->bytes[RAW_AT + FLAGS_AT] & IN_INTERRUPT)
		waking.waker = 0;
	waking.woken = u32_at(record->bytes, RAW_AT + watch->pid_at);
	watch->each(watch->arg, &waking);
}

void st_wake_watch_poll(struct st_wake_watch *watch,
			void (*each)(void *arg, const struct st_waking *waking), void *arg)
{
	watch->each = each;
	watch->arg = arg;
	st_perf_rings_poll(watch->rings, true, take, watch);
}

uint64_t st_wake_watch_lost(const struct st_wake_watch *watch)
{
	return st_perf_rings_lost(watch->rings);
}
