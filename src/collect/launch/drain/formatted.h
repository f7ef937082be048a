/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of formatted metadata, from the format and the arguments that the collector copied (format/conversion.h). As
 * libc's printf, but: a NULL string is "(null)", %n is nothing, %a has decimal digits, wide text is UTF-8 in every locale,
 * and behind a conversion that is not known the rest of the format is copied as it is.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_FORMATTED_H
#define ST_COLLECT_LAUNCH_DRAIN_FORMATTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_formatted {
	uint32_t length;
	bool cut; /* the text is longer than the room */
};

/* `out` has capacity + 1 bytes. The data may be anything: what is missing in it ends the text. */
struct st_formatted st_format_arguments(char *out, size_t capacity, const void *data,
					size_t data_bytes);

#endif
