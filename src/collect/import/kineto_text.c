// SPDX-License-Identifier: Apache-2.0
//
// Members and events in the text of a trace (collect/import/kineto_text.h).
#include "collect/import/kineto_text.h"

#include <string.h>

struct scan {
	const char *begin, *at, *end;
};

static void skip_space(struct scan *scan)
{
	while (scan->at < scan->end &&
	       (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
		scan->at++;
}

static bool take(struct scan *scan, char wanted)
{
	skip_space(scan);
	if (scan->at == scan->end || *scan->at != wanted)
		return false;
	scan->at++;
	return true;
}

/* Behind the quote that ends a text whose first quote was passed; false: the text does not end. */
static bool skip_text(struct scan *scan)
{
	while (scan->at < scan->end) {
		char c = *scan->at++;

		if (c == '"')
			return true;
		if (c == '\\' && scan->at < scan->end)
			scan->at++;
	}
	return false;
}

/* A value of any depth, without recursion; false: it does not end. Whether brackets fit is for the parser to say. */
static bool skip_value(struct scan *scan, struct st_text *out)
{
	size_t depth = 0;

	skip_space(scan);
	out->bytes = scan->at;
	while (scan->at < scan->end) {
		char c = *scan->at;

		if (depth == 0 && (c == ',' || c == '}' || c == ']'))
			break;
		scan->at++;
		if (c == '"' && !skip_text(scan))
			return false;
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && --depth == 0)
			break;
	}
	out->size_bytes = (size_t)(scan->at - out->bytes);
	return depth == 0 && scan->at < scan->end;
}

static enum st_status refuse(const struct scan *scan, const char *what, struct st_error *err)
{
	return st_error_set(err, ST_ECORRUPT, 0, "%s at byte %zu", what,
			    (size_t)(scan->at - scan->begin));
}

struct walk {
	st_kineto_visit visit;
	void *arg;
	bool *torn;
};

static enum st_status walk_events(struct scan *scan, const struct walk *walk, struct st_error *err)
{
	enum st_status status = ST_OK;

	if (take(scan, ']'))
		return ST_OK;
	while (!status) {
		struct st_kineto_part part = {.is_event = true};

		if (!skip_value(scan, &part.value)) {
			*walk->torn = true;
			return ST_OK;
		}
		part.offset = (size_t)(part.value.bytes - scan->begin);
		if (!part.value.size_bytes)
			return refuse(scan, "an event is missing", err);
		status = walk->visit(walk->arg, &part, err);
		if (!status && take(scan, ']'))
			return ST_OK;
		if (!status && !take(scan, ',')) {
			*walk->torn = scan->at == scan->end;
			return *walk->torn ? ST_OK : refuse(scan, "',' or ']' expected", err);
		}
	}
	return status;
}

static enum st_status walk_member(struct scan *scan, const struct walk *walk, bool *has_events,
				  struct st_error *err)
{
	struct st_kineto_part part = {0};

	if (!take(scan, '"'))
		return refuse(scan, "the name of a member expected", err);
	part.key.bytes = scan->at;
	if (!skip_text(scan))
		return refuse(scan, "a text does not end", err);
	part.key.size_bytes = (size_t)(scan->at - 1 - part.key.bytes);
	if (!take(scan, ':'))
		return refuse(scan, "':' expected", err);
	if (st_text_equals(part.key, "traceEvents") && take(scan, '[')) {
		*has_events = true;
		return walk_events(scan, walk, err);
	}
	if (!skip_value(scan, &part.value))
		return refuse(scan, "the value of a member does not end", err);
	part.offset = (size_t)(part.value.bytes - scan->begin);
	return walk->visit(walk->arg, &part, err);
}

bool st_kineto_is_text(const char *bytes, size_t size_bytes)
{
	struct scan scan = {bytes, bytes, bytes + size_bytes};

	skip_space(&scan);
	return scan.at < scan.end && (*scan.at == '{' || *scan.at == '[');
}

enum st_status st_kineto_walk(struct st_text text, st_kineto_visit visit, void *arg, bool *torn,
			      struct st_error *err)
{
	struct scan scan = {text.bytes, text.bytes, text.bytes + text.size_bytes};
	const struct walk walk = {visit, arg, torn};
	enum st_status status = ST_OK;
	bool has_events = false;

	*torn = false;
	if (take(&scan, '['))
		return walk_events(&scan, &walk, err);
	if (!take(&scan, '{'))
		return refuse(&scan, "'{' or '[' expected", err);
	if (!take(&scan, '}')) {
		do
			status = walk_member(&scan, &walk, &has_events, err);
		while (!status && !*torn && take(&scan, ','));
		if (!status && !*torn && !take(&scan, '}'))
			return refuse(&scan, "',' or '}' expected", err);
	}
	if (!status && !*torn && !has_events)
		return st_error_set(err, ST_EUNSUPPORTED, 0,
				    "it has no \"traceEvents\": it is no trace of torch.profiler");
	return status;
}
