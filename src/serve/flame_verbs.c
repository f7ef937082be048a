/* SPDX-License-Identifier: Apache-2.0
 *
 * Flame graphs by the words of "strata export flamegraph". The last trees are kept: to look into a branch, or at a finer
 * part, asks for the same one again.
 */
#include "serve/flame_verbs.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/sample_set.h"
#include "analyze/stacks/flame_columns.h"
#include "analyze/stacks/flame_time.h"
#include "analyze/timeline/histogram.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "serve/question_words.h"
#include "serve/verbs.h"

enum { KEPT_FLAMES = 4 };
#define MIN_RATIO_USUAL 0.0002

struct kept_flames {
	struct kept_flame {
		char *key;
		struct st_flames flames;
		uint64_t used;
	} items[KEPT_FLAMES];
	uint64_t clock;
};

static void flame_fini(struct kept_flame *flame)
{
	free(flame->key);
	st_flames_fini(&flame->flames);
	*flame = (struct kept_flame){0};
}

static void end_flames(void *thing)
{
	struct kept_flames *kept = thing;

	for (size_t i = 0; i < KEPT_FLAMES; i++)
		if (kept->items[i].key)
			flame_fini(&kept->items[i]);
	free(kept);
}

static struct kept_flames *flames_of(struct st_verb_call *call)
{
	struct kept_flames *kept = st_serve_kept_get(call->kept, "flames");

	if (kept)
		return kept;
	kept = calloc(1, sizeof(*kept));
	if (kept && !st_serve_kept_put(call->kept, "flames", kept, end_flames)) {
		free(kept);
		kept = NULL;
	}
	return kept;
}

/* The frames of the reports on the same page, not those of a file for another tool, so that a function has the same time
 * in both; without what lies between functions, unless all frames are asked for. One result may have no samples, and its graph is empty; a comparison with nothing would show everything as gone, and an order of time
 * has to begin somewhere: these need some. */
static enum st_status open_stacks(struct st_stacks *out, const struct st_result *result,
				  const struct st_words *words, bool needed, struct st_error *err)
{
	const struct st_report_options *options = &words->request.options;
	struct st_sample_view view = options->view;

	st_sample_view_complete(&view, result);
	view.folds_glue = view.call_stack_mode != ST_STACK_ALL;
	return (needed ? st_stacks_need : st_stacks_init)(out, result, &options->question, &view,
							  err);
}

enum { SIDE_B = 1, REVERSE = 2, COMPARES = 4 };

/* The tree of one result on its side. */
static enum st_status add_result(struct st_flames *flames, const struct st_result *result,
				 const struct st_words *words, unsigned int how,
				 struct st_error *err)
{
	struct st_stacks stacks;
	struct st_flame_tree tree = {0};
	enum st_status status = open_stacks(&stacks, result, words, how & COMPARES, err);

	if (!status && stacks.row_count)
		status = st_flame_tree_make(&tree, &stacks, how & REVERSE, err);
	if (!status && stacks.row_count)
		status = st_flames_add(flames, &tree, how & SIDE_B, err);
	st_flame_tree_fini(&tree);
	st_stacks_fini(&stacks);
	return status;
}

static enum st_status make_flames(struct st_verb_call *call, const struct st_words *words,
				  bool reverse, struct st_flames *out, struct st_error *err)
{
	uint32_t count = call->counts[0] + call->counts[1];
	enum st_status status = st_flames_init(out, call->counts[1] ? 2 : 1, err);

	for (uint32_t i = 0; i < count && !status; i++) {
		call->progress(call->progress_arg, (double)i / count, "adding up stacks");
		status =
			add_result(out, call->results[i], words,
				   (i >= call->counts[0] ? SIDE_B : 0u) | (reverse ? REVERSE : 0u) |
					   (call->counts[1] ? COMPARES : 0u),
				   err);
	}
	return status ? status : st_flames_finish(out, err);
}

static char *key_of(const struct st_words *words, bool reverse)
{
	struct st_buf key;

	st_buf_init(&key, 1 << 20);
	st_buf_append_u8(&key, reverse ? 'r' : 'f');
	for (size_t i = 0; i < words->count; i++) {
		st_buf_append_text(&key, words->argv[i]);
		st_buf_append_u8(&key, '\n');
	}
	if (!st_buf_append_u8(&key, 0)) {
		st_buf_fini(&key);
		return NULL;
	}
	return (char *)key.data;
}

/* The same tree again, or a new one in place of the one that was not used for longest. */
static enum st_status find_flames(struct st_verb_call *call, const struct st_words *words,
				  bool reverse, const struct st_flames **out, struct st_error *err)
{
	struct kept_flames *kept = flames_of(call);
	char *key = kept ? key_of(words, reverse) : NULL;
	struct kept_flame *place = kept ? &kept->items[0] : NULL;
	enum st_status status;

	if (!key)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	kept->clock++;
	for (size_t i = 0; i < KEPT_FLAMES; i++) {
		struct kept_flame *item = &kept->items[i];

		if (item->key && strcmp(item->key, key) == 0) {
			free(key);
			item->used = kept->clock;
			*out = &item->flames;
			return ST_OK;
		}
		if (item->used < place->used)
			place = item;
	}
	flame_fini(place);
	status = make_flames(call, words, reverse, &place->flames, err);
	place->key = key;
	place->used = kept->clock;
	if (status)
		flame_fini(place);
	*out = &place->flames;
	return status;
}

static enum st_status read_ratio(const struct st_verb_call *call, double *out, struct st_error *err)
{
	json_object *value = NULL;

	json_object_object_get_ex(call->ask, "min_ratio", &value);
	if (!value)
		return ST_OK;
	if (!json_object_is_type(value, json_type_double) &&
	    !json_object_is_type(value, json_type_int))
		return st_error_set(err, ST_EUSAGE, 0, "'min_ratio': expected a number");
	*out = json_object_get_double(value);
	return ST_OK;
}

/* root is the caller's to free, also after a failure. */
static enum st_status read_ask(const struct st_verb_call *call, struct st_flames_ask *ask,
			       const char ***root, struct st_error *err)
{
	int64_t depth = 0;
	size_t count = 0;
	enum st_status status = read_ratio(call, &ask->min_ratio, err);

	if (!status)
		status = st_ask_i64(call, "max_depth", false, &depth, err);
	if (!status && (depth < 0 || depth > UINT32_MAX))
		status = st_error_set(err, ST_EUSAGE, 0, "'max_depth': expected 0 or more");
	if (!status)
		status = st_ask_texts(call, "root", root, &count, err);
	if (!status && count > ST_FLAME_ROOT_MAX)
		status = st_error_set(err, ST_EUSAGE, 0, "'root': at most %d names",
				      ST_FLAME_ROOT_MAX);
	ask->max_depth = (uint32_t)depth;
	ask->root = *root;
	ask->root_count = (uint32_t)count;
	return status;
}

static enum st_status write_timed(struct st_verb_call *call, const struct st_words *words,
				  double min_ratio, struct st_json *json, struct st_error *err)
{
	struct st_stacks stacks;
	enum st_status status = open_stacks(&stacks, call->result, words, true, err);

	if (!status)
		status = st_flame_time_json(&stacks, min_ratio, json, err);
	st_stacks_fini(&stacks);
	return status;
}

static enum st_status write_flame(struct st_verb_call *call, const struct st_words *words,
				  const struct st_flames_ask *ask, struct st_error *err)
{
	const char *order = "left-heavy";
	const struct st_flames *flames = NULL;
	bool reverse = false;
	struct st_json json;
	enum st_status status = st_ask_truth(call, "reverse", &reverse, err);

	if (!status)
		status = st_ask_text(call, "order", false, &order, err);
	if (!status && strcmp(order, "left-heavy") != 0 && strcmp(order, "time") != 0)
		status = st_error_set(err, ST_EUSAGE, 0, "'order': expected left-heavy or time");
	if (!status && call->counts[1] && strcmp(order, "time") == 0)
		status = st_error_set(err, ST_EUSAGE, 0,
				      "two results have no common time: 'order' left-heavy only");
	if (status)
		return status;
	st_json_init(&json, call->out);
	st_json_object_begin(&json);
	if (strcmp(order, "time") == 0) {
		status = write_timed(call, words, ask->min_ratio, &json, err);
	} else {
		status = find_flames(call, words, reverse, &flames, err);
		if (!status)
			status = st_flames_json(flames, ask, &json, err);
	}
	st_json_object_end(&json);
	return status;
}

enum st_status st_verb_flame(struct st_verb_call *call, struct st_error *err)
{
	struct st_flames_ask ask = {.min_ratio = MIN_RATIO_USUAL};
	struct st_words words = {0};
	const char **root = NULL;
	enum st_status status = read_ask(call, &ask, &root, err);

	if (!status)
		status = st_question_words(&words, call, "export", "flamegraph", err);
	if (!status)
		status = write_flame(call, &words, &ask, err);
	free(root);
	st_words_fini(&words);
	return status;
}

enum st_status st_verb_histogram(struct st_verb_call *call, struct st_error *err)
{
	struct st_words words = {0};
	struct st_json json;
	int64_t bins = ST_HISTOGRAM_BINS_USUAL;
	enum st_status status = st_ask_i64(call, "bins", false, &bins, err);

	if (!status && (bins < 1 || bins > ST_HISTOGRAM_BINS_MAX))
		status = st_error_set(err, ST_EUSAGE, 0, "'bins': expected 1 to %d",
				      ST_HISTOGRAM_BINS_MAX);
	if (!status)
		status = st_question_words(&words, call, "report", "tasks", err);
	if (!status) {
		st_json_init(&json, call->out);
		st_json_object_begin(&json);
		status = st_histogram_json(call->result, &words.request.options.question,
					   (uint32_t)bins, &json, err);
		st_json_object_end(&json);
	}
	st_words_fini(&words);
	return status;
}
