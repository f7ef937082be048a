// SPDX-License-Identifier: Apache-2.0
//
// What the two sides of a comparison are called: by the names of their results where these are short and differ, else A
// and B, with a line that says what these are.
#include "analyze/reports/compare.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"

enum { NAME_MAX_BYTES = 10, LIST_MAX_BYTES = 64 << 10 };

/* "r000hs" of "old/r000hs/". */
static struct st_text last_part(const char *path)
{
	size_t end = strlen(path), begin;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/';)
		begin--;
	return (struct st_text){path + begin, end - begin};
}

static bool tell_apart(struct st_text a, struct st_text b)
{
	return a.size_bytes && b.size_bytes && a.size_bytes <= NAME_MAX_BYTES &&
	       b.size_bytes <= NAME_MAX_BYTES &&
	       (a.size_bytes != b.size_bytes || memcmp(a.bytes, b.bytes, a.size_bytes) != 0) &&
	       memchr(a.bytes, '.', a.size_bytes) != a.bytes &&
	       memchr(b.bytes, '.', b.size_bytes) != b.bytes;
}

static void append_paths(struct st_buf *out, const char *const *paths, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		st_buf_printf(out, "%s%s", i ? "," : "", paths[i]);
}

static const char *kept(struct st_buf *text, struct st_arena *arena)
{
	const char *copy = text->failed ? NULL
					: st_arena_copy(arena, text->data ? text->data : (void *)"",
							text->size_bytes);

	st_buf_fini(text);
	return copy ? copy : "";
}

struct st_side_names st_side_names_make(const char *const *paths, const uint32_t counts[ST_SIDES],
					struct st_arena *arena)
{
	struct st_side_names out = {.names = {"A", "B"}};
	struct st_text first = last_part(paths[0]), second = last_part(paths[counts[0]]);
	struct st_buf text;

	st_buf_init(&text, LIST_MAX_BYTES);
	append_paths(&text, paths, counts[0]);
	st_buf_append_u8(&text, '-');
	append_paths(&text, paths + counts[0], counts[1]);
	out.joined = kept(&text, arena);
	if (counts[0] == 1 && counts[1] == 1 && tell_apart(first, second)) {
		const char *names[ST_SIDES] = {
			st_arena_copy(arena, first.bytes, first.size_bytes),
			st_arena_copy(arena, second.bytes, second.size_bytes)};

		out.names[0] = names[0] ? names[0] : "A";
		out.names[1] = names[1] ? names[1] : "B";
		return out;
	}
	st_buf_init(&text, LIST_MAX_BYTES);
	st_buf_append_text(&text, "A: ");
	append_paths(&text, paths, counts[0]);
	st_buf_append_text(&text, "   B: ");
	append_paths(&text, paths + counts[0], counts[1]);
	out.explained = kept(&text, arena);
	return out;
}
