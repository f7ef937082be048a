// SPDX-License-Identifier: Apache-2.0
//
// Where operators come from, in words.
#include <string.h>

#include "analyze/datasets/operator_turns.h"
#include "analyze/datasets/quality.h"
#include "analyze/reports/report_operators.h"
#include "base/buf.h"
#include "format/analysis.h"

enum { LINE_MAX_BYTES = 4096 };

/* What of the operators is known, in the place of "every". */
static const char *level_words(uint32_t level, bool is_partial)
{
	if (is_partial && level <= ST_OPERATORS_NAMES)
		return level == ST_OPERATORS_NAMES ? "operators, without inputs,"
						   : "operators, with inputs,";
	switch (level) {
	case ST_OPERATORS_IN_PLACE:
		return "every operator, with inputs";
	case ST_OPERATORS_ASKED:
		return "every operator, with inputs as reported by the framework";
	case ST_OPERATORS_NAMES:
		return "every operator, without inputs";
	case ST_OPERATORS_ITT:
		return "operators from the program's ITT tasks, without inputs";
	default:
		return "no operators";
	}
}

/* The poorest of the sources: what holds for all processes. */
static const struct st_operator_source *poorest(const struct st_operator_source *sources,
						uint32_t count)
{
	const struct st_operator_source *found = NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (sources[i].level == ST_OPERATORS_NONE)
			continue;
		if (!found || sources[i].level > found->level)
			found = &sources[i];
	}
	return found ? found : count ? sources : NULL;
}

const char *st_operators_source(const struct st_result *result, const struct st_dataset *operators,
				struct st_arena *arena)
{
	uint32_t count;
	const struct st_operator_source *sources = st_result_operator_sources(result, &count);
	const struct st_operator_source *source = poorest(sources, count);
	const struct st_operator_rows *rows = st_dataset_operators(operators);
	struct st_operator_turns turns;
	struct st_text framework, why;
	struct st_buf out;
	char *line;

	if (!source && rows->is_itt)
		return "PyTorch: operators from the program's ITT tasks, without inputs; use "
		       "-collect operators to record them all";
	if (!source)
		return rows->is_primitive ? "oneDNN: the primitives that ran; the framework "
					    "operators above them are unknown"
					  : NULL;
	framework = st_result_text(result, source->framework);
	why = st_result_text(result, source->why);
	if (st_operator_turns_make(&turns, result, NULL))
		arena->failed = true;
	st_buf_init(&out, LINE_MAX_BYTES);
	st_buf_append(&out, framework.bytes, framework.size_bytes);
	st_buf_append_text(&out, framework.size_bytes ? ": " : "");
	st_buf_append_text(&out, level_words(source->level, turns.is_partial));
	if (turns.is_partial && source->level <= ST_OPERATORS_NAMES) {
		st_buf_append_text(&out, " ");
		st_operator_turns_words(&turns, &out);
	}
	st_operator_turns_fini(&turns);
	if (why.size_bytes) {
		st_buf_append_text(&out, "; ");
		st_buf_append(&out, why.bytes, why.size_bytes);
	}
	if (source->flags & ST_OPERATORS_UNTESTED)
		st_buf_append_text(&out, "; self-check passed, untested version");
	if (out.failed)
		arena->failed = true;
	line = st_arena_copy(arena, out.data, out.size_bytes);
	st_buf_fini(&out);
	return line;
}

const char *st_operators_empty(const struct st_result *result)
{
	uint32_t count;

	st_result_operator_sources(result, &count);
	if (count)
		return "This result has no operators: PyTorch was loaded but ran none.";
	if (st_quality_cannot_record(result))
		return "This result has no operators: a process could not be recorded; strata "
		       "report info shows which and why.";
	if (st_analysis_is_for(st_result_info(result)->type, ST_RECORDS_OPERATORS))
		return "This result has no operators: no process loaded PyTorch.";
	return "This result has no operators; use -collect operators to record those of PyTorch.";
}
