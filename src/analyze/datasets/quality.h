/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that was lost, truncated or estimated, as counts and as text. Every report shows it: text below
 * its tables, JSON in "quality", and for CSV the command line prints it to stderr.
 */
#ifndef ST_ANALYZE_DATASETS_QUALITY_H
#define ST_ANALYZE_DATASETS_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

struct st_buf;
struct st_result;

enum { ST_QUALITY_ITEMS = 33 };

struct st_quality_item {
	const char *key;   /* "slices_dropped" */
	const char *words; /* "tasks dropped (full, or too deep; Python calls too)" */
	uint64_t value;
	uint64_t of;		   /* what it is a part of; 0: any is a flaw */
	unsigned int from_percent; /* the share from which it is a flaw; over 100: it never is */
};

/* The program's CPU time by the kernel's count, and how much of it samples stand for. */
struct st_cpu_seen {
	uint64_t used_ns, seen_ns;
	uint64_t handler_ns; /* of the used: samples' own */
	uint64_t unseen_ns;  /* in no sample; 0 as long as it does not matter */
};
/* False: not known, of a part of the run only, or nothing was to be sampled. */
bool st_quality_cpu_seen(const struct st_result *result, struct st_cpu_seen *out);
/* Shares of the CPUs that were not the program's: of other programs, and of other virtual machines. */
struct st_machine_shares {
	uint32_t cpu_count;
	uint64_t whole_ns; /* of all these CPUs */
	double others, stolen;
};
/* From here on a reader should know that the machine was shared; and that a step's time may be that of others. */
#define ST_MACHINE_SHARED 0.25
#define ST_MACHINE_DISTURBS 0.1
/* Of the whole run. False: not known, or the run was too short for the kernel's count. */
bool st_quality_machine(const struct st_result *result, struct st_machine_shares *out);
/* "other programs took 45 % of the CPUs", where that share and the stolen one are at least this. False: they are not. */
bool st_quality_shared(const struct st_result *result, double from, struct st_buf *out);
/* All of them, zeros too, in the order of importance. */
void st_quality_items(const struct st_result *result, struct st_quality_item out[ST_QUALITY_ITEMS]);
/* Records that are gone: dropped, refused or without a place. */
uint64_t st_quality_lost(const struct st_result *result);
/* A process would have recorded and could not: another build, a limit. */
bool st_quality_cannot_record(const struct st_result *result);
/* It is there, and often enough to matter for what the figures say. */
bool st_quality_is_flaw(const struct st_quality_item *item);
/* "2 stacks truncated before the thread's start (6.2 %)": of one, in the singular. */
void st_quality_item_text(const struct st_quality_item *item, struct st_buf *out);
/* Sentences for what matters, one per line, each ended by '\n'; nothing when the data is good. False when memory is
 * out. */
bool st_quality_flaws(const struct st_result *result, struct st_buf *out);
/* The same for what is not perfect, and does not matter. */
bool st_quality_trifles(const struct st_result *result, struct st_buf *out);
/* Of the flaws what is no count: how the run ended, pauses, what was not sampled, notes of the collection. */
bool st_quality_sentences(const struct st_result *result, struct st_buf *out);
/* The figures of what is gone, or is not under its own name. */
bool st_quality_losses(const struct st_result *result, struct st_buf *out);

#endif
