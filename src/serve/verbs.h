/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of verbs: what a worker process can be asked about the result that it holds open. A verb translates one
 * JSON object into a question to the engine and the answer into bytes; it computes nothing of its own.
 */
#ifndef ST_SERVE_VERBS_H
#define ST_SERVE_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct json_object;
struct st_buf;
struct st_result;
struct st_serve_kept;

/* Each lane of a result has a worker of its own, so that a long table does not hold up the timeline. */
enum st_serve_lane { ST_LANE_TABLES, ST_LANE_QUICK, ST_LANES };

struct st_verb_call {
	struct st_result *result;	/* the first of results */
	struct st_result **results;	/* of a comparison all of them, else one */
	const char *const *paths;	/* as they were opened, one for each */
	uint32_t counts[2];		/* of a comparison: how many on each side; else 1 and 0 */
	const struct json_object *ask;	/* the body of the request: always an object */
	const char *const *source_dirs; /* folders to search for source files; ends with NULL */
	/* What the verb keeps from one request to the next, such as built reports; st_serve_keep. Never NULL. */
	struct st_serve_kept *kept;
	void (*progress)(void *arg, double fraction, const char *what); /* never NULL */
	void *progress_arg;
	/* Set by the verb. */
	struct st_buf *out;	/* the answer; empty at first */
	int file_fd;		/* instead of out: an open file that is the answer; -1 at first */
	const char *media_type; /* application/json unless the verb says otherwise; static */
	char file_name[128];	/* the browser saves the answer under this name; "": it does not */
};

struct st_serve_verb {
	const char *name;
	enum st_serve_lane lane;
	bool compares; /* may be asked about several results at once */
	enum st_status (*answer)(struct st_verb_call *call, struct st_error *err);
};
extern const struct st_serve_verb st_serve_verbs[]; /* ends with a NULL name */
const struct st_serve_verb *st_serve_verb_find(const char *name);

/* Members of a request, checked. Absent: *out stays as it is and it is ST_OK, unless must. ST_EUSAGE names the member. */
enum st_status st_ask_text(const struct st_verb_call *call, const char *key, bool must,
			   const char **out, struct st_error *err);
enum st_status st_ask_i64(const struct st_verb_call *call, const char *key, bool must, int64_t *out,
			  struct st_error *err);
enum st_status st_ask_truth(const struct st_verb_call *call, const char *key, bool *out,
			    struct st_error *err);
/* A list of texts: an array of borrowed pointers that ends with NULL, the caller's to free; none: an empty one. */
enum st_status st_ask_texts(const struct st_verb_call *call, const char *key, const char ***out,
			    size_t *count, struct st_error *err);
/* A list of whole numbers, 0 … UINT32_MAX; the caller's to free. */
enum st_status st_ask_numbers(const struct st_verb_call *call, const char *key, size_t max,
			      uint32_t **out, size_t *count, struct st_error *err);

/* A place in a worker for one thing that a verb wants to find again in its next request, such as an index of its own:
 * *out is what was put there under the name, or NULL; end is called when the result is closed. False: no room. */
typedef void (*st_serve_end_fn)(void *thing);
void *st_serve_kept_get(struct st_serve_kept *kept, const char *name);
bool st_serve_kept_put(struct st_serve_kept *kept, const char *name, void *thing,
		       st_serve_end_fn end);
struct st_serve_kept *st_serve_kept_create(void);
void st_serve_kept_destroy(struct st_serve_kept *kept);

#endif
