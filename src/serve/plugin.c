/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads the server. It is a library of its own (libstrata_serve.so), so that strata starts on machines that lack the
 * libraries for HTTP and TLS, and recording a program there costs nothing.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/serve.h"

/* From the folder of the executable: a build or an installation, and a wheel that pip has put elsewhere. */
static void *load(struct st_error *err)
{
	static const char *const places[] = {"../lib/strata", "lib/strata", "."};
	char folder[PATH_MAX], path[PATH_MAX + 64];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	folder[length > 0 ? length : 0] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		void *library;

		snprintf(path, sizeof(path), "%s/%s/libstrata_serve.so", folder, places[i]);
		if (access(path, R_OK))
			continue;
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			st_error_set(err, ST_EUNSUPPORTED, 0,
				     "the server cannot be loaded: %.300s (on Debian: apt install "
				     "libmicrohttpd12 libgnutls30)",
				     dlerror());
		return library;
	}
	st_error_set(err, ST_EUNSUPPORTED, 0,
		     "this strata was built without the server: install libmicrohttpd-dev and "
		     "libgnutls28-dev (Debian's names) and build it again");
	return NULL;
}

enum st_status st_serve_run(const struct st_serve_config *config, struct st_error *err)
{
	void *library = load(err);
	st_serve_fn *run;

	if (!library)
		return err->status;
	/* ISO C knows no way from an object to a function; POSIX does. */
	*(void **)&run = dlsym(library, "st_serve_library");
	if (!run)
		return st_error_set(err, ST_EUNSUPPORTED, 0, "the server is damaged: %.300s",
				    dlerror());
	return run(ST_VERSION, config, err);
}
