/* SPDX-License-Identifier: Apache-2.0
 *
 * What resolving a result gives, before it becomes frames: names, sites, and the site of every stack node.
 * This is what is kept in the folder (names.strata).
 */
#ifndef ST_RESOLVE_RESOLVED_H
#define ST_RESOLVE_RESOLVED_H

#include "resolve/names.h"
#include "resolve/sites.h"

struct st_stack_nodes;

struct st_resolved {
	struct st_names *names;
	struct st_sites sites;
	uint32_t *site_of_node; /* [node count]; of Python nodes: function */
	uint32_t unknown;	/* function of what lies in no known module */
};

/* From what this machine has (named_build.c). False: no memory; *out is to be freed in any case. */
bool st_resolved_build(struct st_resolved *out, const struct st_result *result,
		       const struct st_named_options *options);
/* Frames of every node into out->names (frames.c), without inlined functions unless asked for. */
void st_resolved_frames(struct st_resolved *resolved, const struct st_stack_nodes *nodes,
			bool inlines);
/* From or into the result folder (names_file.c). Loading fails when nothing is kept that fits result and
 * options, for whatever reason; what cannot be saved is made anew next time. */
bool st_resolved_load(struct st_resolved *out, const struct st_result *result,
		      const struct st_named_options *options);
void st_resolved_save(const struct st_resolved *resolved, const struct st_result *result,
		      const struct st_named_options *options);
void st_resolved_fini(struct st_resolved *resolved);

#endif
