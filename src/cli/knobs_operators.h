/* SPDX-License-Identifier: Apache-2.0
 *
 * Knobs of operators of a framework.
 */
#ifndef ST_CLI_KNOBS_OPERATORS_H
#define ST_CLI_KNOBS_OPERATORS_H

#include "collect/launch/run/collect.h"

enum st_status st_knob_collect_operators(const char *option, const char *value,
					 struct st_collect_config *config, struct st_error *err);
enum st_status st_knob_operator_shapes(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err);
enum st_status st_knob_operator_memory(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err);
enum st_status st_knob_operator_modules(const char *option, const char *value,
					struct st_collect_config *config, struct st_error *err);
enum st_status st_knob_operator_stacks(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err);

/* When all knobs are read: refuses what would have no effect. */
enum st_status st_knobs_operators_check(const struct st_operators_config *operators,
					struct st_error *err);

#endif
