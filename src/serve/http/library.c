/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata_serve.so: the server, as strata serve loads it.
 */
#include <string.h>

#include "serve/http/server.h"

__attribute__((visibility("default"))) st_serve_fn st_serve_library;

enum st_status st_serve_library(const char *version, const struct st_serve_config *config,
				struct st_error *err)
{
	if (strcmp(version, ST_VERSION) == 0)
		return st_server_run(config, err);
	return st_error_set(err, ST_EVERSION, 0,
			    "strata is version %s and its server version " ST_VERSION
			    ": install them together",
			    version);
}
