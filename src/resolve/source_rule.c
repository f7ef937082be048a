// SPDX-License-Identifier: Apache-2.0
//
// Files that may be shown (resolve/source_rule.h). Names that are kept in the result prove nothing: the line tables are
// read from the modules of this machine.
#include "resolve/source_rule.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "resolve/find_file.h"
#include "resolve/line_table.h"

enum { MODULES_MAX = 32, ADDRESSES_MAX = 64 };

static const char *const python_suffixes[] = {".py", ".pyw", ".pyi", ".pyx", ".pxd", ".pxi", NULL};
static const char *const native_suffixes[] = {
	".c",	".h",	".cc",	".hh",	".cpp", ".hpp",	  ".cxx", ".hxx", ".c++", ".h++",  ".ipp",
	".inc", ".inl", ".tcc", ".tpp", ".txx", ".def",	  ".cu",  ".cuh", ".hip", ".cl",   ".s",
	".asm", ".f",	".for", ".f77", ".f90", ".f95",	  ".f03", ".f08", ".rs",  ".go",   ".d",
	".zig", ".m",	".mm",	".y",	".l",	".swift", ".ll",  ".nim", ".adb", ".ispc", NULL};

static bool has_suffix(const char *path, const char *const *suffixes)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	for (; dot && *suffixes; suffixes++)
		if (strcasecmp(dot, *suffixes) == 0)
			return true;
	return false;
}

/* C++ has headers without a suffix: /usr/include/c++/12/mutex. */
static bool is_plain_header(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && !strchr(slash, '.') && strstr(path, "/include/");
}

static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	while (length && folder[length - 1] == '/')
		length--;
	return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

static bool real_path(int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, out, PATH_MAX - 1);
	if (length <= 0 || length == PATH_MAX - 1 || out[0] != '/')
		return false;
	out[length] = '\0';
	return true;
}

/* A module that has been built anew since names its sources as well as the one that ran. */
static bool module_names(const struct st_named_module *module,
			 const struct st_named_options *options,
			 const struct st_line_search *search)
{
	const struct st_wanted wanted = {.path = module->path, .build_id = module->build_id};
	struct st_elf_file file = {0}, debug = {0};
	bool names;

	if (module->path.bytes[0] != '/' || strlen(module->path.bytes) != module->path.size_bytes)
		return false;
	if (!st_elf_open(&file, module->path.bytes) &&
	    st_find_binary(&file, &wanted, options) != ST_FOUND)
		return false;
	names = st_line_table_names(&file, search) ||
		(st_find_debug(&debug, &file, options) && st_line_table_names(&debug, search));
	st_elf_close(&debug);
	st_elf_close(&file);
	return names;
}

static uint32_t source_of(const struct st_named *named, const char *path)
{
	for (uint32_t i = 1; i < named->source_count; i++)
		if (strcmp(named->sources[i].bytes, path) == 0)
			return i;
	return 0;
}

static bool is_of(const struct st_named *named, uint32_t frame, uint32_t source)
{
	const struct st_named_function *function = &named->functions[named->frames[frame].function];

	return function->kind == ST_FUNCTION_NATIVE &&
	       (named->frames[frame].source == source || function->source == source);
}

/* The places of one module that are said to be in the file. */
static struct st_line_search places_in(const struct st_named *named, uint32_t module,
				       uint32_t source, uint64_t addresses[ADDRESSES_MAX])
{
	struct st_line_search search = {.path = named->sources[source].bytes,
					.addresses = addresses};

	for (uint32_t i = 1; i < named->frame_count && search.count < ADDRESSES_MAX; i++)
		if (named->functions[named->frames[i].function].module == module &&
		    is_of(named, i, source))
			addresses[search.count++] = named->frames[i].address;
	return search;
}

static bool is_in_line_tables(const struct st_named *named, const struct st_named_options *options,
			      const char *path)
{
	uint32_t tried[MODULES_MAX], count = 0, source = source_of(named, path);

	for (uint32_t i = 1; source && i < named->frame_count && count < MODULES_MAX; i++) {
		uint32_t module = named->functions[named->frames[i].function].module;
		uint64_t addresses[ADDRESSES_MAX];
		struct st_line_search search;
		uint32_t at = 0;

		if (!is_of(named, i, source))
			continue;
		while (at < count && tried[at] != module)
			at++;
		if (at < count)
			continue;
		tried[count++] = module;
		search = places_in(named, module, source, addresses);
		if (module_names(&named->modules[module], options, &search))
			return true;
	}
	return false;
}

bool st_source_may_be_shown(int fd, const struct st_named_options *options,
			    const struct st_named *named, const char *path)
{
	char real[PATH_MAX];

	if (!real_path(fd, real))
		return false;
	for (size_t i = 0; i < options->source_search_given; i++)
		if (is_below(real, options->source_search[i]))
			return true;
	if (has_suffix(real, python_suffixes))
		return true;
	if (!has_suffix(real, native_suffixes) && !is_plain_header(real))
		return false;
	return !named || is_in_line_tables(named, options, path);
}
