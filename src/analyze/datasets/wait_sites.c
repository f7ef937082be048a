// SPDX-License-Identifier: Apache-2.0
//
// The places of waits. One pass over the frames, callers first, tells for each of them what a wait right there would be.
#include "analyze/datasets/wait_sites.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "base/search.h"
#include "resolve/named.h"
#include "store/samples.h"

enum { FLAG_IDLE = 1, FLAG_PYTHON_LOCK = 2 };

/* Files of Python in which others wait. */
static const char *const libraries[] = {
	"*/threading.py",
	"*/queue.py",
	"*/multiprocessing/*.py",
	"*/concurrent/futures/*.py",
	"*/selectors.py",
	"*/socket.py",
	"*/ssl.py",
	"*/subprocess.py",
	"*/contextlib.py",
	"<frozen *",
	NULL,
};

/* Functions of pools that fetch work, by file: whoever waits below them, with nothing but libraries between, has none. */
static const struct {
	const char *file, *function;
} fetchers[] = {
	{"*/concurrent/futures/thread.py", "_worker"},
	{"*/concurrent/futures/process.py", "_process_worker"},
	{"*/concurrent/futures/process.py", "*ExecutorManagerThread.*"},
	{"*/multiprocessing/pool.py", "worker"},
	{"*/multiprocessing/pool.py", "*_handle_*"},
	{"*/multiprocessing/queues.py", "*_feed"},
	{"*/multiprocessing/managers.py", "*serve*"},
	{"*/multiprocessing/resource_sharer.py", "*_serve"},
	{"*/multiprocessing/resource_tracker.py", "main"},
	{"*/multiprocessing/forkserver.py", "main"},
	{"*/torch/utils/data/_utils/worker.py", "_worker_loop"},
	{"*/torch/utils/data/_utils/pin_memory.py", "*_loop"},
	{"*/torch/utils/data/_utils/pin_memory.py", "do_one_step"},
	{"*/socketserver.py", "*serve_forever"},
	{"*/asyncio/base_events.py", "*_run_once"},
	{"*/asyncio/base_events.py", "*run_forever"},
};

/* Libraries that run threads of their own, and what those stand on. */
static const char *const runtimes[] = {
	"libc.so*",	  "libc-2*",	  "libpthread*",
	"ld-linux*",	  "ld-2*",	  "libstdc++*",
	"libc++*",	  "libgomp*",	  "libomp*",
	"libiomp5*",	  "libopenblas*", "libscipy_openblas*",
	"libblis*",	  "libmkl_*",	  "libtbb*",
	"libtorch*",	  "libc10*",	  "libcaffe2*",
	"libtensorflow*", "_pywrap_*",	  "xla_extension*",
	"libjax*",	  "libcuda*",	  "libcupti*",
	"libnccl*",	  "libnvrtc*",	  "libarrow*",
	"libdnnl*",	  "libstrata_*",  "libuv*",
	"libgrpc*",	  "cygrpc*",	  "polars*",
	"libpolars*",	  NULL,
};

static bool fits_one(struct st_text text, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (st_pattern_match(*patterns, text))
			return true;
	return false;
}

static bool is_fetcher(struct st_text file, struct st_text function)
{
	for (size_t i = 0; i < sizeof(fetchers) / sizeof(fetchers[0]); i++)
		if (st_pattern_match(fetchers[i].file, file) &&
		    st_pattern_match(fetchers[i].function, function))
			return true;
	return false;
}

/* What is asked of a function, once: there are far more frames. */
enum { IS_PYTHON = 1, IS_LIBRARY = 2, IS_FETCHER = 4, IS_RUNTIME = 8, IS_LOCK = 16 };

static uint8_t traits_of(const struct st_named *named, uint32_t index)
{
	static const char *const locks[] = {"PyThread_acquire_lock*", "_PyMutex_*",
					    "_PySemaphore_*", "acquire_timed", NULL};
	const struct st_named_function *function = &named->functions[index];
	struct st_text file = named->sources[function->source];
	uint8_t traits = 0;

	if (function->kind != ST_FUNCTION_PYTHON) {
		if (fits_one(named->modules[function->module].name, runtimes))
			traits |= IS_RUNTIME;
		return fits_one(function->name, locks) ? traits | IS_LOCK : traits;
	}
	traits = IS_PYTHON;
	if (fits_one(file, libraries))
		traits |= IS_LIBRARY;
	return is_fetcher(file, function->name) ? traits | IS_FETCHER : traits;
}

static void look(struct st_wait_sites *sites, uint32_t frame, uint8_t traits)
{
	uint32_t caller = sites->named->frames[frame].parent;
	bool in_python = sites->python[caller] || sites->called[caller];

	if (!(traits & IS_PYTHON)) {
		sites->python[frame] = sites->python[caller];
		sites->called[frame] = sites->called[caller];
		sites->flags[frame] = sites->flags[caller];
		if (!in_python && !(traits & IS_RUNTIME && (!caller || sites->flags[caller])))
			sites->flags[frame] = 0;
		else if (!in_python)
			sites->flags[frame] = FLAG_IDLE;
		if (traits & IS_LOCK)
			sites->flags[frame] |= FLAG_PYTHON_LOCK;
		return;
	}
	if (!(traits & IS_LIBRARY)) {
		sites->python[frame] = frame;
		sites->flags[frame] = traits & IS_FETCHER ? FLAG_IDLE : 0;
		return;
	}
	sites->python[frame] = sites->python[caller];
	/* The start of a thread says nothing: there it is the innermost one. */
	sites->called[frame] =
		sites->called[caller] && (sites->python[caller] || sites->flags[caller] & FLAG_IDLE)
			? sites->called[caller]
			: frame;
	if (in_python)
		sites->flags[frame] = sites->flags[caller] & FLAG_IDLE;
	if (traits & IS_FETCHER) {
		sites->called[frame] = frame;
		sites->flags[frame] = FLAG_IDLE;
	}
}

static bool look_at_all(struct st_wait_sites *sites)
{
	const struct st_named *named = sites->named;
	uint8_t *traits = calloc((size_t)named->function_count + 1, 1);
	size_t count = (size_t)named->frame_count + 1;

	sites->python = calloc(count, sizeof(*sites->python));
	sites->called = calloc(count, sizeof(*sites->called));
	sites->flags = calloc(count, sizeof(*sites->flags));
	if (traits && sites->python && sites->called && sites->flags) {
		for (uint32_t i = 1; i < named->function_count; i++)
			traits[i] = traits_of(named, i);
		for (uint32_t i = 1; i < named->frame_count; i++)
			look(sites, i, traits[named->frames[i].function]);
	}
	free(traits);
	return traits && sites->python && sites->called && sites->flags;
}

static bool has_waits(const struct st_result *result)
{
	const struct st_samples *samples = st_result_samples(result);

	for (uint32_t i = 0; i < samples->count; i++)
		if (samples->flags[i] & ST_SAMPLE_WAITING)
			return true;
	return false;
}

enum st_status st_wait_sites_init(struct st_wait_sites *out, const struct st_result *result,
				  const struct st_named *named, struct st_error *err)
{
	static const struct st_named_options usual = {.inlines = true, .keep = true};
	enum st_status status = ST_OK;

	memset(out, 0, sizeof(*out));
	out->result = result;
	out->named = named;
	if (!has_waits(result)) {
		out->named = NULL;
		return ST_OK;
	}
	if (!named) {
		status = st_named_open(&out->own_named, result, &usual, err);
		out->named = out->own_named;
	}
	if (!status && !look_at_all(out))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the places of waits");
	if (status)
		st_wait_sites_fini(out);
	return status;
}

void st_wait_sites_fini(struct st_wait_sites *sites)
{
	st_named_close(sites->own_named);
	free(sites->python);
	free(sites->called);
	free(sites->flags);
	memset(sites, 0, sizeof(*sites));
}

uint32_t st_wait_sample(const struct st_result *result, const struct st_span *span)
{
	const struct st_samples *samples = st_result_samples(result);
	uint32_t track_count, first, end, at;

	st_result_tracks(result, &track_count);
	if (!samples->count || span->begin_track >= track_count)
		return ST_NO_ROW;
	first = samples->first_of_track[span->begin_track];
	end = samples->first_of_track[span->begin_track + 1];
	at = ST_SEARCH(i, first, end, samples->time_ns[i] < span->begin_ns);
	for (; at < end && samples->time_ns[at] == span->begin_ns; at++)
		if (samples->flags[at] & ST_SAMPLE_WAITING)
			return at;
	return ST_NO_ROW;
}

uint32_t st_wait_frame(const struct st_wait_sites *sites, uint32_t sample)
{
	const struct st_samples *samples = st_result_samples(sites->result);
	uint32_t node = sample < samples->count ? samples->node[sample] : 0;

	return sites->named && node < sites->named->node_count ? sites->named->frame_of_node[node]
							       : 0;
}

bool st_wait_is_idle(const struct st_wait_sites *sites, uint32_t sample)
{
	const struct st_samples *samples = st_result_samples(sites->result);
	uint32_t frame = st_wait_frame(sites, sample);

	/* Of a stack that was cut nobody knows on whose behalf it waits. */
	return frame && sites->flags[frame] & FLAG_IDLE &&
	       (sites->python[frame] || sites->called[frame] ||
		!(samples->flags[sample] & (ST_SAMPLE_TRUNCATED | ST_SAMPLE_DEPTH_CUT)));
}

bool st_wait_is_python_lock(const struct st_wait_sites *sites, uint32_t frame)
{
	return frame && sites->flags[frame] & FLAG_PYTHON_LOCK;
}

static struct st_text last_part(struct st_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);

	return slash ? (struct st_text){slash + 1,
					path.size_bytes - (size_t)(slash + 1 - path.bytes)}
		     : path;
}

static struct st_text no_text(void)
{
	return (struct st_text){"", 0};
}

uint32_t st_wait_python(const struct st_wait_sites *sites, uint32_t frame)
{
	if (!frame || !sites->named)
		return 0;
	return sites->python[frame] ? sites->python[frame] : sites->called[frame];
}

struct st_text st_wait_line(const struct st_wait_sites *sites, uint32_t frame,
			    struct st_arena *arena)
{
	const struct st_named_frame *at;
	struct st_text file;
	char *text;

	frame = frame ? sites->python[frame] : 0;
	if (!frame)
		return no_text();
	at = &sites->named->frames[frame];
	file = last_part(sites->named->sources[at->source]);
	text = st_arena_printf(arena, "%.*s:%u", (int)file.size_bytes, file.bytes, at->line);
	return text ? (struct st_text){text, strlen(text)} : no_text();
}

struct st_text st_wait_call(const struct st_wait_sites *sites, uint32_t frame,
			    struct st_arena *arena)
{
	struct st_text line = st_wait_line(sites, frame, arena), name;
	uint32_t called = frame ? sites->called[frame] : 0;
	char *text;

	if (!called)
		return no_text();
	name = sites->named->functions[sites->named->frames[called].function].name;
	text = line.size_bytes ? st_arena_printf(arena, "%.*s (%.*s)", (int)name.size_bytes,
						 name.bytes, (int)line.size_bytes, line.bytes)
			       : st_arena_printf(arena, "%.*s", (int)name.size_bytes, name.bytes);
	return text ? (struct st_text){text, strlen(text)} : no_text();
}
