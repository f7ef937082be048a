/* SPDX-License-Identifier: Apache-2.0
 *
 * Flame graphs for a page: the tree of one result, or of two laid over each other by the names along each path, cut to
 * what can be seen, as columns of JSON.
 */
#ifndef ST_ANALYZE_STACKS_FLAME_COLUMNS_H
#define ST_ANALYZE_STACKS_FLAME_COLUMNS_H

#include "analyze/datasets/dataset_parts.h"
#include "analyze/stacks/flame_tree.h"

struct st_json;

enum { ST_FLAME_SIDES = 2, ST_FLAME_COLUMNS_MAX = 50000, ST_FLAME_ROOT_MAX = 4096 };

struct st_flame_cell {
	uint32_t parent;
	uint32_t name, place; /* keys of texts; place: module or file */
	uint32_t kind;	      /* enum st_flame_kind */
	uint64_t self_ns[ST_FLAME_SIDES], total_ns[ST_FLAME_SIDES];
	uint32_t samples[ST_FLAME_SIDES];
	uint32_t first_child, child_count; /* into children */
	uint32_t size;			   /* cells below it, itself included */
};

/* Zeroed: nothing. Cell 0 is everything. */
struct st_flames {
	unsigned int sides;
	struct st_key_texts texts;
	struct st_flame_cell *cells;
	uint32_t count, capacity;
	struct st_key_table places; /* cell - 1 by parent, kind and name */
	uint32_t *children;	    /* largest first */
	struct st_arena arena;	    /* of texts */
	uint64_t kind_ns[ST_FLAME_KINDS][ST_FLAME_SIDES];
};

/* Empty, then each tree on its side, which may be gone afterwards, then finish. Fini is due also after a failure. */
enum st_status st_flames_init(struct st_flames *out, unsigned int sides, struct st_error *err);
enum st_status st_flames_add(struct st_flames *flames, const struct st_flame_tree *tree,
			     unsigned int side, struct st_error *err);
enum st_status st_flames_finish(struct st_flames *flames, struct st_error *err);
void st_flames_fini(struct st_flames *flames);

struct st_flames_ask {
	double min_ratio; /* cells with less of the whole, on both sides, are folded into their parent */
	uint32_t max_depth;	 /* below the root; 0: any */
	const char *const *root; /* names from the outermost in: only what is below them */
	uint32_t root_count;
};
/* Members of an object that is open. ST_ENOTFOUND: there is no such root. */
enum st_status st_flames_json(const struct st_flames *flames, const struct st_flames_ask *ask,
			      struct st_json *json, struct st_error *err);
/* "python", "native" … as the kinds of columns are numbered. */
extern const char *const st_flame_kind_words[ST_FLAME_KINDS];

#endif
