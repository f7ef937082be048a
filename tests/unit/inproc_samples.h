/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes the handler rings that the server of the collector's tests has taken, checking the promises of
 * format/sample_record.h on the way: whole stacks, as a reader would restore them.
 */
#ifndef ST_TESTS_INPROC_SAMPLES_H
#define ST_TESTS_INPROC_SAMPLES_H

#include "format/sample_record.h"
#include "inproc_server.h"

struct sample {
	uint64_t process_token;
	uint32_t tid;
	uint32_t flags;
	uint64_t time;
	uint32_t weight_ns, handler_ticks;
	uint32_t native_count, python_count;
	uint64_t *native, *python; /* innermost first */
};

struct samples {
	struct sample *at;
	size_t count, capacity;
	uint64_t lost;	/* as the rings say */
	size_t threads; /* identities seen */
	size_t ends;
};

void samples_decode(struct samples *samples, const struct server *server);
void samples_free(struct samples *samples);
/* Sums of weights of the samples whose innermost frame lies in [start, end); end 0: all. */
uint64_t samples_weight_ns(const struct samples *samples, uint64_t start, uint64_t end);

#endif
