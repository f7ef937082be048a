/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the page, which are part of the program.
 */
#ifndef ST_SERVE_HTTP_ASSETS_H
#define ST_SERVE_HTTP_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct st_exchange;

struct st_asset {
	const char *path, *media_type; /* NULL: the end of the list */
	const unsigned char *packed;   /* gzip */
	const unsigned char *packed_end;
};
/* Made from the bundle when strata is built; only the end when there was none. */
extern const struct st_asset st_assets[];
extern const char st_assets_bundle_id[];

const char *st_assets_id(void); /* "": built without the page */
/* A file, or for any path without an ending the page itself. */
void st_assets_answer(struct st_exchange *exchange);

#endif
