/* SPDX-License-Identifier: Apache-2.0
 *
 * Sample traces (examples/samples) that are part of the program, so that there is something to look at offline.
 */
#ifndef ST_SERVE_HTTP_SAMPLE_TRACES_H
#define ST_SERVE_HTTP_SAMPLE_TRACES_H

#include <stddef.h>

struct st_sample {
	const char *name; /* of the file; NULL: the end of the list */
	const char *summary;
	const unsigned char *bytes;
	const size_t *size_bytes;
};
extern const struct st_sample st_samples[];

#endif
