/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of slices that ran on a device, and of the calls that launched them, beyond what every slice has.
 * Everything is borrowed until st_result_close.
 */
#ifndef ST_STORE_DEVICES_H
#define ST_STORE_DEVICES_H

#include <stdint.h>

#include "format/device_record.h"
#include "store/result.h"

/* By row; at most one for each slice. */
struct st_device_item {
	uint32_t row; /* of the slice */
	uint8_t kind; /* enum st_device_kind */
	uint8_t flags;
	uint16_t device;
	uint32_t stream, context; /* of a call that waits: for this; ST_DEVICE_NO_STREAM: none */
	uint32_t correlation, graph;
	uint64_t value;
	uint64_t graph_node;
	uint32_t grid[3];
	uint16_t block[3];
	uint16_t registers;
	uint32_t shared_static, shared_dynamic;
	uint8_t waits_for; /* of a call, enum st_device_wait: then graph is the event's number; 0: for nothing */
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct st_device_item) == 72, "items lie in a section: no holes");

/* What a device is, as a process numbers them. */
struct st_device_about {
	uint32_t process; /* index */
	uint32_t device;
	st_string_id name;
	uint32_t processors;	     /* streaming multiprocessors */
	uint32_t threads, registers; /* that fit into a processor */
	uint32_t blocks, shared_bytes;
	uint32_t warp, version; /* 256 * major + minor */
	uint32_t block_shared_bytes, reserved_shared_bytes;
	uint32_t block_registers, reserved;
	uint64_t memory_bytes;
};
_Static_assert(sizeof(struct st_device_about) == 64, "they lie in a section: no holes");

const struct st_device_about *st_result_device_abouts(const struct st_result *result,
						      uint32_t *count);
/* NULL: nothing is known of it. */
const struct st_device_about *st_result_device_about(const struct st_result *result,
						     uint32_t process, uint32_t device);

const struct st_device_item *st_result_device_items(const struct st_result *result,
						    uint32_t *count);
/* Of one slice, or NULL: it is none, or was imported without. */
const struct st_device_item *st_result_device_item_of(const struct st_result *result, uint32_t row);

#endif
