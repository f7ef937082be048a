// SPDX-License-Identifier: Apache-2.0
//
// Figures of every run, from the reports of each, then compared by name.
#include "analyze/reports/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/reports/changes_parts.h"
#include "analyze/tables/report_make.h"
#include "base/buf.h"
#include "resolve/short_name.h"
#include "store/result.h"
#include "store/samples.h"

enum { ROWS_SHOWN = 10, SMALL = 100, NAME_BYTES_MAX = 1 << 20 };
enum {
	SECTION,
	NAME,
	FIRST,
	SECOND,
	DIFFERENCE,
	CHANGE,
	INTERVAL,
	VERDICT,
	P_VALUE,
	FIRST_COUNT,
	SECOND_COUNT,
	COLUMNS
};

static const double chance = 0.05;

/* A row to be shown. */
struct change {
	uint32_t key;
	struct st_mean sides[ST_SIDES];
	struct st_difference between;
};

static const char *title_of(const struct st_changes *c, enum st_changes_section section)
{
	switch (section) {
	case ST_CHANGES_RUN:
		return "Run";
	case ST_CHANGES_STEP:
		return c->is_of_all ? "Steps, all together" : "Step, on average";
	case ST_CHANGES_OPERATOR:
		if (c->is_of_all)
			return "Operators, self time in all steps";
		return c->is_per_step ? "Operators, self time per step" : "Operators, self time";
	default:
		if (c->is_of_all)
			return "Functions, CPU time in all steps";
		return c->is_per_step ? "Functions, CPU time per step" : "Functions, CPU time";
	}
}

/* What a run without the row has of it. */
static struct st_mean nothing(const struct st_changes *c, enum st_changes_section section,
			      uint32_t run)
{
	if (section == ST_CHANGES_FUNCTION)
		return st_mean_of_samples(0.0, 0.0, c->one_sample_ns[run]);
	return (struct st_mean){.freedom = section == ST_CHANGES_RUN ? 0.0 : 1.0};
}

static struct st_mean side_of(const struct st_changes *c, enum st_changes_section section,
			      uint32_t key, int side)
{
	uint32_t first = side ? c->of->counts[0] : 0, count = c->of->counts[side];
	const struct st_figure *figures = c->figures + (size_t)key * c->run_count + first;
	double values[ST_RUNS_MAX];

	if (count == 1)
		return figures->is_there ? figures->mean : nothing(c, section, first);
	for (uint32_t i = 0; i < count; i++)
		values[i] = figures[i].is_there ? figures[i].mean.value : 0.0;
	return st_mean_of(values, count);
}

static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double first = fabs(x->between.value), second = fabs(y->between.value);

	if (first != second)
		return first > second ? -1 : 1;
	return x->key < y->key ? -1 : 1;
}

static const char *verdict(const struct st_changes *c, const struct change *change, uint32_t rows)
{
	bool is_slower = change->between.value > 0.0;

	if (!change->between.is_known)
		return "?";
	/* Of many rows some are beyond chance by chance: what is asked of each grows with their number. Small ones do
	 * not raise it for the others. */
	if (change->between.p * rows >= chance)
		return "unclear";
	if (c->of->counts[0] > 1 && c->of->counts[1] > 1)
		return is_slower ? "slower" : "faster";
	return is_slower ? "slower?" : "faster?";
}

static struct st_cell rounded(double ns)
{
	return st_cell_u64(ns > 0.0 ? (uint64_t)(ns + 0.5) : 0);
}

/* Functions by a name that can be read, as the summary has them. */
static struct st_cell name_of(struct st_changes *c, uint32_t key)
{
	struct st_buf name;

	if (c->section_of[key] != ST_CHANGES_FUNCTION)
		return st_cell_bytes(c->shown[key]);
	st_buf_init(&name, NAME_BYTES_MAX);
	st_short_name(c->shown[key], &name);
	return st_report_buf(c->out, &name);
}

static void add_change(struct st_changes *c, const struct change *change, const char *word)
{
	struct st_cell *cells = st_report_add(c->out, 1);
	const struct st_difference *between = &change->between;

	cells[NAME] = name_of(c, change->key);
	cells[FIRST] = rounded(change->sides[0].value);
	cells[SECOND] = rounded(change->sides[1].value);
	cells[DIFFERENCE] =
		st_cell_i64((int64_t)cells[SECOND].as.u64 - (int64_t)cells[FIRST].as.u64);
	if (change->sides[0].value > 0.0)
		cells[CHANGE] = st_cell_double(between->value / change->sides[0].value);
	if (between->is_known) {
		cells[INTERVAL] = rounded(between->half_width);
		cells[P_VALUE] = st_cell_double(between->p);
	}
	cells[VERDICT] = st_cell_text(word);
	cells[FIRST_COUNT] = st_cell_u64(change->sides[0].count);
	cells[SECOND_COUNT] = st_cell_u64(change->sides[1].count);
}

static uint32_t collect(const struct st_changes *c, enum st_changes_section section,
			struct change *list)
{
	uint32_t count = 0;

	for (uint32_t key = 0; key < c->names.count; key++) {
		struct change *change = &list[count];

		if (c->section_of[key] != section)
			continue;
		change->key = key;
		for (int side = 0; side < ST_SIDES; side++)
			change->sides[side] = side_of(c, section, key, side);
		change->between = st_welch(change->sides[0], change->sides[1]);
		count += change->sides[0].value != 0.0 || change->sides[1].value != 0.0;
	}
	if (section >= ST_CHANGES_OPERATOR)
		qsort(list, count, sizeof(*list), by_change);
	return count;
}

static double size_of(const struct change *change)
{
	return fmax(change->sides[0].value, change->sides[1].value);
}

static void add_section(struct st_changes *c, enum st_changes_section section, struct change *list,
			uint32_t at)
{
	uint32_t count = collect(c, section, list), shown = count;
	uint32_t large = 0;
	uint64_t limit = c->of->limit ? c->of->limit : ROWS_SHOWN;
	double sum = 0.0;
	struct st_report_row *parent = &c->out->rows[at];

	if (section >= ST_CHANGES_OPERATOR && count > limit)
		shown = (uint32_t)limit;
	parent->first_child = c->out->row_count;
	parent->child_count = shown;
	for (uint32_t i = 0; i < count; i++)
		sum += size_of(&list[i]);
	for (uint32_t i = 0; i < count; i++)
		large += size_of(&list[i]) >= sum / SMALL;
	for (uint32_t i = 0; i < shown; i++) {
		uint32_t rows = size_of(&list[i]) < sum / SMALL ? count : large;

		/* The step as a whole is what the question is about: its parts do not make it less certain. */
		if (section == ST_CHANGES_STEP && i == 0)
			rows = 1;
		add_change(c, &list[i], verdict(c, &list[i], rows));
	}
}

static bool has_section(const struct st_changes *c, enum st_changes_section section)
{
	for (uint32_t key = 0; key < c->names.count; key++)
		if (c->section_of[key] == section)
			return true;
	return false;
}

/* The outermost rows lie before all others. */
static bool add_rows(struct st_changes *c)
{
	struct change *list = calloc((size_t)c->names.count + 1, sizeof(*list));
	uint32_t at = 0;

	for (unsigned int i = 0; i < ST_CHANGES_SECTIONS && list; i++)
		if (has_section(c, i))
			st_report_add(c->out, 0)[SECTION] = st_cell_text(title_of(c, i));
	for (unsigned int i = 0; i < ST_CHANGES_SECTIONS && list; i++)
		if (has_section(c, i))
			add_section(c, i, list, at++);
	free(list);
	return list != NULL;
}

static void add_columns(struct st_changes *c, const struct st_side_names *names)
{
	struct st_arena *arena = st_report_arena(c->out);
	const char *n[ST_SIDES] = {st_arena_printf(arena, "n:%s", names->names[0]),
				   st_arena_printf(arena, "n:%s", names->names[1])};
	const struct st_column columns[COLUMNS] = {
		[SECTION] = {"section", "Section", "", true},
		[NAME] = {"name", "Name", "", true},
		[FIRST] = {"first_ns", names->names[0], "ns", false},
		[SECOND] = {"second_ns", names->names[1], "ns", false},
		[DIFFERENCE] = {"difference_ns", "Difference", "ns", false},
		[CHANGE] = {"change_ratio", "Change", "ratio", false},
		[INTERVAL] = {"interval_ns", "+/- 95 %", "ns", false},
		[VERDICT] = {"verdict", "Verdict", "", false},
		[P_VALUE] = {"p_value", "p", "", false},
		[FIRST_COUNT] = {"first_n", n[0] ? n[0] : "", "", false},
		[SECOND_COUNT] = {"second_n", n[1] ? n[1] : "", "", false},
	};

	st_report_columns(c->out, columns, COLUMNS);
	c->out->group_by[0] = "section";
	c->out->group_by[1] = "name";
	c->out->group_by_count = 2;
	c->out->as_table = true;
	c->out->kept_columns = CHANGE + 1;
}

static void add_note(struct st_changes *c, const char *note)
{
	if (note && c->note_count < ST_CHANGES_NOTES)
		c->notes[c->note_count++] = note;
}

static void explain(struct st_changes *c, const struct st_side_names *names)
{
	static const char *const of_runs[] = {
		"Difference is the second minus the first: + means that the second takes longer. "
		"Verdict: slower or faster if fewer than 1 of 20 comparisons show so much by "
		"chance "
		"(Welch's t-test, p < 0.05, stricter the more rows a section has), else unclear.",
	};
	static const char *const of_one[] = {
		"Difference is the second minus the first: + means that the second takes longer. "
		"Verdict: slower? or faster? if steps and samples within one run vary so much in "
		"fewer than 1 of 20 comparisons (Welch's t-test, p < 0.05, stricter the more rows "
		"a section has), else unclear; ? with one figure only.",
		"Runs of the same program can differ by more than that, and one run each cannot "
		"tell: give several, as in strata compare A1,A2,A3 B1,B2,B3",
	};
	bool has_runs = c->of->counts[0] > 1 && c->of->counts[1] > 1;

	c->out->subject = names->explained;
	c->out->result = names->joined;
	add_note(c, c->size_note);
	add_note(c, has_runs ? of_runs[0] : of_one[0]);
	add_note(c, has_runs ? NULL : of_one[1]);
}

/* What makes the sides hard to compare. Notes are copied: the report outlives the comparison. */
static enum st_status explain_differences(struct st_changes *c, struct st_error *err)
{
	struct st_arena *arena = st_report_arena(c->out);
	const struct st_result_info *first = st_result_info(c->of->runs[0]);
	const struct st_result_info *type = first, *command = first;
	const char **notes;

	for (uint32_t run = 1; run < c->run_count; run++) {
		const struct st_result_info *other = st_result_info(c->of->runs[run]);

		if (strcmp(other->type, first->type) != 0)
			type = other;
		if (strcmp(other->command, first->command) != 0)
			command = other;
	}
	if (type != first)
		add_note(c, st_arena_printf(arena,
					    "The types of collection differ (%s, %s): their cost "
					    "to the program differs, too.",
					    first->type, type->type));
	if (command != first)
		add_note(c, st_arena_printf(arena, "The commands differ: %s; %s", first->command,
					    command->command));
	if (c->has_unknown)
		add_note(c, "What some run did not record is left out: its time there is not "
			    "known.");
	notes = st_arena_calloc(arena, ST_CHANGES_NOTES, sizeof(*notes));
	if (!notes)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
	memcpy(notes, c->notes, sizeof(c->notes));
	c->out->notes = notes;
	c->out->note_count = c->note_count;
	return ST_OK;
}

static void take_headline(const struct st_changes *c, struct st_headline *out)
{
	enum st_changes_section section = c->is_per_step ? ST_CHANGES_STEP : ST_CHANGES_RUN;

	for (uint32_t key = 0; key < c->names.count; key++) {
		struct st_mean sides[ST_SIDES];

		if (c->section_of[key] != section)
			continue;
		for (int side = 0; side < ST_SIDES; side++) {
			sides[side] = side_of(c, section, key, side);
			out->counts[side] = sides[side].count;
		}
		out->what = c->is_of_all     ? "the time of all steps"
			    : c->is_per_step ? "the time of a step"
					     : "the elapsed time";
		out->first_ns = sides[0].value;
		out->difference = st_welch(sides[0], sides[1]);
		out->is_of_runs = c->of->counts[0] > 1 && c->of->counts[1] > 1;
		return;
	}
}

enum st_status st_changes_build(const struct st_changes_of *of, struct st_report *out,
				struct st_headline *headline, struct st_error *err)
{
	struct st_changes c = {.of = of, .run_count = of->counts[0] + of->counts[1], .out = out};
	enum st_status status = st_report_begin(out, "changes", of->runs[0], err);
	struct st_side_names names;

	memset(headline, 0, sizeof(*headline));
	if (status)
		return status;
	names = st_side_names_make(of->paths, of->counts, st_report_arena(out));
	add_columns(&c, &names);
	st_key_texts_init(&c.names);
	status = st_changes_read(&c, err);
	explain(&c, &names);
	if (!status && !add_rows(&c))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
	if (!status)
		status = explain_differences(&c, err);
	if (!status)
		take_headline(&c, headline);
	st_changes_fini(&c);
	if (!status)
		return st_report_end(out, err);
	st_report_fini(out);
	return status;
}
