// SPDX-License-Identifier: Apache-2.0
//
// Search folders (resolve/search.h). The options of a result are one text, quoted as for a shell.
#include "resolve/search.h"

#include <string.h>

#include "store/result.h"

struct list {
	const char **items;
	size_t count;
};

/* The next word of a text, unquoted into out (as long as the text at least); false at the end. */
static bool next_word(const char **text, char *out)
{
	const char *at = *text + strspn(*text, " ");
	bool quoted = false;

	if (!*at)
		return false;
	for (; *at && (quoted || *at != ' '); at++) {
		if (*at == '\'')
			quoted = !quoted;
		else if (*at == '\\' && !quoted && at[1])
			*out++ = *++at;
		else
			*out++ = *at;
	}
	*out = '\0';
	*text = at;
	return true;
}

/* A folder that was named from where the program ran. */
static const char *whole_path(struct st_search *search, const struct st_result_info *info,
			      const char *path)
{
	if (path[0] == '/' || !info->working_dir || !info->working_dir[0])
		return st_arena_copy(&search->arena, path, strlen(path));
	return st_arena_printf(&search->arena, "%s/%s", info->working_dir, path);
}

static void add_kept(struct st_search *search, const struct st_result_info *info,
		     const char *option, struct list *list)
{
	const char *text = info->options ? info->options : "";
	char *word = st_arena_alloc(&search->arena, strlen(text) + 1);

	while (word && next_word(&text, word)) {
		const char *path;

		if (strcmp(word, option) != 0 || !next_word(&text, word))
			continue;
		path = whole_path(search, info, word);
		if (path)
			list->items[list->count++] = path;
	}
}

/* Room for what is given and for as many words as the text can have. */
static struct list begin_list(struct st_search *search, const struct st_result_info *info,
			      const char *const *given, size_t count)
{
	size_t most = count + (info->options ? strlen(info->options) / 2 : 0) + 1;
	struct list list = {st_arena_calloc(&search->arena, most, sizeof(const char *)), 0};

	for (size_t i = 0; list.items && i < count; i++)
		list.items[list.count++] = given[i];
	return list;
}

bool st_search_init(struct st_search *out, const struct st_result *result,
		    const struct st_named_options *given)
{
	const struct st_result_info *info = st_result_info(result);
	struct list binaries, sources;

	memset(out, 0, sizeof(*out));
	if (given)
		out->options = *given;
	st_arena_init(&out->arena, SIZE_MAX / 2);
	binaries = begin_list(out, info, out->options.search, out->options.search_count);
	sources =
		begin_list(out, info, out->options.source_search, out->options.source_search_count);
	if (!binaries.items || !sources.items)
		return false;
	add_kept(out, info, "-search-dir", &binaries);
	add_kept(out, info, "-source-search-dir", &sources);
	out->options.search = binaries.items;
	out->options.search_count = binaries.count;
	out->options.source_search_given = out->options.source_search_count;
	out->options.source_search = sources.items;
	out->options.source_search_count = sources.count;
	return !out->arena.failed;
}

void st_search_fini(struct st_search *search)
{
	st_arena_fini(&search->arena);
}
