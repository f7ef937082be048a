/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of samples; their bytes are made from the files when strata is built.
 */
#include "serve/http/sample_traces.h"

extern const unsigned char st_sample_before[], st_sample_after[];
extern const size_t st_sample_before_bytes, st_sample_after_bytes;

const struct st_sample st_samples[] = {
	{"training-before.pt.trace.json.gz",
	 "Six training steps on CPU: double precision, batches made in Python, the loss asked for "
	 "in "
	 "every step.",
	 st_sample_before, &st_sample_before_bytes},
	{"training-after.pt.trace.json.gz", "The same six steps after mending, to be compared.",
	 st_sample_after, &st_sample_after_bytes},
	{NULL, NULL, NULL, NULL},
};
