/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the operators of a result, one line each, as the store gives them:
 *
 *	list_operators RESULT
 *
 *	source LEVEL FLAGS FRAMEWORK|WHY
 *	op PID TID SCOPE SEQUENCE ALLOCATED FREED DEPTH INPUTS NAME
 *	memory TID ALLOCATED FREED
 *
 * INPUTS: one per input, joined by ';' and without spaces: "float[2,3]", "()" for what is no tensor, "#" for a number,
 * "none" for no tensor, "-" for no inputs known.
 */
#include <inttypes.h>
#include <stdio.h>

#include "store/operators.h"
#include "store/result.h"

static void print_inputs(const struct st_signature *signature)
{
	struct st_input_reader reader;
	struct st_input input;

	if (!(signature->flags & ST_SIGNATURE_INPUTS)) {
		printf("-");
		return;
	}
	printf("%s", signature->flags & ST_SIGNATURE_CUT ? "cut" : "");
	st_input_begin(&reader, signature);
	while (st_input_next(&reader, &input)) {
		static const char *const texts[] = {"()", "", "list", "none", "#"};

		printf("%s", texts[input.kind]);
		if (input.kind == ST_INPUT_TENSOR) {
			for (const char *at = st_dtype_name(input.dtype); *at; at++)
				putchar(*at == ' ' ? '_' : *at);
			putchar('[');
			for (uint32_t i = 0; i < input.dimension_count; i++)
				printf("%s%" PRId64, i ? "," : "", input.sizes[i]);
			putchar(']');
		}
		putchar(';');
	}
}

static void print_operator(const struct st_result *result, const struct st_operator *operator,
			   const struct st_signature * signatures)
{
	const struct st_slices *slices = st_result_slices(result);
	const struct st_signature *signature = &signatures[operator->signature];
	uint32_t count;
	const struct st_track *track =
		&st_result_tracks(result, &count)[slices->track[operator->row]];
	const struct st_process *process = &st_result_processes(result, &count)[track->process];

	printf("op %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " %" PRIu64 " %" PRIu64
	       " %" PRIu16 " ",
	       process->pid, track->tid, signature->scope, operator->sequence, operator->allocated,
	       operator->freed, slices->depth[operator->row]);
	print_inputs(signature);
	printf(" %s\n", st_result_text(result, signature->name).bytes);
}

int main(int argc, char **argv)
{
	const struct st_result_options options = {0};
	const struct st_operator_source *sources;
	const struct st_memory_moment *moments;
	const struct st_signature *signatures;
	const struct st_operator *operators;
	struct st_result *result;
	struct st_error error = {0};
	uint32_t count, signature_count;

	if (argc != 2 || st_result_open(&result, argv[1], &options, &error))
		return 1;
	sources = st_result_operator_sources(result, &count);
	for (uint32_t i = 0; i < count; i++)
		printf("source %" PRIu32 " %" PRIu32 " %s|%s\n", sources[i].level, sources[i].flags,
		       st_result_text(result, sources[i].framework).bytes,
		       st_result_text(result, sources[i].why).bytes);
	signatures = st_result_signatures(result, &signature_count);
	operators = st_result_operators(result, &count);
	for (uint32_t i = 0; i < count; i++)
		if (operators[i].signature < signature_count)
			print_operator(result, &operators[i], signatures);
	moments = st_result_memory(result, &count);
	for (uint32_t i = 0; i < count; i++)
		printf("memory %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", moments[i].track,
		       moments[i].allocated, moments[i].freed);
	st_result_close(result);
	return 0;
}
