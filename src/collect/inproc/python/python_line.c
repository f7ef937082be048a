/* SPDX-License-Identifier: Apache-2.0
 *
 * From the thread state to the frame, its code and the line, by the layouts of each version of CPython.
 * Layouts may lie (debug builds, patched interpreters), so every object's type is compared with CPython's
 * own before it is believed, and the first look-ups read by a system call that cannot fault. Only
 * when these have all gone well is memory read directly; the first one that has not ends it for good.
 */
#include "collect/inproc/python/python_line.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/python/python_table.h"
#include "collect/inproc/core/state.h"

enum { TRIALS = 32, STEPS_MAX = 64, LINE_DIGITS = 12 };

/* Written by the constructor only. */
static struct st_python_runtime python;

static _Atomic uint32_t proven; /* look-ups that went well, up to TRIALS */
static _Atomic uint32_t refused;

/* Files that only pass a task on, or make a lock for somebody; their callers are meant. Ends of paths. */
static const char *const passers[] = {
	"/ittapi/task.py",
	"/ittapi/region.py",
	"/ittapi/event.py",
	"/ittapi/compat/task.py",
	"/torch/profiler/itt.py",
	"/torch/autograd/profiler.py",
	"/torch/_ops.py",
	"/strata/itt.py",
	/* Of objects that threads wait for. */
	"/threading.py",
	"/queue.py",
	"/multiprocessing/connection.py",
	"/multiprocessing/context.py",
	"/multiprocessing/pool.py",
	"/multiprocessing/queues.py",
	"/multiprocessing/synchronize.py",
	"/concurrent/futures/_base.py",
	"/concurrent/futures/process.py",
	"/concurrent/futures/thread.py",
};
static const char context_manager[] = "/contextlib.py"; /* only between a passer and its caller */

void st_python_line_init(void)
{
	st_python_runtime_find(&python);
}

bool st_python_unknown(void)
{
	return python.present &&
	       (!python.known || atomic_load_explicit(&refused, memory_order_relaxed));
}

static uint64_t field(const uint8_t *object, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, object + offset, sizeof(value));
	return value;
}

static int32_t int_field(const uint8_t *object, uint32_t offset)
{
	int32_t value;

	memcpy(&value, object + offset, sizeof(value));
	return value;
}

/* A walk from the innermost frame outwards. */
struct walk {
	const struct st_python_layout *layout;
	uint64_t frame;
	bool careful;
	bool broken; /* what we read cannot be what we took it for */
	uint8_t frame_copy[ST_PYTHON_FRAME_BYTES_MAX];
	uint8_t code_copy[ST_PYTHON_CODE_BYTES_MAX];
	int64_t offset; /* of the instruction, in bytes */
};

/* What Python keeps for the thread itself is the state of its first interpreter. In another one it runs with
 * another state, which up to 3.11 is only known by holding the lock. */
static uint64_t thread_state(const struct st_python_layout *layout)
{
	uint64_t first = (uint64_t)(uintptr_t)python.this_thread_state(), running, of[2];

	if (!first || layout->state_thread == ST_PYTHON_ABSENT || !python.running_state)
		return first;
	running = (uint64_t)(uintptr_t)python.running_state();
	/* It may be another thread's, and be gone any moment. */
	if (!running || running == first || st_passive() ||
	    !st_python_read(&of[0], first + layout->state_thread, 8, true) ||
	    !st_python_read(&of[1], running + layout->state_thread, 8, true) || of[0] != of[1])
		return first;
	return running;
}

static bool begin_walk(struct walk *walk)
{
	uint64_t state = thread_state(walk->layout);

	if (!state) /* not a thread of Python's */
		return false;
	if (!st_python_read(&walk->frame, state + walk->layout->state_frame, 8, walk->careful)) {
		walk->broken = true;
		return false;
	}
	if (walk->layout->c_frame != ST_PYTHON_ABSENT && walk->frame &&
	    !st_python_read(&walk->frame, walk->frame + walk->layout->c_frame, 8, walk->careful)) {
		walk->broken = true;
		return false;
	}
	return walk->frame != 0;
}

/* Entry frames of the C stack have no code; frames being set up have not begun theirs. */
static bool has_begun(const struct walk *walk, uint64_t code)
{
	uint8_t owner = walk->frame_copy[walk->layout->frame_owner];
	int32_t traceable = int_field(walk->code_copy, walk->layout->code_traceable);

	(void)code;
	return owner == ST_PYTHON_OWNER_GENERATOR || walk->offset >= (int64_t)traceable * 2;
}

/* Reads walk->frame and its code. 1: a frame that runs Python code, 0: another one, -1: broken. */
static int look_at_frame(struct walk *walk)
{
	const struct st_python_layout *layout = walk->layout;
	bool old = layout->frame_owner == ST_PYTHON_ABSENT;
	uint64_t code;

	if (!st_python_read(walk->frame_copy, walk->frame, layout->frame_bytes, walk->careful))
		return -1;
	if (!old && walk->frame_copy[layout->frame_owner] >= ST_PYTHON_OWNER_SHIM)
		return 0;
	code = field(walk->frame_copy, layout->frame_code) & ~(uint64_t)layout->code_tag;
	if (code & 7 || !st_python_read(walk->code_copy, code, layout->code_bytes, walk->careful) ||
	    field(walk->code_copy, ST_PYTHON_OBJECT_TYPE) != python.code_type)
		return -1;
	if (old) {
		walk->offset = (int64_t)int_field(walk->frame_copy, layout->frame_place) *
			       layout->place_scale;
		return 1;
	}
	walk->offset =
		(int64_t)(field(walk->frame_copy, layout->frame_place) - code - layout->code_begin);
	if (walk->offset < -2 || walk->offset > INT32_MAX)
		return -1;
	return has_begun(walk, code);
}

static bool is_type(const struct walk *walk, uint64_t object, uint64_t type)
{
	uint64_t found;

	return !(object & 7) &&
	       st_python_read(&found, object + ST_PYTHON_OBJECT_TYPE, sizeof(found),
			      walk->careful) &&
	       found == type;
}

static uint32_t line_of(struct walk *walk)
{
	uint64_t table = field(walk->code_copy, walk->layout->code_table);
	struct st_python_span span = {.address = table + ST_PYTHON_BYTES_HEAD,
				      .careful = walk->careful};

	if (!is_type(walk, table, python.bytes_type) ||
	    !st_python_read(&span.size_bytes, table + ST_PYTHON_OBJECT_SIZE, 8, walk->careful)) {
		walk->broken = true;
		return 0;
	}
	return st_python_line_at((enum st_python_lines)walk->layout->lines, &span,
				 int_field(walk->code_copy, walk->layout->code_first_line),
				 walk->offset);
}

static bool file_of(struct walk *walk, char *text, size_t capacity, uint32_t *length)
{
	struct st_python_span file = {
		.address = field(walk->code_copy, walk->layout->code_file),
		.careful = walk->careful,
	};

	if (!is_type(walk, file.address, python.string_type)) {
		walk->broken = true;
		return false;
	}
	return st_python_text(&walk->layout->strings, &file, text, capacity, length);
}

static bool ends_in(const char *text, uint32_t length, const char *end)
{
	size_t bytes = strlen(end);

	return length >= bytes && !memcmp(text + length - bytes, end, bytes);
}

static bool passes_on(const char *text, uint32_t length, bool behind_a_passer)
{
	for (size_t i = 0; i < sizeof(passers) / sizeof(*passers); i++)
		if (ends_in(text, length, passers[i]))
			return true;
	return behind_a_passer && ends_in(text, length, context_manager);
}

static uint32_t put_number(char *to, uint32_t value)
{
	char digits[LINE_DIGITS];
	uint32_t count = 0, length = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (count)
		to[length++] = digits[--count];
	return length;
}

/* The first frame that counts; with `all` the innermost one. */
static bool find(struct walk *walk, bool all, char *text, size_t capacity, uint32_t *length)
{
	bool behind_a_passer = false;
	uint32_t line;
	int is;

	for (int i = 0; i < STEPS_MAX && walk->frame; i++) {
		is = look_at_frame(walk);
		walk->broken = is < 0;
		if (walk->broken)
			return false;
		if (is && !file_of(walk, text, capacity, length))
			return false;
		if (is && (all || !passes_on(text, *length, behind_a_passer))) {
			line = line_of(walk);
			if (!line)
				return false;
			text[(*length)++] = ':';
			*length += put_number(text + *length, line);
			return true;
		}
		behind_a_passer |= is;
		walk->frame = field(walk->frame_copy, walk->layout->frame_back);
	}
	return false;
}

bool st_python_line(char *text, size_t capacity, uint32_t *length)
{
	uint32_t count = atomic_load_explicit(&proven, memory_order_relaxed);
	struct walk walk = {.layout = &python.layout, .careful = count < TRIALS};
	bool found = false;

	if (!python.known || atomic_load_explicit(&refused, memory_order_relaxed) ||
	    capacity <= LINE_DIGITS || (walk.careful && st_passive()))
		return false;
	capacity -= LINE_DIGITS; /* ":2147483647" */
	if (begin_walk(&walk))
		found = find(&walk, false, text, capacity, length);
	if (!found && !walk.broken && begin_walk(&walk))
		found = find(&walk, true, text, capacity, length);
	if (walk.broken)
		atomic_store_explicit(&refused, 1, memory_order_relaxed);
	else if (found && walk.careful)
		atomic_store_explicit(&proven, count + 1, memory_order_relaxed);
	return found;
}
