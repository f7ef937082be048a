// SPDX-License-Identifier: Apache-2.0
//
// Checks of who marks tasks: the Python on PATH, the packages it would import, and whether their
// libraries hold an ITT part. Only files are looked at: an import would take seconds and run code.
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "collect/launch/doctor/doctor_check.h"
#include "collect/launch/run/environment.h"

enum { SITES_MAX = 24, BLOCK_BYTES = 1 << 18, SECTIONS_MAX = 4096, NAMES_MAX_BYTES = 1 << 16 };

/* What every ITT part looks for in the environment. */
static const char mark[] = "INTEL_LIBITTNOTIFY64";

struct sites { /* folders that Python would search for packages */
	char *paths[SITES_MAX];
	unsigned int count;
};

struct package {
	const char *folder;    /* of the package, in a site folder */
	const char *libraries; /* pattern, in a site folder */
	const char *record;    /* pattern of the folder whose name has the version */
	const char *install;
};

static const struct package torch = {"torch", "torch/lib/libtorch_cpu.so", "torch-*.dist-info",
				     "torch"};
static const struct package tensorflow = {"tensorflow", "tensorflow/libtensorflow_cc.so*",
					  "tensorflow*-[0-9]*.dist-info", "tensorflow-cpu"};
static const struct package ittapi = {"ittapi", "ittapi/*.so", "ittapi-*.dist-info", "ittapi"};

static void sites_add(struct sites *sites, const char *pattern)
{
	glob_t found;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc && sites->count < SITES_MAX; i++) {
		sites->paths[sites->count] = strdup(found.gl_pathv[i]);
		sites->count += sites->paths[sites->count] != NULL;
	}
	globfree(&found);
}

static void sites_add_below(struct sites *sites, const char *prefix, const char *version,
			    const char *rest)
{
	char pattern[2 * PATH_MAX];

	snprintf(pattern, sizeof(pattern), "%s/lib/%s/%s", prefix, version, rest);
	sites_add(sites, pattern);
}

static void sites_fini(struct sites *sites)
{
	for (unsigned int i = 0; i < sites->count; i++)
		free(sites->paths[i]);
}

/* Cuts "/usr/bin/python3" to "/usr". */
static void to_prefix(char *path)
{
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = '\0';
	}
}

/* A virtual environment: true when it does not also look outside. */
static bool add_virtual(struct sites *sites, const char *python)
{
	struct st_doctor_context here = {.root = ""};
	char prefix[PATH_MAX], path[PATH_MAX + 32], text[2048], outside[16];

	snprintf(prefix, sizeof(prefix), "%s", python);
	to_prefix(prefix);
	snprintf(path, sizeof(path), "%s/pyvenv.cfg", prefix);
	if (!st_doctor_read(&here, path, text, sizeof(text)))
		return false;
	sites_add_below(sites, prefix, "python3*", "site-packages");
	return !st_doctor_field(text, "include-system-site-packages = ", outside,
				sizeof(outside)) ||
	       strncmp(outside, "true", 4) != 0;
}

static void add_python_path(struct sites *sites)
{
	const char *at = getenv("PYTHONPATH");
	char path[PATH_MAX];

	while (at && *at) {
		size_t bytes = strcspn(at, ":");

		if (bytes && bytes < sizeof(path)) {
			memcpy(path, at, bytes);
			path[bytes] = '\0';
			sites_add(sites, path);
		}
		at += bytes + (at[bytes] == ':');
	}
}

/* Where Python would look, in its order; the version is in the name of the real executable. */
static void sites_find(struct sites *sites, const char *python)
{
	char real[PATH_MAX], version[64], prefix[PATH_MAX];
	const char *home = getenv("HOME"), *name;

	sites->count = 0;
	add_python_path(sites);
	if (add_virtual(sites, python) || !realpath(python, real))
		return;
	name = strrchr(real, '/');
	name = name ? name + 1 : real;
	snprintf(version, sizeof(version), "%.40s%s", name, strchr(name, '.') ? "" : "*");
	snprintf(prefix, sizeof(prefix), "%s", real);
	to_prefix(prefix);
	if (home && home[0] == '/') {
		char local[PATH_MAX];

		snprintf(local, sizeof(local), "%.3000s/.local", home);
		sites_add_below(sites, local, version, "site-packages");
	}
	sites_add_below(sites, prefix, version, "site-packages");
	if (strcmp(prefix, "/usr") == 0) {
		sites_add_below(sites, "/usr/local", version, "dist-packages");
		sites_add_below(sites, "/usr", "python3", "dist-packages");
	}
}

/* Behind a shim of pyenv, which is a script: the version chosen for this shell, folder or user. NULL when
 * that is not to be found out. */
static char *behind_shim(const char *shim)
{
	struct st_doctor_context here = {.root = ""};
	const char *chosen = getenv("PYENV_VERSION");
	char root[PATH_MAX], path[2 * PATH_MAX], version[64];

	snprintf(root, sizeof(root), "%s", shim);
	to_prefix(root);
	snprintf(path, sizeof(path), "%s/version", root);
	if (chosen)
		snprintf(version, sizeof(version), "%s", chosen);
	else if (!st_doctor_read(&here, ".python-version", version, sizeof(version)) &&
		 !st_doctor_read(&here, path, version, sizeof(version)))
		return NULL;
	version[strcspn(version, "\n:")] = '\0';
	snprintf(path, sizeof(path), "%s/versions/%s/bin/python", root, version);
	return version[0] && access(path, X_OK) == 0 ? strdup(path) : NULL;
}

static bool is_script(const char *path)
{
	struct st_doctor_context here = {.root = ""};
	char begin[3];

	return st_doctor_read(&here, path, begin, sizeof(begin)) && strcmp(begin, "#!") == 0;
}

/* What a user would type: python, else python3; a script is looked behind. malloc'd, or NULL. */
char *st_doctor_find_python(void)
{
	char *path = NULL, *behind;

	if (st_environment_find_program("python", true, &path, NULL) != ST_OK &&
	    st_environment_find_program("python3", true, &path, NULL) != ST_OK)
		return NULL;
	behind = is_script(path) ? behind_shim(path) : NULL;
	if (!behind)
		return path;
	free(path);
	return behind;
}

enum found { FOUND, NOT_FOUND, NO_TIME };

/* Looks for the mark in a part of a file, up to the deadline. */
static enum found scan(int fd, uint64_t offset, uint64_t size_bytes, uint64_t deadline_ns)
{
	static char block[BLOCK_BYTES];
	size_t kept = 0;
	uint64_t at = 0;

	while (at < size_bytes) {
		size_t want = BLOCK_BYTES - kept;
		ssize_t n;

		if (st_clock_mono_raw_ns() > deadline_ns)
			return NO_TIME;
		if (want > size_bytes - at)
			want = (size_t)(size_bytes - at);
		n = pread(fd, block + kept, want, (off_t)(offset + at));
		if (n <= 0)
			return NOT_FOUND;
		if (memmem(block, kept + (size_t)n, mark, sizeof(mark) - 1))
			return FOUND;
		at += (uint64_t)n;
		/* The end of this block may be the beginning of the mark. */
		kept += (size_t)n;
		if (kept > sizeof(mark)) {
			memmove(block, block + kept - sizeof(mark), sizeof(mark));
			kept = sizeof(mark);
		}
	}
	return NOT_FOUND;
}

/* The sections of constants; the whole file when it does not name its sections. */
static enum found scan_sections(int fd, uint64_t file_bytes, uint64_t deadline_ns)
{
	static Elf64_Shdr sections[SECTIONS_MAX];
	static char names[NAMES_MAX_BYTES];
	enum found worst = NOT_FOUND;
	ssize_t names_bytes;
	Elf64_Ehdr head;
	size_t count;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
		return NOT_FOUND;
	count = head.e_shnum < SECTIONS_MAX ? head.e_shnum : SECTIONS_MAX;
	if (!count || head.e_shentsize != sizeof(sections[0]) || head.e_shstrndx >= count ||
	    pread(fd, sections, count * sizeof(sections[0]), (off_t)head.e_shoff) !=
		    (ssize_t)(count * sizeof(sections[0])))
		return scan(fd, 0, file_bytes, deadline_ns);
	names_bytes =
		pread(fd, names, sizeof(names) - 1, (off_t)sections[head.e_shstrndx].sh_offset);
	names[names_bytes > 0 ? names_bytes : 0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const Elf64_Shdr *section = &sections[i];
		enum found found;

		if (section->sh_type != SHT_PROGBITS || (ssize_t)section->sh_name >= names_bytes ||
		    !strstr(names + section->sh_name, "rodata"))
			continue;
		found = scan(fd, section->sh_offset, section->sh_size, deadline_ns);
		if (found == FOUND)
			return FOUND;
		if (found == NO_TIME)
			worst = NO_TIME;
	}
	return worst;
}

static enum found speaks_itt(const char *pattern, uint64_t deadline_ns)
{
	enum found worst = NOT_FOUND;
	glob_t files;

	if (glob(pattern, 0, NULL, &files) != 0)
		return NOT_FOUND;
	for (size_t i = 0; i < files.gl_pathc && worst != FOUND; i++) {
		int fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		struct stat about;
		enum found found = NOT_FOUND;

		if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
			found = scan_sections(fd, (uint64_t)about.st_size, deadline_ns);
		if (found != NOT_FOUND)
			worst = found;
		if (fd >= 0)
			close(fd);
	}
	globfree(&files);
	return worst;
}

/* The version in the name of "torch-2.13.0.dist-info". */
static void find_version(const char *site, const struct package *package, char *out,
			 size_t size_bytes)
{
	char pattern[PATH_MAX];
	glob_t found;
	const char *name;
	char *end;

	out[0] = '\0';
	snprintf(pattern, sizeof(pattern), "%.3000s/%s", site, package->record);
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	name = strrchr(found.gl_pathv[0], '-'); /* that of "dist-info" */
	while (name && name > found.gl_pathv[0] && name[-1] != '/' && name[-1] != '-')
		name--;
	if (name)
		snprintf(out, size_bytes, "%.40s", name);
	end = strstr(out, ".dist-info");
	if (end)
		*end = '\0';
	globfree(&found);
}

static const char *site_of(const struct sites *sites, const struct package *package)
{
	char path[PATH_MAX];

	for (unsigned int i = 0; i < sites->count; i++) {
		snprintf(path, sizeof(path), "%.3000s/%s/__init__.py", sites->paths[i],
			 package->folder);
		if (access(path, R_OK) == 0)
			return sites->paths[i];
	}
	return NULL;
}

/* What is the same for every package; hint is added to the fact of one that speaks ITT. */
static void look_at(const struct st_doctor_context *context, const struct package *package,
		    const char *hint, struct st_doctor_finding *finding)
{
	char *python = st_doctor_find_python(), pattern[PATH_MAX], version[48];
	struct sites sites = {.count = 0};
	const char *site = NULL;

	if (python) {
		sites_find(&sites, python);
		site = site_of(&sites, package);
	}
	if (python && is_script(python)) {
		st_doctor_fact(finding, ST_DOCTOR_UNKNOWN, "%s is a script", python);
		st_doctor_remedy(finding,
				 "activate the environment in which you run your programs");
	} else if (!site) {
		st_doctor_fact(finding, ST_DOCTOR_MISSING, "%s",
			       python ? "not installed for this Python" : "no Python found");
		st_doctor_remedy(finding, "%s -m pip install %s", python ? python : "python3",
				 package->install);
	} else {
		find_version(site, package, version, sizeof(version));
		snprintf(pattern, sizeof(pattern), "%.3000s/%s", site, package->libraries);
		switch (speaks_itt(pattern, context->deadline_ns)) {
		case FOUND:
			st_doctor_fact(finding, ST_DOCTOR_OK, "%s supports ITT: %s", version, hint);
			break;
		case NOT_FOUND:
			st_doctor_fact(finding, ST_DOCTOR_LIMITED,
				       "%s is built without ITT: it marks no tasks", version);
			st_doctor_remedy(finding, "%s -m pip install --upgrade %s", python,
					 package->install);
			break;
		case NO_TIME:
			st_doctor_fact(finding, ST_DOCTOR_UNKNOWN,
				       "%s: reading its library took too long", version);
			st_doctor_remedy(finding, "run strata doctor again");
			break;
		}
	}
	sites_fini(&sites);
	free(python);
}

void st_doctor_python(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char *python = st_doctor_find_python(), real[PATH_MAX];
	const char *name;

	(void)context;
	if (!python) {
		st_doctor_fact(finding, ST_DOCTOR_MISSING, "no python or python3 on the PATH");
		st_doctor_remedy(finding, "activate an environment, or sudo apt install python3");
		return;
	}
	name = realpath(python, real) ? strrchr(real, '/') + 1 : "broken link";
	st_doctor_fact(finding, ST_DOCTOR_OK, "%.150s (%.40s)", python, name);
	free(python);
}

void st_doctor_pytorch(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	look_at(context, &torch, "operators with autograd.profiler.emit_itt()", finding);
}

void st_doctor_tensorflow(const struct st_doctor_context *context,
			  struct st_doctor_finding *finding)
{
	look_at(context, &tensorflow, "its oneDNN primitives, automatically", finding);
}

void st_doctor_ittapi(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	look_at(context, &ittapi, "your own tasks, with ittapi.task(...)", finding);
}

void st_doctor_onednn(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	static const char *const levels[] = {"ONEDNN_ITT_TASK_LEVEL", "DNNL_ITT_TASK_LEVEL"};
	const char *used = getenv("TF_ENABLE_ONEDNN_OPTS");

	(void)context;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		const char *level = getenv(levels[i]);

		if (!level || (strcmp(level, "0") != 0 && strcmp(level, "1") != 0))
			continue;
		st_doctor_fact(finding, level[0] == '0' ? ST_DOCTOR_MISSING : ST_DOCTOR_LIMITED,
			       "%s=%s: %s", levels[i], level,
			       level[0] == '0' ? "its primitives are not marked"
					       : "only the calling thread is marked");
		st_doctor_remedy(finding, "unset %s", levels[i]);
		return;
	}
	if (used && strcmp(used, "0") == 0) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "TF_ENABLE_ONEDNN_OPTS=0: TensorFlow does not use oneDNN");
		st_doctor_remedy(finding, "unset TF_ENABLE_ONEDNN_OPTS");
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_OK,
		       "its tasks are not disabled (convolutions, bf16 matmul, LSTM ...)");
}
