// SPDX-License-Identifier: Apache-2.0
//
// The Python stacks of operators. A thread tells one when it is not that of the operator before, and of it only the
// frames that differ; it becomes a node of the process's stack tree when the next operator begins.
#include <inttypes.h>

#include "collect/launch/drain/drain_state.h"
#include "format/ring_record.h"
#include "format/samples.h"

/* Code and position of a frame; the rest says how it lies among native ones. */
static const uint64_t frame_bits = (1ull << 56) - 1;

void st_drain_take_stack(struct st_drain *drain, struct st_slot_reader *slot,
			 const uint64_t *payload, uint32_t payload_words)
{
	uint32_t fresh = (uint32_t)payload[0] & 0xffff;
	uint32_t kept = (uint32_t)(payload[0] >> 16) & 0xffff;

	slot->stack_known = false;
	if (payload_words == fresh + 1 &&
	    st_frame_words_restore(&slot->stack, payload + 1, fresh, kept))
		return;
	st_drain_refuse(drain, "an operator's stack keeps %" PRIu32 " frames of %" PRIu32, kept,
			slot->stack.count);
	slot->stack.count = 0;
}

void st_drain_forget_operator_stack(struct st_slot_reader *slot)
{
	slot->stack.count = 0;
	slot->stack_known = false;
}

uint32_t st_drain_operator_stack(struct st_drain *drain, struct st_slot_reader *slot)
{
	uint32_t node = 0;

	if (slot->stack_known)
		return slot->stack_node;
	for (uint32_t i = slot->stack.count; i-- > 0;) {
		uint32_t known = drain->tree.count;

		node = st_stack_tree_get(&drain->tree, node, ST_FRAME_PYTHON,
					 slot->stack.words[i] & frame_bits);
		if (!node)
			break; /* better none than half of one */
		if (drain->tree.count > known)
			st_drain_use_code(drain, (uint32_t)slot->stack.words[i]);
	}
	slot->stack_node = node;
	slot->stack_known = true;
	return node;
}
