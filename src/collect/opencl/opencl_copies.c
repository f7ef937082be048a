/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that move or fill memory, with how much. Their names are of the kind that torch's profiler gives to CUDA's.
 */
#include "collect/opencl/opencl_wrap.h"

static struct opencl_text to_host = {.text = "Memcpy DtoH (Device -> Host)"},
			  to_device = {.text = "Memcpy HtoD (Host -> Device)"},
			  on_device = {.text = "Memcpy DtoD (Device -> Device)"},
			  map_name = {.text = "Memcpy DtoH (map)"},
			  unmap_name = {.text = "Memcpy HtoD (unmap)"},
			  migrate_name = {.text = "Memcpy (migrate)"},
			  svm_name = {.text = "Memcpy (SVM)"},
			  fill_name = {.text = "Memset (Device)"},
			  svm_fill_name = {.text = "Memset (SVM)"};

static uint64_t volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t ask_size(unsigned int place, cl_any *object, uint32_t what)
{
	int32_t (*about)(cl_any *, uint32_t, size_t, void *, size_t *);
	size_t bytes = 0;

	*(void **)&about = opencl_target[place];
	if (!object || !opencl_records() ||
	    about(object, what, sizeof(bytes), &bytes, NULL) != CL_SUCCESS)
		return 0;
	return bytes;
}

static uint64_t of_image(cl_any *image, const size_t *region)
{
	return volume(region) * ask_size(CL_IMAGE_INFO, image, CL_IMAGE_ELEMENT_SIZE);
}

static uint64_t of_objects(cl_any *const *objects, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; objects && i < count; i++)
		sum += ask_size(CL_MEM_INFO, objects[i], CL_MEM_SIZE);
	return sum;
}

static uint64_t of_sizes(const size_t *sizes, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; sizes && i < count; i++)
		sum += sizes[i];
	return sum;
}

/* clang-format off */
#define COPY(NAME, BYTES) .kind = ST_DEVICE_COPY, .name = &(NAME), .bytes = (BYTES)
#define FILL(NAME, BYTES) .kind = ST_DEVICE_FILL, .name = &(NAME), .bytes = (BYTES)

COMMAND(read_buffer, CL_READ_BUFFER,
	(cl_any *queue, cl_any *buffer, uint32_t waits_for_it, size_t offset, size_t size, void *to, WAIT_LIST),
	(queue, buffer, waits_for_it, offset, size, to, WAITED), COPY(to_host, size))
COMMAND(write_buffer, CL_WRITE_BUFFER,
	(cl_any *queue, cl_any *buffer, uint32_t waits_for_it, size_t offset, size_t size, const void *from, WAIT_LIST),
	(queue, buffer, waits_for_it, offset, size, from, WAITED), COPY(to_device, size))
COMMAND(copy_buffer, CL_COPY_BUFFER,
	(cl_any *queue, cl_any *from, cl_any *to, size_t from_offset, size_t to_offset, size_t size, WAIT_LIST),
	(queue, from, to, from_offset, to_offset, size, WAITED), COPY(on_device, size))

COMMAND(read_rect, CL_READ_RECT,
	(cl_any *queue, cl_any *buffer, uint32_t waits_for_it, const size_t *origin, const size_t *host_origin,
	 const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, void *to, WAIT_LIST),
	(queue, buffer, waits_for_it, origin, host_origin, region, row, slice, host_row, host_slice, to, WAITED),
	COPY(to_host, volume(region)))
COMMAND(write_rect, CL_WRITE_RECT,
	(cl_any *queue, cl_any *buffer, uint32_t waits_for_it, const size_t *origin, const size_t *host_origin,
	 const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, const void *from, WAIT_LIST),
	(queue, buffer, waits_for_it, origin, host_origin, region, row, slice, host_row, host_slice, from, WAITED),
	COPY(to_device, volume(region)))
COMMAND(copy_rect, CL_COPY_RECT,
	(cl_any *queue, cl_any *from, cl_any *to, const size_t *from_origin, const size_t *to_origin,
	 const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice, WAIT_LIST),
	(queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice, WAITED),
	COPY(on_device, volume(region)))

COMMAND(read_image, CL_READ_IMAGE,
	(cl_any *queue, cl_any *image, uint32_t waits_for_it, const size_t *origin, const size_t *region, size_t row,
	 size_t slice, void *to, WAIT_LIST),
	(queue, image, waits_for_it, origin, region, row, slice, to, WAITED),
	COPY(to_host, of_image(image, region)))
COMMAND(write_image, CL_WRITE_IMAGE,
	(cl_any *queue, cl_any *image, uint32_t waits_for_it, const size_t *origin, const size_t *region, size_t row,
	 size_t slice, const void *from, WAIT_LIST),
	(queue, image, waits_for_it, origin, region, row, slice, from, WAITED),
	COPY(to_device, of_image(image, region)))
COMMAND(copy_image, CL_COPY_IMAGE,
	(cl_any *queue, cl_any *from, cl_any *to, const size_t *from_origin, const size_t *to_origin,
	 const size_t *region, WAIT_LIST),
	(queue, from, to, from_origin, to_origin, region, WAITED), COPY(on_device, of_image(from, region)))
COMMAND(image_to_buffer, CL_IMAGE_TO_BUFFER,
	(cl_any *queue, cl_any *from, cl_any *to, const size_t *origin, const size_t *region, size_t offset, WAIT_LIST),
	(queue, from, to, origin, region, offset, WAITED), COPY(on_device, of_image(from, region)))
COMMAND(buffer_to_image, CL_BUFFER_TO_IMAGE,
	(cl_any *queue, cl_any *from, cl_any *to, size_t offset, const size_t *origin, const size_t *region, WAIT_LIST),
	(queue, from, to, offset, origin, region, WAITED), COPY(on_device, of_image(to, region)))

COMMAND(unmap, CL_UNMAP, (cl_any *queue, cl_any *object, void *at, WAIT_LIST), (queue, object, at, WAITED),
	COPY(unmap_name, 0))
COMMAND(migrate, CL_MIGRATE,
	(cl_any *queue, uint32_t count, cl_any *const *objects, uint64_t flags, WAIT_LIST),
	(queue, count, objects, flags, WAITED), COPY(migrate_name, of_objects(objects, count)))
COMMAND(fill_buffer, CL_FILL_BUFFER,
	(cl_any *queue, cl_any *buffer, const void *pattern, size_t pattern_bytes, size_t offset, size_t size, WAIT_LIST),
	(queue, buffer, pattern, pattern_bytes, offset, size, WAITED), FILL(fill_name, size))
COMMAND(fill_image, CL_FILL_IMAGE,
	(cl_any *queue, cl_any *image, const void *color, const size_t *origin, const size_t *region, WAIT_LIST),
	(queue, image, color, origin, region, WAITED), FILL(fill_name, of_image(image, region)))

COMMAND(svm_copy, CL_SVM_COPY,
	(cl_any *queue, uint32_t waits_for_it, void *to, const void *from, size_t size, WAIT_LIST),
	(queue, waits_for_it, to, from, size, WAITED), COPY(svm_name, size))
COMMAND(svm_fill, CL_SVM_FILL,
	(cl_any *queue, void *at, const void *pattern, size_t pattern_bytes, size_t size, WAIT_LIST),
	(queue, at, pattern, pattern_bytes, size, WAITED), FILL(svm_fill_name, size))
COMMAND(svm_map, CL_SVM_MAP,
	(cl_any *queue, uint32_t waits_for_it, uint64_t flags, void *at, size_t size, WAIT_LIST),
	(queue, waits_for_it, flags, at, size, WAITED), COPY(map_name, size))
COMMAND(svm_unmap, CL_SVM_UNMAP, (cl_any *queue, void *at, WAIT_LIST), (queue, at, WAITED), COPY(unmap_name, 0))
COMMAND(svm_migrate, CL_SVM_MIGRATE,
	(cl_any *queue, uint32_t count, const void **places, const size_t *sizes, uint64_t flags, WAIT_LIST),
	(queue, count, places, sizes, flags, WAITED), COPY(migrate_name, of_sizes(sizes, count)))

/* These return where the memory is, and the error beside it. NOLINTBEGIN(bugprone-macro-parentheses) */
#define MAP(NAME, PLACE, PARAMETERS, ARGUMENTS, BYTES)                                             \
	static cl_handle NAME PARAMETERS                                                               \
	{                                                                                          \
		struct opencl_command command = {                                                  \
			.place = (PLACE), .queue = queue, COPY(map_name, BYTES)};                  \
		cl_any **out = opencl_begin(&command, event);                                      \
		cl_handle(*next) PARAMETERS;                                                           \
		int32_t own_error = CL_SUCCESS, *error_out = error ? error : &own_error;           \
		void *at;                                                                          \
                                                                                                   \
		*(void **)&next = opencl_target[PLACE];                                            \
		at = next ARGUMENTS;                                                               \
		opencl_end(&command, *error_out);                                                  \
		return at;                                                                         \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

MAP(map_buffer, CL_MAP_BUFFER,
    (cl_any *queue, cl_any *buffer, uint32_t waits_for_it, uint64_t flags, size_t offset, size_t size, WAIT_LIST,
     int32_t *error),
    (queue, buffer, waits_for_it, flags, offset, size, WAITED, error_out), size)
MAP(map_image, CL_MAP_IMAGE,
    (cl_any *queue, cl_any *image, uint32_t waits_for_it, uint64_t flags, const size_t *origin, const size_t *region,
     size_t *row, size_t *slice, WAIT_LIST, int32_t *error),
    (queue, image, waits_for_it, flags, origin, region, row, slice, WAITED, error_out), of_image(image, region))
/* clang-format on */

const struct opencl_wrapper opencl_copy_wrappers[] = {
	{CL_READ_BUFFER, (void *)read_buffer},
	{CL_WRITE_BUFFER, (void *)write_buffer},
	{CL_COPY_BUFFER, (void *)copy_buffer},
	{CL_READ_RECT, (void *)read_rect},
	{CL_WRITE_RECT, (void *)write_rect},
	{CL_COPY_RECT, (void *)copy_rect},
	{CL_READ_IMAGE, (void *)read_image},
	{CL_WRITE_IMAGE, (void *)write_image},
	{CL_COPY_IMAGE, (void *)copy_image},
	{CL_IMAGE_TO_BUFFER, (void *)image_to_buffer},
	{CL_BUFFER_TO_IMAGE, (void *)buffer_to_image},
	{CL_MAP_BUFFER, (void *)map_buffer},
	{CL_MAP_IMAGE, (void *)map_image},
	{CL_UNMAP, (void *)unmap},
	{CL_MIGRATE, (void *)migrate},
	{CL_FILL_BUFFER, (void *)fill_buffer},
	{CL_FILL_IMAGE, (void *)fill_image},
	{CL_SVM_COPY, (void *)svm_copy},
	{CL_SVM_FILL, (void *)svm_fill},
	{CL_SVM_MAP, (void *)svm_map},
	{CL_SVM_UNMAP, (void *)svm_unmap},
	{CL_SVM_MIGRATE, (void *)svm_migrate},
	{0, NULL},
};
