// SPDX-License-Identifier: Apache-2.0
//
// Builds the program's environment. Variables of others stay as they are, but for those through which
// ITT, the JIT interface and CUDA find a collector: there is room for one name only, ours for this run.
#include "collect/launch/run/environment.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/run/device_loaders.h"
#include "collect/launch/run/preload_link.h"

extern char **environ;

static const char library_name[] = "libstrata_collector.so";
static const char jit_library_name[] = "libstrata_jit.so";
static const char cuda_library_name[] = "libstrata_cuda.so";
static const char opencl_library_name[] = "libstrata_opencl.so";
static const char waits_library_name[] = "libstrata_waits.so";
static const char ze_library_name[] = "libstrata_ze.so";
/* From the collector's folder; the loader puts its word for the processor in the place of $PLATFORM. */
static const char platform_folder[] = "not-libasan.so/../platform/$PLATFORM";
static const char probe_name[] = "libstrata_probe.so";

/* Places relative to the folder of the executable: installed, then two shapes of a build tree. */
static const char *const library_places[] = {
	"../lib/strata", "../lib64/strata", ".", "../collect/inproc", "../../src/collect/inproc",
};

/* Those that have no value here are left as they are: there may be no such library. */
static const char *const our_names[] = {
	"LD_PRELOAD",	 "INTEL_LIBITTNOTIFY64",    "STRATA_SOCK",	    "STRATA_ABS",
	"STRATA_TOKEN",	 "STRATA_CONFIG",	    "INTEL_JIT_PROFILER64", "CUDA_INJECTION64_PATH",
	"OPENCL_LAYERS", "ZE_ENABLE_TRACING_LAYER",
};

enum { OUR_COUNT = sizeof(our_names) / sizeof(our_names[0]) };

static char *library_in(const char *folder, const char *place)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s/%s", folder, place, library_name) >=
	    (int)sizeof(path))
		return NULL;
	return access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

static enum st_status find_collector(char **out, struct st_error *err)
{
	const char *named = getenv("STRATA_COLLECTOR");
	char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	*out = NULL;
	if (n > 0) {
		char *slash;

		folder[n] = '\0';
		slash = strrchr(folder, '/');
		if (slash)
			*slash = '\0';
		for (size_t i = 0; i < sizeof(library_places) / sizeof(library_places[0]); i++) {
			*out = library_in(folder, library_places[i]);
			if (*out)
				return ST_OK;
		}
	}
	if (named && access(named, R_OK) == 0)
		*out = realpath(named, NULL);
	if (*out)
		return ST_OK;
	return st_error_set(err, ST_ENOTFOUND, 0,
			    "%s not found next to the strata executable: reinstall strata, or set "
			    "STRATA_COLLECTOR to its path",
			    library_name);
}

enum st_status st_environment_find_collector(char **out, struct st_error *err)
{
	enum st_status status = find_collector(out, err);
	char *link;

	if (status || !*out || st_environment_can_preload(*out))
		return status;
	link = st_preload_link(*out);
	if (link) {
		free(*out);
		*out = link;
	}
	return ST_OK;
}

static bool executable(const char *path, int *code)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		*code = errno;
		return false;
	}
	if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0) {
		*code = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
		return false;
	}
	return true;
}

static char *absolute(const char *path)
{
	char folder[PATH_MAX], *out = NULL;

	if (path[0] == '/' || !getcwd(folder, sizeof(folder)))
		return strdup(path);
	return asprintf(&out, "%s/%s", folder, path) < 0 ? NULL : out;
}

/* Searches PATH like a shell; a file that is there but cannot be executed is remembered in *code. */
static bool search_path(const char *name, char path[PATH_MAX], int *code)
{
	const char *at = getenv("PATH");
	int tried;

	*code = ENOENT;
	if (!at)
		at = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(at, ":");
		int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "",
				 name);

		if (n < PATH_MAX && executable(path, &tried))
			return true;
		if (n < PATH_MAX && tried == EACCES)
			*code = EACCES;
		if (!at[length])
			return false;
		at += length + 1;
	}
}

enum st_status st_environment_find_program(const char *name, bool make_absolute, char **out,
					   struct st_error *err)
{
	char path[PATH_MAX];
	int code = ENOENT;
	bool found;

	*out = NULL;
	if (strchr(name, '/')) {
		found = snprintf(path, sizeof(path), "%s", name) < (int)sizeof(path) &&
			executable(path, &code);
	} else {
		found = name[0] && search_path(name, path, &code);
	}
	if (!found && (code == ENOENT || code == ENOTDIR)) {
		if (strchr(name, '/'))
			return st_error_set(err, ST_ENOTFOUND, 0, "%s: no such program", name);
		return st_error_set(err, ST_ENOTFOUND, 0, "%s: no such program on the PATH", name);
	}
	if (!found)
		return st_error_set(err, ST_EIO, code, "%s: not executable", name);
	*out = make_absolute ? absolute(path) : strdup(path);
	return *out ? ST_OK : st_error_set(err, ST_ENOMEM, 0, "out of memory");
}

bool st_environment_can_preload(const char *collector)
{
	return strpbrk(collector, " :\t\n") == NULL;
}

/* Whether the name that a loader makes of the probe's stands beside a link to the collector. */
static bool stands_for(const char *loaded, const char *collector)
{
	const char *slash = strrchr(loaded, '/');
	char path[PATH_MAX], real[PATH_MAX], wanted[PATH_MAX];

	if (!slash || snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - loaded), loaded,
			       library_name) >= (int)sizeof(path))
		return false;
	return realpath(path, real) && realpath(collector, wanted) && strcmp(real, wanted) == 0;
}

/* The collector's name through the folders of run/platforms.c in `folder`; NULL unless this machine's loader finds it
 * by that name. */
static char *accepted_in(const char *folder, const char *collector)
{
	struct link_map *map = NULL;
	char *name = NULL;
	bool found = false;
	void *probe;

	if (asprintf(&name, "%s/%s/%s", folder, platform_folder, probe_name) < 0)
		return NULL;
	probe = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (probe) {
		found = dlinfo(probe, RTLD_DI_LINKMAP, &map) == 0 &&
			stands_for(map->l_name, collector);
		dlclose(probe);
	}
	free(name);
	if (!found || asprintf(&name, "%s/%s/%s", folder, platform_folder, library_name) < 0)
		return NULL;
	return name;
}

/* The collector by a name that every loader accepts (docs/internals/getting-in.md), or else by its own. */
static char *accepted_name(const char *collector)
{
	const char *slash = strrchr(collector, '/');
	char *folder = slash ? strndup(collector, (size_t)(slash - collector)) : NULL;
	char *name = folder ? accepted_in(folder, collector) : NULL;

	free(folder);
	if (!name) {
		folder = st_preload_folder(collector);
		name = folder ? accepted_in(folder, collector) : NULL;
		free(folder);
	}
	return name ? name : strdup(collector);
}

/* The library of waits beside the collector, by a name of the same kind. */
static char *with_waits(const char *collector)
{
	const char *slash = strrchr(collector, '/');
	char *both = NULL;

	if (!slash || asprintf(&both, "%s:%.*s/%s", collector, (int)(slash - collector), collector,
			       waits_library_name) < 0)
		return NULL;
	return both;
}

/* "LD_PRELOAD=theirs:ours". Theirs in front: what they replace must stay replaced by them. */
static char *preload_variable(const char *collector, bool preload)
{
	const char *theirs = getenv("LD_PRELOAD");
	char *out = NULL;
	int n;

	if (!preload || (theirs && strstr(theirs, collector)))
		n = theirs ? asprintf(&out, "LD_PRELOAD=%s", theirs) : asprintf(&out, "%s", "");
	else if (theirs && theirs[0])
		n = asprintf(&out, "LD_PRELOAD=%s:%s", theirs, collector);
	else
		n = asprintf(&out, "LD_PRELOAD=%s", collector);
	return n < 0 ? NULL : out;
}

static char *library_beside(const char *collector, const char *name)
{
	const char *slash = strrchr(collector, '/');
	char *out = NULL;

	if (!slash || asprintf(&out, "%.*s/%s", (int)(slash - collector), collector, name) < 0)
		return NULL;
	if (access(out, R_OK) == 0)
		return out;
	free(out);
	return NULL;
}

char *st_environment_jit_library(const char *collector)
{
	return library_beside(collector, jit_library_name);
}

char *st_environment_cuda_library(const char *collector)
{
	return library_beside(collector, cuda_library_name);
}

/* What OpenCL's loader is to put in front of drivers: "theirs:ours". NULL: there is no such library, or no way to name it. */
static char *opencl_layers(const char *collector)
{
	const char *theirs = getenv("OPENCL_LAYERS");
	char *ours = library_beside(collector, opencl_library_name), *both = NULL;

	if (!ours || strchr(ours, ':')) {
		free(ours);
		return NULL;
	}
	if (!theirs || !theirs[0])
		return ours;
	if (asprintf(&both, "%s%s%s", theirs, strstr(theirs, ours) ? "" : ":",
		     strstr(theirs, ours) ? "" : ours) < 0)
		both = NULL;
	free(ours);
	return both;
}

/* Its tracing layer costs every call a little: only where programs may use Level Zero at all. */
char *st_environment_ze_library(const char *collector)
{
	char path[PATH_MAX];

	if (!st_device_loader_find(ST_ZE_LOADER, path, sizeof(path)))
		return NULL;
	return library_beside(collector, ze_library_name);
}

static bool is_ours(const char *variable, const char *const values[OUR_COUNT])
{
	for (int i = 0; i < OUR_COUNT; i++) {
		size_t length = strlen(our_names[i]);

		/* The preload is made of both. */
		if (i && !values[i])
			continue;
		if (strncmp(variable, our_names[i], length) == 0 && variable[length] == '=')
			return true;
	}
	return false;
}

char **st_environment_create(const struct st_environment_options *options)
{
	char *jit = st_environment_jit_library(options->collector), *name, **out;
	char *cuda = options->devices ? st_environment_cuda_library(options->collector) : NULL;
	char *opencl = options->devices ? opencl_layers(options->collector) : NULL;
	const char *values[OUR_COUNT] = {NULL,
					 options->collector,
					 options->socket_path,
					 options->abstract_name,
					 options->token_hex,
					 options->config,
					 jit,
					 cuda,
					 opencl,
					 options->has_ze && st_ze_tracing_wanted() ? "1" : NULL};
	size_t count = 0, at = 0;

	while (environ[count])
		count++;
	out = calloc(count + OUR_COUNT + 1, sizeof(*out));
	if (!out)
		goto fail;
	for (size_t i = 0; i < count; i++) {
		if (is_ours(environ[i], values))
			continue;
		out[at] = strdup(environ[i]);
		if (!out[at++])
			goto fail;
	}
	name = options->preload ? accepted_name(options->collector) : strdup("");
	if (name && options->preload && options->waits) {
		char *both = with_waits(name);

		free(name);
		name = both;
	}
	out[at] = name ? preload_variable(name, options->preload) : NULL;
	free(name);
	if (!out[at])
		goto fail;
	if (out[at][0]) {
		at++;
	} else {
		free(out[at]);
		out[at] = NULL;
	}
	for (int i = 1; i < OUR_COUNT; i++)
		if (values[i] && asprintf(&out[at++], "%s=%s", our_names[i], values[i]) < 0) {
			out[at - 1] = NULL;
			goto fail;
		}
	free(jit);
	free(cuda);
	free(opencl);
	return out;
fail:
	free(jit);
	free(cuda);
	free(opencl);
	st_environment_destroy(out);
	return NULL;
}

void st_environment_destroy(char **environment)
{
	if (!environment)
		return;
	for (size_t i = 0; environment[i]; i++)
		free(environment[i]);
	free(environment);
}
