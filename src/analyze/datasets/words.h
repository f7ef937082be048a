/* SPDX-License-Identifier: Apache-2.0
 *
 * How processes ended, and why programs were not recorded, as text.
 */
#ifndef ST_ANALYZE_DATASETS_WORDS_H
#define ST_ANALYZE_DATASETS_WORDS_H

#include <stddef.h>

#include <stdint.h>

#include "format/definitions.h"

struct st_arena;
struct st_process;

/* "exit 3", "SIGSEGV" */
const char *st_words_wait_status(int wait_status, struct st_arena *arena);
const char *st_words_process_end(const struct st_process *process, struct st_arena *arena);
const char *st_words_not_entered(enum st_not_entered reason);
/* "unfinished,clipped", or "" */
const char *st_words_slice_flags(unsigned int flags);
const char *st_words_span_flags(unsigned int flags);
/* "marker", "sync_prepare" …; "frame", "wait" …; "counter", "heap_function" …; "unknown" for later ones. */
const char *st_words_event_kind(uint32_t kind);
const char *st_words_span_kind(uint32_t kind);
const char *st_words_object_kind(uint32_t kind);

#endif
