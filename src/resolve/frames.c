// SPDX-License-Identifier: Apache-2.0
//
// Every stack node becomes its frames (resolve/resolved.h).
#include "resolve/resolved.h"
#include "store/samples.h"

/* The frames of a native site, outermost first; returns the innermost. */
static uint32_t add_site_frames(struct st_resolved *resolved, uint32_t place,
				struct st_named_frame frame, bool inlines)
{
	const struct st_site *site = &resolved->sites.items[place];
	const struct st_inlined *inlined = resolved->sites.inlined + site->inlined_first;
	uint32_t at;

	frame.function = place ? site->function : resolved->unknown;
	frame.address = site->address;
	for (uint32_t i = 0; i < site->inlined_count; i++) {
		frame.source = inlined[i].source;
		frame.line = inlined[i].line;
		at = st_names_frame(resolved->names, &frame);
		if (!inlines)
			return at;
		frame.parent = at;
		frame.function = inlined[i].function;
		frame.flags |= ST_NAMED_INLINED;
	}
	frame.source = site->source;
	frame.line = site->line;
	return st_names_frame(resolved->names, &frame);
}

void st_resolved_frames(struct st_resolved *resolved, const struct st_stack_nodes *nodes,
			bool inlines)
{
	struct st_names *names = resolved->names;

	for (uint32_t i = 1; i < nodes->count; i++) {
		uint32_t kind = nodes->kind[i], place = resolved->site_of_node[i];
		struct st_named_frame frame = {.node = i};

		frame.parent = nodes->parent[i] < i ? names->frame_of_node[nodes->parent[i]] : 0;
		frame.flags = (kind & ST_FRAME_RECOVERED ? ST_NAMED_RECOVERED : 0u) |
			      (kind & ST_FRAME_EVAL ? ST_NAMED_EVAL : 0u);
		if ((kind & ST_FRAME_KIND_MASK) == ST_FRAME_PYTHON) {
			frame.function = place < names->function_count ? place : resolved->unknown;
			frame.source = names->functions[frame.function].source;
			frame.line = nodes->line[i];
			frame.address = nodes->value[i] >> 32;
			names->frame_of_node[i] = st_names_frame(names, &frame);
			continue;
		}
		if (place >= resolved->sites.count)
			place = 0;
		if ((kind & ST_FRAME_KIND_MASK) == ST_FRAME_EXACT &&
		    (resolved->sites.items[place].flags & ST_SITE_AT_PAUSE))
			frame.flags |= ST_NAMED_AT_PAUSE;
		names->frame_of_node[i] = add_site_frames(resolved, place, frame, inlines);
	}
	st_names_finish(names);
}
