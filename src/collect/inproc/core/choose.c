/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups and domains by the user's choice. Domains are matched against whole names; the last pattern that
 * matches decides, and a name that none matches is wanted only when all patterns exclude.
 */
#include "collect/inproc/core/choose.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "collect/inproc/core/itt_abi.h"
#include "collect/inproc/core/state.h"

enum { PATTERN_BYTES = 4096 };

static uint32_t wanted_groups = UINT32_MAX;
/* Patterns one after another, each ended by NUL; decoded. A quoted byte stands for itself: it is kept
 * with QUOTE in front of it. */
struct patterns {
	char *text; /* PATTERN_BYTES */
	uint32_t used_bytes;
	bool includes; /* one of them does not exclude */
};
static char domains_text[PATTERN_BYTES] ST_APART, processes_text[PATTERN_BYTES] ST_APART;
static struct patterns domains = {.text = domains_text}, processes = {.text = processes_text};

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static uint32_t group_of(const char *name, size_t length)
{
	static const struct {
		const char *name;
		uint32_t bits;
	} names[] = {
		{"all", UINT32_MAX},
		{"control", ITT_GROUP_CONTROL},
		{"thread", ITT_GROUP_THREAD},
		{"mark", ITT_GROUP_MARK},
		{"sync", ITT_GROUP_SYNC},
		{"fsync", ITT_GROUP_FSYNC},
		{"jit", ITT_GROUP_JIT},
		{"model", ITT_GROUP_MODEL},
		{"counter", ITT_GROUP_COUNTER},
		{"frame", ITT_GROUP_FRAME},
		{"stitch", ITT_GROUP_STITCH},
		{"heap", ITT_GROUP_HEAP},
		{"structure", ITT_GROUP_STRUCTURE},
		{"suppress", ITT_GROUP_SUPPRESS},
		{"arrays", ITT_GROUP_ARRAYS},
		{"module", ITT_GROUP_MODULE},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].name) == length && !strncmp(names[i].name, name, length))
			return names[i].bits;
	return 0;
}

/* As the static part reads it: four groups are always there. Set but empty is as good as not set. */
static uint32_t groups_of_environment(const char *text)
{
	uint32_t groups = 0;
	bool any = false;

	while (text && *text) {
		size_t length = strcspn(text, ",; ");

		if (length) {
			groups |= group_of(text, length);
			any = true;
		}
		text += length + (text[length] != '\0');
	}
	return any ? groups | ITT_GROUP_COUNTER | ITT_GROUP_FRAME | ITT_GROUP_STITCH |
			       ITT_GROUP_HEAP
		   : UINT32_MAX;
}

void st_choose_groups(const char *config_value, const char *environment)
{
	uint32_t groups = 0;

	if (!config_value) {
		wanted_groups = groups_of_environment(environment);
		return;
	}
	if (config_value[0] == '0' && config_value[1] == 'x')
		config_value += 2;
	for (; hex_value(*config_value) >= 0; config_value++)
		groups = groups << 4 | (uint32_t)hex_value(*config_value);
	wanted_groups = groups;
}

bool st_group_wanted(int groups)
{
	return ((uint32_t)groups & wanted_groups) != 0;
}

static const void *without_sync;

void st_choose_no_sync(const void *image)
{
	__atomic_store_n(&without_sync, image, __ATOMIC_RELAXED);
}

bool st_sync_wanted(const void *inside)
{
	const void *image = __atomic_load_n(&without_sync, __ATOMIC_RELAXED);
	void *map;
	Dl_info info;

	return !image || !dladdr1(inside, &info, &map, RTLD_DL_LINKMAP) || info.dli_fbase != image;
}

enum { QUOTE = 1 };

static void add_byte(struct patterns *to, char c)
{
	if (to->used_bytes < PATTERN_BYTES - 1)
		to->text[to->used_bytes++] = c;
}

static void add_patterns(struct patterns *to, const char *text)
{
	bool first = true;

	for (; text && *text && *text != ';'; text++) {
		if (*text == ',') {
			add_byte(to, '\0');
			first = true;
			continue;
		}
		if (first && *text != '!')
			to->includes = true;
		first = false;
		if (*text == '%' && hex_value(text[1]) >= 0 && hex_value(text[2]) >= 0) {
			add_byte(to, QUOTE);
			add_byte(to, (char)(hex_value(text[1]) << 4 | hex_value(text[2])));
			text += 2;
		} else {
			add_byte(to, *text);
		}
	}
	if (to->used_bytes)
		add_byte(to, '\0');
}

void st_choose_domains(const char *text)
{
	add_patterns(&domains, text);
}

void st_choose_processes(const char *text)
{
	add_patterns(&processes, text);
}

/* '*' and '?' as in a shell, by going back to the latest star. A '?' is one character of UTF-8. */
static bool matches(const char *pattern, const char *name)
{
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			resume = name;
			continue;
		}
		if (*pattern == '?') {
			pattern++;
			do
				name++;
			while (((unsigned char)*name & 0xc0) == 0x80);
			continue;
		}
		if (pattern[*pattern == QUOTE] == *name && *pattern) {
			pattern += 1 + (*pattern == QUOTE);
			name++;
			continue;
		}
		if (!star)
			return false;
		pattern = star + 1;
		name = ++resume;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool wanted(const struct patterns *patterns, const char *name, bool otherwise)
{
	bool result = otherwise;

	for (uint32_t at = 0; at < patterns->used_bytes;
	     at += (uint32_t)strlen(patterns->text + at) + 1) {
		const char *pattern = patterns->text + at;
		bool exclude = *pattern == '!';

		if (*pattern && matches(pattern + exclude, name))
			result = !exclude;
	}
	return result;
}

bool st_domain_wanted(const char *name)
{
	return wanted(&domains, name, !domains.includes);
}

bool st_processes_chosen(void)
{
	return processes.used_bytes > 0;
}

/* Some names are those of one process: one that is wanted is enough, but none may be excluded. */
bool st_process_wanted(const char *const names[], uint32_t count)
{
	bool result = !processes.includes;

	for (uint32_t i = 0; i < count; i++) {
		if (!wanted(&processes, names[i], true))
			return false;
		result = result || wanted(&processes, names[i], false);
	}
	return result;
}
