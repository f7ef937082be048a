// SPDX-License-Identifier: Apache-2.0
//
// The way in is _PyRuntime, which every CPython exports: interpreters, their thread states, frames. Where
// those stand is the table of unwind/rt/python_layout.h and, for what only an outsider needs, the one here.
#include "collect/host/outside_python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/host/outside_maps.h"
#include "collect/host/outside_python_state.h"
#include "format/sample_record.h"
#include "unwind/elf_view.h"

enum {
	CODES_MAX = 64 << 10,
	TEXT_MAX = 4096,
	LINES_MAX = 64 << 10,
	WALK_MAX = 20000, /* frames looked at: a cycle made of garbage must end */
	/* struct pthread of glibc: the kernel's number of the thread. */
	PTHREAD_TID = 0x2d0,
	DEBUG_WORDS = 48,
	MISSES_PER_LIST = 64,
	CODES_PER_WALK = 64,
	FRAMES_BYTES = 2048, /* read at once */
};

static const struct st_outside_ways ways[] = {
	{8, 32, 8, 176, ST_PYTHON_ABSENT, 56, 1152, 872},
	{9, 32, 8, 176, ST_PYTHON_ABSENT, 856, 352, 864},
	{10, 32, 8, 176, ST_PYTHON_ABSENT, 856, 352, 872},
	{11, 40, 16, 152, 160, 888, 360, 872},
	{12, 40, 72, 136, 144, 944, 384, 880},
	{13, 632, 7344, 152, 160, 7656, 16, 880},
	{14, 0, 0, 0, 0, 0, 0, 880}, /* told by _Py_DebugOffsets */
};
enum { STATE_NEXT = 8 };
/* Words of _Py_DebugOffsets. */
enum { WORD_INTERPRETERS = 5, WORD_STATES = 9, WORD_THREAD_13 = 19, WORD_THREAD_14 = 22 };
enum { WORD_MODULES_13 = 11, WORD_MODULES_14 = 12, LOCK_AFTER_MODULES = 3 };
/* Of the GIL: the thread state that took it last, and whether it still has it. */
enum { LOCK_HOLDER = 8, LOCK_LOCKED = 16, LOCK_BYTES = 24, LOCK_IN_INTERPRETER = 12 };
enum { THREAD_ID = 5, THREAD_NATIVE = 6 };

struct st_outside_known_code {
	uint64_t address, file, name, table;
	uint32_t first_line, id; /* id 0: free */
};

struct st_outside_state_of {
	uint32_t tid;
	uint64_t state;
};

/* What is remembered during one walk. */
struct walk {
	struct {
		uint64_t address;
		uint32_t id;
	} codes[CODES_PER_WALK];
	uint64_t low; /* of bytes; 0: none */
	uint8_t bytes[FRAMES_BYTES];
};

struct symbol {
	const char *name;
	uint64_t address, size_bytes;
};
enum { SYMBOL_RUNTIME, SYMBOL_VERSION, SYMBOL_EVAL, SYMBOL_CODE, SYMBOLS };

static void match_symbols(const struct st_elf_part *table, const struct st_elf_part *texts,
			  struct symbol *symbols)
{
	for (size_t i = 0; i + sizeof(Elf64_Sym) <= table->size_bytes; i += sizeof(Elf64_Sym)) {
		Elf64_Sym entry;

		memcpy(&entry, table->data + i, sizeof(entry));
		if (!entry.st_value || entry.st_name >= texts->size_bytes)
			continue;
		for (int k = 0; k < SYMBOLS; k++)
			if (strncmp((const char *)texts->data + entry.st_name, symbols[k].name,
				    texts->size_bytes - entry.st_name) == 0) {
				symbols[k].address = entry.st_value;
				symbols[k].size_bytes = entry.st_size;
			}
	}
}

/* Looks the symbols up in .dynsym; false: this file is no CPython. */
static bool find_symbols(const struct st_elf_view *view, struct symbol *symbols)
{
	struct st_elf_part table = {0}, texts = {0};
	Elf64_Shdr section, strings;

	if (st_elf_view_section(view, SHT_DYNSYM, 0, &section) &&
	    st_elf_view_read(view, view->section_offset + section.sh_link * sizeof(strings),
			     &strings, sizeof(strings)) &&
	    st_elf_view_load(view, section.sh_offset, section.sh_size, &table) &&
	    st_elf_view_load(view, strings.sh_offset, strings.sh_size, &texts))
		match_symbols(&table, &texts, symbols);
	st_elf_part_fini(&table);
	st_elf_part_fini(&texts);
	return symbols[SYMBOL_RUNTIME].address && symbols[SYMBOL_EVAL].address &&
	       symbols[SYMBOL_CODE].address;
}

/* "…python3.9…" → 0x03090000; 0: does not say. */
static uint32_t version_of_path(const char *path)
{
	const char *at = strstr(path, "python3.");
	unsigned long minor;

	while (at && strstr(at + 1, "python3."))
		at = strstr(at + 1, "python3.");
	if (!at)
		return 0;
	minor = strtoul(at + strlen("python3."), NULL, 10);
	return minor > 0 && minor < 100 ? 0x03000000u | (uint32_t)minor << 16 : 0;
}

static bool bias_of(const struct st_elf_view *view, uint64_t start, uint64_t offset, uint64_t *bias)
{
	for (uint32_t i = 0; i < view->header_count; i++) {
		const Elf64_Phdr *header = &view->headers[i];

		if (header->p_type != PT_LOAD || offset + 0x1000 <= header->p_offset ||
		    offset >= header->p_offset + header->p_filesz)
			continue;
		*bias = start - (header->p_vaddr - header->p_offset + offset);
		return true;
	}
	return false;
}

static bool choose_layout(struct st_outside_python *python, uint32_t version)
{
	const struct st_python_layout *row = st_python_layout_of(version);
	uint64_t words[DEBUG_WORDS];
	bool free_threaded = false;

	if (!row)
		return false;
	python->layout = *row;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].minor == row->minor)
			python->ways = ways[i];
	if (row->minor < 13)
		return true;
	if (!st_outside_read(python->pid, python->runtime, words, sizeof(words)) ||
	    !st_python_layout_refine(&python->layout, words, version, &free_threaded))
		return row->minor == 13;
	python->ways.interpreters = (uint16_t)words[WORD_INTERPRETERS];
	python->ways.states = (uint16_t)words[WORD_STATES];
	words[1] = row->minor == 13 ? WORD_MODULES_13 : WORD_MODULES_14;
	python->ways.modules = (uint16_t)words[words[1]];
	python->ways.lock = (uint16_t)words[words[1] + LOCK_AFTER_MODULES];
	words[0] = row->minor == 13 ? WORD_THREAD_13 : WORD_THREAD_14;
	python->ways.thread = (uint16_t)words[words[0] + THREAD_ID];
	python->ways.native_thread = (uint16_t)words[words[0] + THREAD_NATIVE];
	return !free_threaded && python->ways.thread + 8 <= ST_OUTSIDE_STATE_BYTES &&
	       python->ways.native_thread + 8 <= ST_OUTSIDE_STATE_BYTES;
}

/* Whether the file that is mapped at start is CPython. */
static bool enter_file(struct st_outside_python *python, const char *path, uint64_t start,
		       uint64_t offset, uint32_t *version)
{
	struct symbol symbols[SYMBOLS] = {[SYMBOL_RUNTIME] = {.name = "_PyRuntime"},
					  [SYMBOL_VERSION] = {.name = "Py_Version"},
					  [SYMBOL_EVAL] = {.name = "_PyEval_EvalFrameDefault"},
					  [SYMBOL_CODE] = {.name = "PyCode_Type"}};
	char inside[ST_OUTSIDE_PATH_BYTES];
	struct st_elf_view view;
	uint64_t bias;
	bool found;

	st_outside_path(python->pid, path, inside, sizeof(inside));
	if (st_elf_view_open(&view, inside, NULL))
		return false;
	found = find_symbols(&view, symbols) && bias_of(&view, start, offset, &bias);
	st_elf_view_close(&view);
	if (!found)
		return false;
	*version = version_of_path(path);
	if (symbols[SYMBOL_VERSION].address)
		(void)st_outside_read(python->pid, symbols[SYMBOL_VERSION].address + bias, version,
				      sizeof(*version));
	python->runtime = symbols[SYMBOL_RUNTIME].address + bias;
	python->code_type = symbols[SYMBOL_CODE].address + bias;
	python->eval_start = symbols[SYMBOL_EVAL].address + bias;
	python->eval_end = python->eval_start + symbols[SYMBOL_EVAL].size_bytes;
	return choose_layout(python, *version);
}

/* Looks at every file with "python" in its name. */
static bool find_runtime(struct st_outside_python *python, uint32_t *version)
{
	char name[64], text[ST_OUTSIDE_PATH_BYTES + 128];
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)python->pid);
	file = fopen(name, "re");
	while (file && !found && fgets(text, sizeof(text), file)) {
		char *end, *path = strchr(text, '/');
		uint64_t start = strtoull(text, &end, 16), offset;

		text[strcspn(text, "\n")] = '\0';
		end = strchr(text, ' ');
		if (!path || !end || strlen(end) < 6 || end[3] != 'x' ||
		    !strstr(strrchr(path, '/'), "python"))
			continue;
		offset = strtoull(end + 6, NULL, 16);
		found = enter_file(python, path, start, offset, version);
	}
	if (file)
		fclose(file);
	return found;
}

struct st_outside_python *st_outside_python_create(pid_t pid, const struct st_outside_options *told,
						   uint32_t *version)
{
	struct st_outside_python *python = calloc(1, sizeof(*python));

	if (!python)
		return NULL;
	python->pid = pid;
	python->told = told;
	python->other_namespace = !told->inner_tids && st_outside_other_namespace(pid);
	if (find_runtime(python, version)) {
		python->codes = calloc(CODES_MAX, sizeof(*python->codes));
		python->states = calloc(ST_OUTSIDE_STATES_MAX, sizeof(*python->states));
	}
	if (python->codes && python->states)
		return python;
	st_outside_python_destroy(python);
	return NULL;
}

void st_outside_python_destroy(struct st_outside_python *python)
{
	if (!python)
		return;
	free(python->codes);
	free(python->states);
	free(python->tids);
	free(python);
}

void st_outside_python_eval(const struct st_outside_python *python, uint64_t eval[4])
{
	eval[0] = python->eval_start;
	eval[1] = python->eval_end;
	eval[2] = eval[3] = 0;
}

uint32_t st_outside_state_tid(struct st_outside_python *python, const uint8_t *state)
{
	uint32_t tid = 0;

	if (python->ways.native_thread != ST_PYTHON_ABSENT)
		tid = st_load32(state + python->ways.native_thread);
	else
		(void)st_outside_read(python->pid,
				      st_load64(state + python->ways.thread) + PTHREAD_TID, &tid,
				      sizeof(tid));
	return python->other_namespace && tid ? st_outside_outer_tid(python, tid) : tid;
}

uint64_t st_outside_interpreter(const struct st_outside_python *python)
{
	uint64_t interpreter = 0;

	(void)st_outside_read(python->pid, python->runtime + python->ways.interpreters,
			      &interpreter, sizeof(interpreter));
	return interpreter;
}

void st_outside_each_state(const struct st_outside_python *python,
			   bool (*each)(void *arg, uint64_t at, const uint8_t *state), void *arg)
{
	uint64_t interpreter = st_outside_interpreter(python), at = 0;
	uint8_t state[ST_OUTSIDE_STATE_BYTES];

	if (!interpreter ||
	    !st_outside_read(python->pid, interpreter + python->ways.states, &at, sizeof(at)))
		return;
	for (int i = 0; at && i < ST_OUTSIDE_STATES_MAX; i++) {
		if (!st_outside_read(python->pid, at, state, sizeof(state)) ||
		    !each(arg, at, state))
			return;
		at = st_load64(state + STATE_NEXT);
	}
}

uint32_t st_outside_python_holder(struct st_outside_python *python)
{
	uint64_t at = python->runtime + python->ways.lock;
	uint8_t lock[LOCK_BYTES], state[ST_OUTSIDE_STATE_BYTES];
	uint64_t interpreter;

	if (python->ways.minor >= LOCK_IN_INTERPRETER) {
		interpreter = st_outside_interpreter(python);
		if (!interpreter ||
		    !st_outside_read(python->pid, interpreter + python->ways.lock, &at, sizeof(at)))
			return 0;
	}
	if (!st_outside_read(python->pid, at, lock, sizeof(lock)) ||
	    st_load32(lock + LOCK_LOCKED) != 1 ||
	    !st_outside_read(python->pid, st_load64(lock + LOCK_HOLDER), state, sizeof(state)))
		return 0;
	return st_outside_state_tid(python, state);
}

struct state_search {
	struct st_outside_python *python;
	uint32_t tid;
	uint8_t *state;
	bool found;
};

static bool is_state_of(void *arg, uint64_t at, const uint8_t *state)
{
	struct state_search *search = arg;

	if (st_outside_state_tid(search->python, state) != search->tid)
		return true;
	memcpy(search->state, state, ST_OUTSIDE_STATE_BYTES);
	search->python->states[search->tid % ST_OUTSIDE_STATES_MAX] =
		(struct st_outside_state_of){search->tid, at};
	search->found = true;
	return false;
}

/* The thread state of a thread; false: it runs no Python. */
static bool read_state(struct st_outside_python *python, uint32_t tid, uint8_t *state)
{
	const struct st_outside_state_of *known = &python->states[tid % ST_OUTSIDE_STATES_MAX];
	struct state_search search = {.python = python, .tid = tid, .state = state};

	if (known->tid == tid &&
	    st_outside_read(python->pid, known->state, state, ST_OUTSIDE_STATE_BYTES) &&
	    st_outside_state_tid(python, state) == tid)
		return true;
	st_outside_each_state(python, is_state_of, &search);
	if (!search.found && python->other_namespace && python->misses++ % MISSES_PER_LIST == 0) {
		python->tid_count = 0; /* a number may have come again, for another thread */
		st_outside_each_state(python, is_state_of, &search);
	}
	return search.found;
}

static void describe(struct st_outside_python *python, const struct st_outside_known_code *code)
{
	static uint8_t table[LINES_MAX];
	static char file[TEXT_MAX], name[TEXT_MAX];
	uint64_t size = 0;
	struct st_outside_code out = {.id = code->id,
				      .first_line = code->first_line,
				      .file = file,
				      .name = name,
				      .table = table};

	out.file_bytes = st_outside_text(python, code->file, file, sizeof(file));
	out.name_bytes = st_outside_text(python, code->name, name, sizeof(name));
	if (!out.file_bytes || !out.name_bytes)
		out.flags |= ST_PYTHON_CODE_TEXT_CUT;
	if (!st_outside_read(python->pid, code->table + ST_PYTHON_OBJECT_SIZE, &size, 8) ||
	    size > sizeof(table) ||
	    !st_outside_read(python->pid, code->table + ST_PYTHON_BYTES_HEAD, table, (size_t)size))
		out.flags |= ST_PYTHON_CODE_TABLE_CUT;
	else
		out.table_bytes = (uint32_t)size;
	if (python->told->code)
		python->told->code(python->told->arg, &out);
}

/* The id of the code object at an address, looked at once in a walk; 0: there is none, or no more room. */
static uint32_t code_id(struct st_outside_python *python, uint64_t address)
{
	const struct st_python_layout *layout = &python->layout;
	uint8_t bytes[ST_PYTHON_CODE_BYTES_MAX];
	struct st_outside_known_code seen = {.address = address};
	uint32_t at = (uint32_t)((address >> 4) * 0x9e3779b1u) % CODES_MAX;

	if (!st_outside_read(python->pid, address, bytes, sizeof(bytes)) ||
	    st_load64(bytes + ST_PYTHON_OBJECT_TYPE) != python->code_type)
		return 0;
	seen.first_line = st_load32(bytes + layout->code_first_line);
	seen.file = st_load64(bytes + layout->code_file);
	seen.name = st_load64(bytes + layout->code_name);
	seen.table = st_load64(bytes + layout->code_table);
	for (; python->codes[at].id; at = (at + 1) % CODES_MAX) {
		const struct st_outside_known_code *code = &python->codes[at];

		if (code->address == address && code->first_line == seen.first_line &&
		    code->file == seen.file && code->name == seen.name && code->table == seen.table)
			return code->id;
	}
	if (python->code_count >= CODES_MAX / 2)
		return 0;
	seen.id = ++python->code_count;
	python->codes[at] = seen;
	describe(python, &seen);
	return seen.id;
}

static uint32_t code_id_once(struct st_outside_python *python, struct walk *walk, uint64_t address)
{
	uint32_t at = (uint32_t)(address >> 4) % CODES_PER_WALK;

	if (walk->codes[at].address != address) {
		walk->codes[at].id = code_id(python, address);
		walk->codes[at].address = address;
	}
	return walk->codes[at].id;
}

/* A frame, and what lies below it, where the callers' frames often are. */
static bool read_frame(const struct st_outside_python *python, struct walk *walk, uint64_t frame,
		       const uint8_t **bytes)
{
	uint64_t size = python->layout.frame_bytes, low = frame + size - FRAMES_BYTES;

	if (frame >= walk->low && frame - walk->low <= FRAMES_BYTES - size && walk->low) {
		*bytes = walk->bytes + (frame - walk->low);
		return true;
	}
	walk->low = 0;
	*bytes = walk->bytes;
	if (frame <= FRAMES_BYTES)
		return false;
	if (!st_outside_read(python->pid, low, walk->bytes, FRAMES_BYTES))
		return st_outside_read(python->pid, frame, walk->bytes, (size_t)size);
	walk->low = low;
	*bytes = walk->bytes + FRAMES_BYTES - size;
	return true;
}

static uint64_t top_frame(const struct st_outside_python *python, const uint8_t *state)
{
	uint64_t frame = st_load64(state + python->layout.state_frame);

	if (python->layout.c_frame != ST_PYTHON_ABSENT &&
	    !st_outside_read(python->pid, frame + python->layout.c_frame, &frame, sizeof(frame)))
		return 0;
	return frame;
}

/* One frame as a word; 0: it is not to be shown (*end: and ends its group) or, with *broken, no frame. */
static uint64_t frame_word(struct st_outside_python *python, struct walk *walk,
			   const uint8_t *bytes, bool *end, bool *broken)
{
	const struct st_python_layout *layout = &python->layout;
	uint64_t code = st_load64(bytes + layout->frame_code) & ~(uint64_t)layout->code_tag;
	uint32_t flags = 0, id;
	int64_t position;

	if (layout->frame_owner == ST_PYTHON_ABSENT) {
		position = (int32_t)st_load32(bytes + layout->frame_place);
		flags = ST_PYTHON_FRAME_ENTRY;
	} else {
		uint8_t owner = bytes[layout->frame_owner];

		*end = owner == ST_PYTHON_OWNER_SHIM;
		*broken = owner > ST_PYTHON_OWNER_SENTINEL;
		if (*broken || *end || owner == ST_PYTHON_OWNER_SENTINEL)
			return 0;
		position = (int64_t)(st_load64(bytes + layout->frame_place) - code -
				     layout->code_begin) /
			   2;
		if (layout->frame_entry != ST_PYTHON_ABSENT && bytes[layout->frame_entry])
			flags = ST_PYTHON_FRAME_ENTRY;
	}
	id = code_id_once(python, walk, code);
	*broken = !id || position < -1 || position >= ST_PYTHON_POSITION_NONE;
	return *broken ? 0
		       : st_word_python_frame(
				 id, position < 0 ? ST_PYTHON_POSITION_NONE : (uint32_t)position,
				 flags);
}

uint32_t st_outside_python_walk(struct st_outside_python *python, uint32_t tid, uint64_t *frames,
				uint32_t frames_max, uint32_t *flags)
{
	const struct st_python_layout *layout = &python->layout;
	uint8_t state[ST_OUTSIDE_STATE_BYTES];
	struct walk walk = {0};
	const uint8_t *bytes;
	bool broken = false;
	uint32_t count = 0;
	uint64_t frame;

	if (!read_state(python, tid, state))
		return 0;
	frame = top_frame(python, state);
	for (int i = 0; frame && i < WALK_MAX; i++) {
		bool end = false;
		uint64_t word;

		broken = !read_frame(python, &walk, frame, &bytes);
		if (broken || count == frames_max)
			break;
		word = frame_word(python, &walk, bytes, &end, &broken);
		if (broken)
			break;
		if (end && count)
			frames[count - 1] |= (uint64_t)ST_PYTHON_FRAME_ENTRY << 56;
		if (word)
			frames[count++] = word;
		frame = st_load64(bytes + layout->frame_back);
	}
	if (broken || frame)
		*flags |= ST_SAMPLE_PYTHON_CUT;
	return count;
}
