/* SPDX-License-Identifier: Apache-2.0
 *
 * From the objects of the interface to the ids of our records: the creators, and the slow look-up of an
 * object that has no id yet (made before the collector was loaded, or not yet defined).
 */
#ifndef ST_COLLECT_INPROC_CORE_LABEL_H
#define ST_COLLECT_INPROC_CORE_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/intern.h"
#include "collect/inproc/core/state.h"

#pragma GCC visibility push(hidden)

/* How to name a slice. */
struct st_itt_label {
	uint32_t name;	   /* id, or 0 */
	bool text_in_ring; /* the ring's latest ST_EXT_TEXT is the name */
	bool unknown;	   /* a shared handle, and its own text is not known */
	const char *text; /* not NULL: to be put into the ring first, `name` could not be defined */
	uint32_t text_length;
};

struct itt_domain *st_domain_create(const char *name);
struct itt_string_handle *st_string_handle_create(const char *name);

/* Between st_thread_enter and st_thread_leave. The label may use up the thread's pending text. */
struct st_itt_label st_label_of(struct st_thread *thread, struct itt_string_handle *handle);
uint32_t st_domain_of(const struct itt_domain *domain);
struct st_itt_label st_label_of_text(struct st_thread *thread, const char *text, uint32_t length);

/* For events, which carry no text: the id of a handle, of its family where it shares one (counted), or 0. */
uint32_t st_name_of(struct itt_string_handle *handle);
uint32_t st_name_of_text(const char *text, size_t length);
/* The same, uncounted; *shared: the id is that of the family. */
uint32_t st_name_or_family(const char *text, size_t length, bool *shared);

/* Between enter and leave: defines thread->name_pending, if the ring has room for it now. */
void st_label_retry_name(struct st_thread *thread);
/* Names the calling thread. */
void st_label_thread(const char *name, size_t length);

#pragma GCC visibility pop

#endif
