/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of all runs of a comparison. Only changes*.c use this.
 */
#ifndef ST_ANALYZE_REPORTS_CHANGES_PARTS_H
#define ST_ANALYZE_REPORTS_CHANGES_PARTS_H

#include "analyze/datasets/dataset_parts.h"
#include "analyze/reports/changes.h"

enum st_changes_section {
	ST_CHANGES_RUN,
	ST_CHANGES_STEP,
	ST_CHANGES_OPERATOR,
	ST_CHANGES_FUNCTION,
	ST_CHANGES_SECTIONS
};

enum { ST_CHANGES_NOTES = 6 };

struct st_figure {
	struct st_mean mean; /* of a run without several values of it, the spread is not known */
	bool is_there;
};

struct st_changes {
	const struct st_changes_of *of;
	uint32_t run_count;
	struct st_report *out;
	bool is_per_step; /* every run has steps */
	bool is_of_all;	  /* these differ in size, so that figures are of all of them, not of one */
	const char *size_note;	 /* NULL: they do not */
	struct st_report *steps; /* by run */
	double *one_sample_ns;	 /* by run: what a sample stands for, per step where these count */
	struct st_key_texts names; /* section, name and module in one text */
	struct st_text *shown;	   /* by key: the name alone */
	uint8_t *
		section_of; /* by key: enum st_changes_section, or ST_CHANGES_SECTIONS: not shown */
	struct st_figure *figures; /* by key: one for each run */
	uint32_t key_capacity;
	const char *notes[ST_CHANGES_NOTES];
	uint32_t note_count;
	bool has_unknown; /* rows are left out that some run cannot know */
	bool failed;
};

/* Once the steps are there: whether those of the sides are of one size. */
enum st_status st_changes_look_at_size(struct st_changes *c, struct st_error *err);
enum st_status st_changes_read(struct st_changes *c, struct st_error *err);
void st_changes_fini(struct st_changes *c);

#endif
