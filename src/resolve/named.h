/* SPDX-License-Identifier: Apache-2.0
 *
 * The stacks of a result with names: every node of the stack forest becomes one frame for each function
 * it stands for (inlined ones included), so that whoever counts never sees an address. Made once
 * when a result is finalized and kept in its folder (names.strata), or on the spot.
 */
#ifndef ST_RESOLVE_NAMED_H
#define ST_RESOLVE_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/definitions.h"

struct st_result;

enum st_function_kind {
	ST_FUNCTION_NATIVE = 1,
	ST_FUNCTION_PYTHON = 2,
	ST_FUNCTION_JIT =
		3, /* code made at run time, named by the JIT interface, a perf map or a jitdump */
	ST_FUNCTION_KERNEL = 4,
	ST_FUNCTION_UNKNOWN = 5, /* in no known module */
};

enum {				  /* flags of a function */
       ST_FUNCTION_NO_SYMBOL = 1, /* named func@0x…: the module has no symbol here */
       /* Of the machine rather than of the user: C library, loader, C++ runtime, vdso, kernel. */
       ST_FUNCTION_SYSTEM = 2,
};

struct st_named_module {
	struct st_text
		name; /* last part of the path; "[Dynamic code]", "[vdso]", "[kernel]", "[Unknown]" */
	struct st_text path;
	struct st_text build_id; /* bytes */
};

struct st_named_function {
	struct st_text
		name; /* demangled, without parameters: "at::native::conv2d"; Python: qualified name */
	struct st_text full; /* with parameters; Python: the same */
	struct st_text mangled;
	uint32_t module;     /* index into modules; of Python functions: the file's last name */
	uint32_t source;     /* index into sources; 0: not known */
	uint32_t line;	     /* where it is declared; 0: not known */
	uint64_t start, end; /* in the module (ELF virtual address); 0, 0: not known */
	uint8_t kind;	     /* enum st_function_kind */
	uint8_t flags;
};

/* One function of one stack. Frame 0 is the empty stack; parents (callers) come before children. */
enum {
	ST_NAMED_INLINED = 1,
	ST_NAMED_RECOVERED = 2, /* its place in the stack was found by a scan */
	ST_NAMED_EVAL =
		4, /* evaluation function whose Python frames follow: shown only without Python frames */
	ST_NAMED_AT_PAUSE =
		8, /* a leaf at, or right behind, a spin-wait instruction of its function */
};
struct st_named_frame {
	uint32_t parent;   /* index into frames */
	uint32_t function; /* index into functions */
	uint32_t source;   /* index into sources: where the pc is; 0: not known */
	uint32_t line;
	uint32_t node; /* index into the result's stack nodes */
	uint32_t flags;
	/* In the module (ELF virtual address), of the pc; of a caller: the last byte of the call. Python: position. */
	uint64_t address;
};

struct st_named {
	const struct st_named_module *modules;	   /* [0] stands for none */
	const struct st_named_function *functions; /* [0] stands for none */
	const struct st_text *sources;		   /* [0] is empty; full paths where known */
	const struct st_named_frame *frames;
	const uint32_t *frame_of_node; /* innermost frame of each stack node; [node count] */
	uint32_t module_count, function_count, source_count, frame_count, node_count;
	/* What could not be named, in frames: for quality notes. */
	uint64_t unknown_frames, no_symbol_frames, modules_missing, modules_changed;
	const char *const *notes; /* sentences to show */
	size_t note_count;
};

struct st_named_options {
	const char *const *search; /* -search-dir: folders or files */
	size_t search_count;
	const char *const *source_search; /* -source-search-dir */
	size_t source_search_count;
	size_t source_search_given; /* the first ones, which were given now (resolve/search.h) */
	/* Source files only where they belong to the result or lie in folders given now (resolve/source_rule.h). */
	bool own_sources_only;
	bool redo;    /* strata finalize: not from what is kept */
	bool keep;    /* write names.strata into the folder (where that can be) */
	bool inlines; /* -inline-mode on */
	void (*progress)(void *arg, double fraction, const char *what); /* may be NULL */
	void *progress_arg;
};

/* Owned by the caller; borrows from result, which must stay open. A result without samples gives an empty one. */
enum st_status st_named_open(struct st_named **out, const struct st_result *result,
			     const struct st_named_options *options, struct st_error *err);
void st_named_close(struct st_named *named);

/* The lines of a source file, found at its own place or in the source search folders. named says whose file it is; NULL:
 * path was just read from the line table of a module. NULL: not found, or there and not to be shown (ST_EUNSUPPORTED). */
struct st_source_text;
struct st_source_text *st_source_text_open(const struct st_named_options *options,
					   const struct st_named *named, const char *path,
					   struct st_error *err);
void st_source_text_close(struct st_source_text *text);
uint32_t st_source_text_count(const struct st_source_text *text);
struct st_text st_source_text_line(const struct st_source_text *text, uint32_t line); /* from 1 */

#endif
