/* SPDX-License-Identifier: Apache-2.0
 *
 * Knobs of operators. They may come in any order, so that what they need of each other is tested when all are
 * read.
 */
#include "cli/knobs_operators.h"

#include <stddef.h>
#include <string.h>

#include "cli/knobs_sampling.h"

/* Where a program has no PyTorch nothing is recorded in either case: auto is for those who cannot know. */
enum st_status st_knob_collect_operators(const char *option, const char *value,
					 struct st_collect_config *config, struct st_error *err)
{
	if (strcmp(value, "auto") == 0 || strcmp(value, "true") == 0)
		config->operators.on = ST_CHOICE_ON;
	else if (strcmp(value, "false") == 0)
		config->operators.on = ST_CHOICE_OFF;
	else
		return st_error_set(err, ST_EUSAGE, 0,
				    "-%s: expected true, false or auto; not '%.60s'", option,
				    value);
	return ST_OK;
}

enum st_status st_knob_operator_shapes(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err)
{
	return st_knob_truth(option, value, &config->operators.shapes, err);
}

enum st_status st_knob_operator_memory(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err)
{
	return st_knob_truth(option, value, &config->operators.memory, err);
}

enum st_status st_knob_operator_modules(const char *option, const char *value,
					struct st_collect_config *config, struct st_error *err)
{
	return st_knob_truth(option, value, &config->operators.modules, err);
}

enum st_status st_knob_operator_stacks(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err)
{
	return st_knob_truth(option, value, &config->operators.stacks, err);
}

enum st_status st_knobs_operators_check(const struct st_operators_config *operators,
					struct st_error *err)
{
	const struct {
		const char *name;
		enum st_choice choice;
	} parts[] = {
		{"operator-shapes", operators->shapes},
		{"operator-memory", operators->memory},
		{"operator-modules", operators->modules},
		{"operator-stacks", operators->stacks},
	};

	if (operators->is_type && operators->on == ST_CHOICE_OFF)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-knob collect-operators=false leaves nothing to 'operators': "
				    "use -collect tasks");
	if (operators->on != ST_CHOICE_OFF)
		return ST_OK;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].choice == ST_CHOICE_ON)
			return st_error_set(
				err, ST_EUSAGE, 0,
				"-knob %s has no effect with -knob collect-operators=false",
				parts[i].name);
	}
	return ST_OK;
}
