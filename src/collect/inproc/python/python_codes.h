/* SPDX-License-Identifier: Apache-2.0
 *
 * The code objects of the process and their ids. Whoever meets one for the first time, in the handler of any
 * thread, gives it an id and describes it in a ring of its own; the frame that was met keeps the code
 * alive meanwhile. Addresses are used again, so a code is known by its address and what it points to.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_CODES_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/python/python_table.h"
#include "format/ring_record.h"

#pragma GCC visibility push(hidden)

struct st_part;

/* Maps the table, which a forked child finds empty. False: no memory. */
bool st_python_codes_init(void);
/* Nobody was told of any: a process that joins another strata. */
void st_python_codes_forget(void);

struct st_python_code_seen {
	const struct st_python_runtime *runtime;
	uint64_t address;
	const uint8_t *bytes; /* a copy of layout.code_bytes of it */
};

/* Which code this is, by what its object holds; 0: not a code object. */
uint64_t st_python_code_fingerprint(const struct st_python_code_seen *code);

/* Before 3.12 code objects have no number, and programs that make code as they go get every address of an old one
 * again, those of its texts included. What is in the texts tells them apart: the ends of the file's and the
 * function's name and the beginning of the line table. */
enum { ST_PYTHON_CONTENT_BYTES = 32, ST_PYTHON_CONTENT_PARTS = 3 };
struct st_python_content {
	uint64_t at[ST_PYTHON_CONTENT_PARTS];
	uint8_t size_bytes[ST_PYTHON_CONTENT_PARTS];
	bool of_file; /* has the name of one */
};
bool st_python_code_has_number(const struct st_python_runtime *runtime);
void st_python_content_find(const struct st_python_code_seen *code,
			    struct st_python_content *content);
/* The fingerprint with the content, one part right behind the other; NULL: reads it. */
uint64_t st_python_content_mix(const struct st_python_content *content, uint64_t fingerprint,
			       const uint8_t *bytes);

/* The id of a code. *define: the caller has to describe it, and to say st_python_code_described when that is done,
 * or has failed: then the next one does it, under the same id. */
uint32_t st_python_code_id(uint64_t fingerprint, bool *define);
void st_python_code_described(uint64_t fingerprint, uint32_t id, bool done);

enum {
	ST_PYTHON_FILE_MAX = 4096,
	ST_PYTHON_NAME_MAX = 1024,
	ST_PYTHON_LINES_MAX = 32 << 10,
	ST_PYTHON_DESCRIPTION_BYTES = ST_PYTHON_FILE_MAX + ST_PYTHON_NAME_MAX + ST_PYTHON_LINES_MAX,
};

/* Where a description goes: a record into a ring of the thread; false: no room. */
struct st_python_code_sink {
	bool (*put)(void *to, enum st_ring_ext subkind, const struct st_part *parts,
		    uint32_t part_count);
	void *to;
};

/* Writes ST_EXT_PYTHON_CODE under `id`, unless code of the same content has an id: then that one is given back.
 * `scratch` has ST_PYTHON_DESCRIPTION_BYTES. 0: no room in the ring. */
uint32_t st_python_code_describe(const struct st_python_code_sink *sink,
				 const struct st_python_code_seen *code, uint32_t id,
				 uint8_t *scratch);

#pragma GCC visibility pop

#endif
