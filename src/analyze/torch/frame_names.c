// SPDX-License-Identifier: Apache-2.0
//
// Python frames in torch's words.
#include "analyze/torch/frame_names.h"

#include <string.h>

#include "base/buf.h"

void st_frame_names_init(struct st_frame_names *frames, const struct st_result *result)
{
	frames->result = result;
	frames->nodes = st_result_stack_nodes(result);
	frames->codes = st_result_python_codes(result, &frames->code_count);
}

bool st_frame_is(const struct st_frame_names *frames, uint32_t node, const char *name)
{
	uint32_t code = st_frame_code(frames, node);
	size_t length = strlen(name);
	struct st_text text;

	if (code >= frames->code_count)
		return false;
	text = st_result_text(frames->result, frames->codes[code].name);
	return text.size_bytes >= length &&
	       memcmp(text.bytes + text.size_bytes - length, name, length) == 0;
}

static bool has(struct st_text text, size_t at, const char *word)
{
	size_t length = strlen(word);

	return text.size_bytes - at >= length && memcmp(text.bytes + at, word, length) == 0;
}

/* Behind "/lib/python3.11/". */
static size_t behind_folder(struct st_text path, size_t at)
{
	while (at < path.size_bytes && path.bytes[at] != '/')
		at++;
	return at < path.size_bytes ? at + 1 : 0;
}

/* As torch shortens it: without the folder that Python found it in. */
static struct st_text short_path(const struct st_result *result, struct st_text path)
{
	static const char library[] = "/lib/python3.";
	const char *folder = st_result_info(result)->working_dir;
	size_t length = strlen(folder), cut = 0;

	if (length && has(path, 0, folder) && path.size_bytes > length + 1 &&
	    path.bytes[length] == '/')
		cut = length + 1;
	for (size_t i = 0; i < path.size_bytes; i++) {
		if (has(path, i, "/site-packages/") || has(path, i, "/dist-packages/"))
			cut = i + strlen("/site-packages/");
		else if (!cut && has(path, i, library))
			cut = behind_folder(path, i + sizeof(library) - 1);
	}
	return (struct st_text){path.bytes + cut, path.size_bytes - cut};
}

void st_frame_text(const struct st_frame_names *frames, uint32_t node, bool is_running,
		   struct st_buf *out)
{
	uint32_t code = st_frame_code(frames, node), line = frames->nodes->line[node];
	struct st_text file = {"?", 1}, name = {"?", 1};
	size_t dot;

	if (code < frames->code_count) {
		file = short_path(frames->result,
				  st_result_text(frames->result, frames->codes[code].file));
		name = st_result_text(frames->result, frames->codes[code].name);
		if (!is_running && !has(name, 0, "<module>"))
			line = frames->codes[code].first_line;
	}
	for (dot = name.size_bytes; dot > 0 && name.bytes[dot - 1] != '.';)
		dot--;
	st_buf_append(out, file.bytes, file.size_bytes);
	st_buf_printf(out, "(%u): ", line);
	st_buf_append(out, name.bytes + dot, name.size_bytes - dot);
}
