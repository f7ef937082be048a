// SPDX-License-Identifier: Apache-2.0
//
// Steps of an unmarked loop: the repeating pattern of the outermost operators of its thread. A step begins where the
// program asks its DataLoader for a batch, or where it calls its model, when these are known. Else the operator is
// looked for whose occurrences cut the sequence into the most alike pieces: all operators that occur once in each
// round do that equally well, those of an inner loop worse. All of these but a batch are a guess, and called so. The first of them in the first round that is repeated
// begins a step.
#include "analyze/steps/step_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/operators.h"

enum {
	ROUNDS_MIN = 3,
	WINDOW = 1
		 << 16, /* the newest operators: what came before the loop tells nothing about it */
	PERCENT_ALIKE = 50,
	PER_MILLE_EQUAL = 20, /* so much less is as good: the shorter piece wins */
	ANCHOR_MAX = 8,	      /* operators in a row that tell where a step begins */
	COUNTS_TRIED = 32,    /* rows of a step, where most have fewer */
	OPERATORS_MIN = 2,    /* in a step; one alone is a step to nobody */
	KIN_PART = 3,	      /* of the heaviest function's time, at least: 1 / 3 */
};

struct piece {
	uint64_t hash;
	uint32_t at, length;
};

struct finder {
	const struct st_step_rows *rows;
	struct st_arena arena;
	struct st_step_tokens tokens;
	uint32_t first;	  /* of the window */
	uint64_t *hashes; /* of the tokens before each, and of all */
	uint64_t *powers;
	uint32_t *next; /* by token of the window: its next occurrence, or 0 */
	uint32_t *head; /* by kind of token: first occurrence + 1 */
	uint32_t *last;
	struct piece *pieces;
	uint32_t kinds;
};

static const uint64_t hash_base = 0x9e3779b97f4a7c15ull;

static uint32_t token(const struct finder *finder, uint32_t at)
{
	return finder->tokens.token[finder->first + at];
}

static uint32_t window(const struct finder *finder)
{
	return finder->tokens.count - finder->first;
}

static uint64_t hash_of(const struct finder *finder, uint32_t begin, uint32_t end)
{
	return finder->hashes[end] - finder->hashes[begin] * finder->powers[end - begin];
}

/* One more than there are. */
static void *zeros(struct finder *finder, uint32_t count, size_t size_bytes)
{
	return st_arena_calloc(&finder->arena, (size_t)count + 1, size_bytes);
}

static bool prepare(struct finder *finder)
{
	uint32_t labels, signatures, count;

	st_result_labels(finder->rows->result, &labels);
	st_result_signatures(finder->rows->result, &signatures);
	finder->kinds = labels + signatures;
	finder->first = finder->tokens.count > WINDOW ? finder->tokens.count - WINDOW : 0;
	count = window(finder);
	finder->hashes = zeros(finder, count, sizeof(*finder->hashes));
	finder->powers = zeros(finder, count, sizeof(*finder->powers));
	finder->next = zeros(finder, count, sizeof(*finder->next));
	finder->pieces = zeros(finder, count, sizeof(*finder->pieces));
	finder->head = zeros(finder, finder->kinds, sizeof(*finder->head));
	finder->last = zeros(finder, finder->kinds, sizeof(*finder->last));
	if (finder->arena.failed)
		return false;
	finder->powers[0] = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind = token(finder, i);

		finder->powers[i + 1] = finder->powers[i] * hash_base;
		finder->hashes[i + 1] =
			finder->hashes[i] * hash_base + (kind + 1) * 0xff51afd7ed558ccdull;
		if (finder->head[kind])
			finder->next[finder->last[kind]] = i;
		else
			finder->head[kind] = i + 1;
		finder->last[kind] = i;
	}
	return true;
}

static int by_hash(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static const struct piece *most_frequent(const struct finder *finder, uint32_t count)
{
	const struct piece *pieces = finder->pieces, *found = NULL;
	uint64_t best = 0;

	for (uint32_t i = 0, from = 0; i < count; i++) {
		uint32_t times;

		if (pieces[i].hash != pieces[from].hash)
			from = i;
		times = i - from + 1;
		if (times + 1 >= ROUNDS_MIN && (uint64_t)times * pieces[i].length > best) {
			best = (uint64_t)times * pieces[i].length;
			found = &pieces[i];
		}
	}
	return found;
}

/* Of the pieces that a kind of token cuts: the length of the most frequent one, and how many tokens all hold that
 * are like it, or begin like it: now and then a round has something more to do. */
static uint64_t alike(struct finder *finder, uint32_t kind, uint32_t *length)
{
	uint32_t count = 0, at = finder->head[kind] - 1;
	const struct piece *usual;
	uint64_t sum = 0;

	*length = 0;
	for (uint32_t next = finder->next[at]; next; at = next, next = finder->next[at])
		finder->pieces[count++] = (struct piece){hash_of(finder, at, next), at, next - at};
	qsort(finder->pieces, count, sizeof(*finder->pieces), by_hash);
	usual = most_frequent(finder, count);
	if (!usual)
		return 0;
	*length = usual->length;
	/* Nothing ends the last one. */
	if (at + usual->length <= window(finder) &&
	    hash_of(finder, at, at + usual->length) == usual->hash)
		sum += usual->length;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = finder->pieces[i].at;

		if (finder->pieces[i].length >= usual->length &&
		    hash_of(finder, from, from + usual->length) == usual->hash)
			sum += usual->length;
	}
	return sum;
}

/* How many operators a round has; 0: nothing is repeated. The longest that leaves nothing out: the layers of a model are
 * repeated too, but for what comes before and behind them. Two rounds are no longer one. */
static uint32_t find_length(struct finder *finder)
{
	uint64_t best = 0, margin;
	uint32_t length = 0, longest = 0, found;

	for (uint32_t kind = 0; kind < finder->kinds; kind++) {
		uint64_t tokens = finder->head[kind] ? alike(finder, kind, &length) : 0;

		if (length >= OPERATORS_MIN && tokens > best) {
			best = tokens;
			longest = length;
		}
	}
	if (!best || best * 100 < (uint64_t)window(finder) * PERCENT_ALIKE)
		return 0;
	margin = best * PER_MILLE_EQUAL / 1000;
	found = longest;
	for (uint32_t kind = 0; kind < finder->kinds; kind++) {
		uint64_t tokens = finder->head[kind] ? alike(finder, kind, &length) : 0;

		if (length >= OPERATORS_MIN && tokens + margin >= best && length < found &&
		    longest % length == 0)
			found = length;
	}
	return found;
}

/* Whether a name is that of an operator that makes or fills a tensor: the parameters of a model are made one after the
 * other, and that is no loop of steps. */
static bool is_making(struct st_text name)
{
	static const char *const makers[] = {
		"aten::empty",	"aten::zeros",	"aten::ones", "aten::full",	"aten::rand",
		"aten::detach", "detach",	"aten::to",   "aten::_to_copy", "aten::clone",
		"aten::lift",	"aten::arange", "aten::set_", "aten::view",	"aten::t"};

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (st_text_begins(name, makers[i]))
			return true;
	return name.size_bytes && name.bytes[name.size_bytes - 1] == '_';
}

static bool is_work(const struct finder *finder, uint32_t where, uint32_t length)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(finder->rows->result, &count);
	const struct st_slices *slices = finder->rows->slices;
	uint64_t all_ns = 0, making_ns = 0;

	for (uint32_t i = where; i < where + length && i < finder->tokens.count; i++) {
		uint32_t row = finder->tokens.row[i];
		uint64_t ns = (uint64_t)(slices->end_ns[row] - slices->begin_ns[row]);

		all_ns += ns;
		if (is_making(
			    st_result_text(finder->rows->result, labels[slices->label[row]].name)))
			making_ns += ns;
	}
	return making_ns < all_ns / 2;
}

/* Whether a few operators in a row occur once in the round that they begin in. */
static bool is_once(const struct finder *finder, uint32_t at, uint32_t size, uint32_t length)
{
	uint64_t hash = hash_of(finder, at, at + size);

	for (uint32_t i = 1; i < length; i++)
		if (hash_of(finder, at + i, at + i + size) == hash)
			return false;
	return true;
}

/* Where operators stand that begin a step, and how many of them tell it; 0: nowhere. */
static uint32_t find_anchor(const struct finder *finder, uint32_t length, uint32_t *where)
{
	uint32_t count = window(finder), tried = 0;

	for (uint32_t begin = 0; begin + 2 * length <= count && tried < length; begin++) {
		if (hash_of(finder, begin, begin + length) !=
		    hash_of(finder, begin + length, begin + 2 * length))
			continue;
		tried++;
		*where = finder->first + begin;
		for (uint32_t size = 1; size <= length && size <= ANCHOR_MAX; size++)
			if (is_once(finder, begin, size, length))
				return size;
	}
	return 0;
}

static int64_t begin_of(const struct finder *finder, uint32_t at)
{
	return finder->rows->slices->begin_ns[finder->tokens.row[at]];
}

static int64_t end_of(const struct finder *finder, uint32_t at)
{
	return finder->rows->slices->end_ns[finder->tokens.row[at]];
}

/* Two loops of one sort, by functions of their own: what lies between them is no part of a step. */
static bool is_other_loop(const struct finder *finder, uint32_t at, uint32_t next)
{
	const struct st_slices *slices = finder->rows->slices;
	const uint32_t *row = finder->tokens.row;

	return st_step_row_is(finder->rows, row[at], ST_STEP_LABEL_FUNCTION) &&
	       slices->label[row[at]] != slices->label[row[next]];
}

/* A step from each anchor to the next one; the last, which nothing ends, has as many operators as a round (length; 0:
 * all that are left). An anchor may be a step alone only in rounds of one: else it is a DataLoader that says so that it
 * has no more. */
static bool cut(const struct finder *finder, struct st_step_list *list, const uint8_t *is_anchor,
		uint32_t length)
{
	const struct st_step_tokens *tokens = &finder->tokens;
	uint32_t count, number = 0, last = UINT32_MAX;
	const struct st_slices *slices = finder->rows->slices;

	for (uint32_t at = 0; at < tokens->count; at += count) {
		struct st_one_step step = {.slice = ST_NO_ROW, .begin_ns = begin_of(finder, at)};

		count = 1;
		if (!is_anchor[at])
			continue;
		while (at + count < tokens->count && !is_anchor[at + count])
			count++;
		if (count == 1 && length != 1)
			continue;
		step.track = slices->track[tokens->row[at]];
		step.number = number++;
		step.begins_loop = last != UINT32_MAX && is_other_loop(finder, last, at);
		last = at;
		if (at + count < tokens->count && !is_other_loop(finder, at, at + count))
			step.end_ns = begin_of(finder, at + count);
		else if (length > 1 && count > length)
			step.end_ns = end_of(finder, at + length - 1);
		else
			step.end_ns = end_of(finder, at + count - 1);
		if (!ST_VEC_PUSH(list->steps, list->count, list->capacity, step))
			return false;
	}
	return true;
}

/* Anchors are what looks like some tokens in a row. False when memory is out. */
static bool cut_at(struct finder *finder, struct st_step_list *list, const uint32_t *like,
		   uint32_t size, uint32_t length)
{
	const struct st_step_tokens *tokens = &finder->tokens;
	uint8_t *is_anchor = zeros(finder, tokens->count, 1);

	if (!is_anchor)
		return false;
	for (uint32_t i = 0; i + size <= tokens->count; i++)
		is_anchor[i] = memcmp(tokens->token + i, like, size * sizeof(*like)) == 0;
	return cut(finder, list, is_anchor, length);
}

/* The label with most time among the outermost rows of a sort; occurs at least as often as a loop does. */
static uint32_t heaviest(struct finder *finder, enum st_step_label sort, uint64_t *out_ns)
{
	const struct st_slices *slices = finder->rows->slices;
	uint64_t *ns = zeros(finder, finder->kinds, sizeof(*ns));
	uint32_t *counts = zeros(finder, finder->kinds, sizeof(*counts));
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; ns && counts && i < finder->tokens.count; i++) {
		uint32_t row = finder->tokens.row[i], label = slices->label[row];

		if (!st_step_row_is(finder->rows, row, sort))
			continue;
		ns[label] += (uint64_t)(slices->end_ns[row] - slices->begin_ns[row]);
		counts[label]++;
	}
	for (uint32_t label = 0; ns && counts && label < finder->kinds; label++)
		if (counts[label] >= ROUNDS_MIN && (best == UINT32_MAX || ns[label] > ns[best]))
			best = label;
	*out_ns = best == UINT32_MAX ? 0 : ns[best];
	return best;
}

static uint64_t operators_ns(const struct finder *finder)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < finder->tokens.count; i++)
		sum += (uint64_t)(end_of(finder, i) - begin_of(finder, i));
	return sum;
}

static void name(struct st_step_list *list, const struct finder *finder, uint32_t label,
		 enum st_step_source source)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(finder->rows->result, &count);

	list->source = source;
	if (label < count)
		list->what = st_result_text(finder->rows->result, labels[label].name);
}

/* Ends steps that have more rows than most do where those would. */
static bool trim(const struct finder *finder, struct st_step_list *list, uint32_t first,
		 uint32_t kind, uint32_t length)
{
	const struct st_step_tokens *tokens = &finder->tokens;

	for (uint32_t i = 0, step = first; i < tokens->count && step < list->count; i++) {
		uint32_t end = i + length;

		if (tokens->token[i] != kind)
			continue;
		if (end < tokens->count && begin_of(finder, end) < list->steps[step].end_ns)
			list->steps[step].end_ns = begin_of(finder, end);
		step++;
	}
	return true;
}

/* How many outermost rows most steps have that such a row begins. */
static uint32_t usual_count(const struct finder *finder, uint32_t kind)
{
	const struct st_step_tokens *tokens = &finder->tokens;
	uint32_t times[COUNTS_TRIED + 1] = {0}, last = UINT32_MAX, best = 0;

	for (uint32_t i = 0; i < tokens->count; i++) {
		if (tokens->token[i] != kind)
			continue;
		if (last != UINT32_MAX)
			times[i - last < COUNTS_TRIED ? i - last : COUNTS_TRIED]++;
		last = i;
	}
	for (uint32_t i = 1; i <= COUNTS_TRIED; i++)
		if (times[i] > times[best])
			best = i;
	return best ? best : 1;
}

/* Without the number that tells functions of one name apart: "train (2)". */
static struct st_text plain_name(const struct finder *finder, uint32_t label)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(finder->rows->result, &count);
	struct st_text text = {"", 0};
	size_t size;

	if (label < count)
		text = st_result_text(finder->rows->result, labels[label].name);
	size = text.size_bytes;
	if (!size || text.bytes[size - 1] != ')')
		return text;
	for (size--; size && text.bytes[size - 1] >= '0' && text.bytes[size - 1] <= '9';)
		size--;
	if (size > 2 && text.bytes[size - 1] == '(' && text.bytes[size - 2] == ' ')
		text.size_bytes = size - 2;
	return text;
}

/* A program may train several models, one after the other, each by a function of its own with the same name. Those with as
 * much as a third of the time of the heaviest are steps as well; what has less evaluates. How many there are. */
static uint32_t join_kin(struct finder *finder, uint32_t kind, uint64_t *ns)
{
	const struct st_slices *slices = finder->rows->slices;
	struct st_text wanted = plain_name(finder, kind);
	uint64_t *of_label = zeros(finder, finder->kinds, sizeof(*of_label));
	uint64_t least = *ns / KIN_PART;
	uint32_t joined = 0;

	for (uint32_t i = 0; of_label && i < finder->tokens.count; i++) {
		uint32_t row = finder->tokens.row[i];

		if (st_step_row_is(finder->rows, row, ST_STEP_LABEL_FUNCTION))
			of_label[slices->label[row]] +=
				(uint64_t)(slices->end_ns[row] - slices->begin_ns[row]);
	}
	for (uint32_t label = 0; of_label && label < finder->kinds; label++) {
		struct st_text text = plain_name(finder, label);

		if (label == kind || of_label[label] < least || !of_label[label] ||
		    text.size_bytes != wanted.size_bytes ||
		    memcmp(text.bytes, wanted.bytes, wanted.size_bytes) != 0)
			continue;
		*ns += of_label[label];
		joined++;
		for (uint32_t i = 0; i < finder->tokens.count; i++)
			if (slices->label[finder->tokens.row[i]] == label)
				finder->tokens.token[i] = kind;
	}
	return joined;
}

static bool find_in(struct finder *finder, struct st_step_list *list)
{
	uint64_t ns, all_ns = operators_ns(finder);
	uint32_t kind = heaviest(finder, ST_STEP_LABEL_FUNCTION, &ns), kin = 0;

	if (kind != UINT32_MAX)
		kin = join_kin(finder, kind, &ns);
	if (kind != UINT32_MAX && ns >= all_ns / 2) {
		uint32_t first = list->count, length = usual_count(finder, kind);

		name(list, finder, kind, ST_STEPS_FUNCTION);
		if (kin)
			list->what = plain_name(finder, kind);
		if (!cut_at(finder, list, &kind, 1, 1))
			return false;
		/* Other functions behind it, as those that evaluate after an epoch, are no part of the last one. */
		return trim(finder, list, first, kind, length);
	}
	kind = heaviest(finder, ST_STEP_LABEL_DATA, &ns);
	if (kind != UINT32_MAX) {
		name(list, finder, kind, ST_STEPS_DATA);
		return cut_at(finder, list, &kind, 1, 0);
	}
	kind = heaviest(finder, ST_STEP_LABEL_MODULE, &ns);
	if (kind != UINT32_MAX && ns >= all_ns / 2) {
		name(list, finder, kind, ST_STEPS_MODULE);
		return cut_at(finder, list, &kind, 1, 1);
	}
	return true;
}

static bool repeat_in(struct finder *finder, struct st_step_list *list)
{
	uint32_t length, size, where = 0;

	if (!prepare(finder))
		return false;
	length = find_length(finder);
	size = length ? find_anchor(finder, length, &where) : 0;
	if (!size || !is_work(finder, where, length))
		return true;
	name(list, finder, finder->rows->slices->label[finder->tokens.row[where]],
	     ST_STEPS_PATTERN);
	return cut_at(finder, list, finder->tokens.token + where, size, length);
}

/* The thread that spent most time in operators. */
static uint32_t busiest(const struct st_step_rows *rows)
{
	uint32_t count, best = UINT32_MAX;
	const struct st_track *tracks = st_result_tracks(rows->result, &count);
	uint64_t best_ns = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t ns = 0;

		for (uint32_t row = tracks[i].row_begin; row < tracks[i].row_end; row++)
			if (st_step_row_is_outermost(rows, row))
				ns += (uint64_t)(rows->slices->end_ns[row] -
						 rows->slices->begin_ns[row]);
		if (ns > best_ns) {
			best_ns = ns;
			best = i;
		}
	}
	return best;
}

bool st_step_pattern_find(struct st_step_list *list, const struct st_step_rows *rows)
{
	uint32_t track = busiest(rows), labels;
	bool done = true;

	if (track == UINT32_MAX)
		return true;
	st_result_labels(rows->result, &labels);
	/* Inputs tell layers of one kind apart; where they are never the same twice, names must do. */
	for (unsigned int round = 0; round < 3 && done && !list->count; round++) {
		struct finder finder = {.rows = rows, .kinds = labels};

		st_arena_init(&finder.arena, SIZE_MAX / 2);
		done = st_step_tokens_init(&finder.tokens, rows, track, round == 1,
					   &finder.arena) &&
		       (round ? repeat_in : find_in)(&finder, list);
		st_arena_fini(&finder.arena);
	}
	return done;
}
