// SPDX-License-Identifier: Apache-2.0
//
// What kind of file it is, and where the result goes (collect/import/import.h).
#include "collect/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/import/out.h"
#include "collect/import/perf_file.h"
#include "store/writer.h"

struct file {
	void *bytes;
	size_t size_bytes;
	uint64_t changed_ns; /* when it was last written */
	bool is_mapped;
};

/* A pipe has no size and cannot be mapped. */
static enum st_status read_stream(struct file *file, int fd, const char *path, struct st_error *err)
{
	size_t capacity = 1 << 20;

	file->bytes = malloc(capacity);
	while (file->bytes) {
		ssize_t n;

		if (file->size_bytes == capacity) {
			void *grown = realloc(file->bytes, capacity * 2);

			if (!grown)
				break;
			file->bytes = grown;
			capacity *= 2;
		}
		n = read(fd, (char *)file->bytes + file->size_bytes, capacity - file->size_bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return st_error_set(err, ST_EIO, errno, "cannot read %s", path);
		if (n == 0)
			return ST_OK;
		file->size_bytes += (size_t)n;
	}
	return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", path);
}

static enum st_status map_file(struct file *file, int fd, const char *path, struct st_error *err)
{
	struct stat about;

	if (fstat(fd, &about))
		return st_error_set(err, ST_EIO, errno, "cannot read %s", path);
	if (S_ISDIR(about.st_mode))
		return st_error_set(err, ST_EUSAGE, 0, "%s is a folder, not a file", path);
	if (!S_ISREG(about.st_mode))
		return read_stream(file, fd, path, err);
	file->changed_ns =
		(uint64_t)about.st_mtim.tv_sec * 1000000000u + (uint64_t)about.st_mtim.tv_nsec;
	if (!about.st_size)
		return st_error_set(err, ST_ENOTFOUND, 0, "%s is empty", path);
	file->bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file->bytes == MAP_FAILED) {
		file->bytes = NULL;
		return st_error_set(err, ST_EIO, errno, "cannot map %s", path);
	}
	file->size_bytes = (size_t)about.st_size;
	file->is_mapped = true;
	return ST_OK;
}

static enum st_status open_file(struct file *file, const char *path, struct st_error *err)
{
	bool is_standard_input = strcmp(path, "-") == 0;
	int fd = is_standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	enum st_status status;

	memset(file, 0, sizeof(*file));
	if (fd < 0)
		return st_error_set(err, errno == ENOENT ? ST_ENOTFOUND : ST_EIO, errno,
				    "cannot open %s", path);
	status = map_file(file, fd, path, err);
	if (!is_standard_input)
		close(fd);
	return status;
}

static void close_file(struct file *file)
{
	if (file->is_mapped)
		munmap(file->bytes, file->size_bytes);
	else
		free(file->bytes);
}

static enum st_status read_samples(struct st_import_out *out,
				   const struct st_import_options *options, const void *bytes,
				   size_t size_bytes, struct st_error *err)
{
	enum st_status status;

	if (!bytes || !size_bytes)
		return st_error_set(err, ST_ENOTFOUND, 0, "%s is empty", options->path);
	if (st_perf_is_data(bytes, size_bytes))
		return st_import_perf_data(out, options, bytes, size_bytes, err);
	if (memchr(bytes, '\0', size_bytes < 4096 ? size_bytes : 4096))
		return st_error_set(
			err, ST_EUNSUPPORTED, 0,
			"%s is neither a perf.data file nor the output of 'perf script'",
			options->path);
	status = st_import_perf_script(out, bytes, size_bytes, err);
	if (!status && !out->event)
		return st_error_set(
			err, ST_EUNSUPPORTED, 0,
			"%s is neither a perf.data file nor the output of 'perf script'",
			options->path);
	return status;
}

enum st_status st_import_bytes(const struct st_import_options *options, const void *bytes,
			       size_t size_bytes, const char *folder,
			       struct st_import_counts *counts, struct st_error *err)
{
	struct st_import_out out;
	enum st_status status;

	memset(counts, 0, sizeof(*counts));
	if (!st_import_out_init(&out)) {
		st_import_out_fini(&out);
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", options->path);
	}
	out.captured_ns = options->captured_ns;
	status = read_samples(&out, options, bytes, size_bytes, err);
	if (!status) {
		st_import_weigh(&out);
		status = st_import_write(&out, options, folder, err);
	}
	*counts = out.counts;
	st_import_out_fini(&out);
	return status;
}

enum st_status st_import_file(const struct st_import_options *options, char **result,
			      struct st_import_counts *counts, struct st_error *err)
{
	struct st_import_options with_time = *options;
	enum st_status status;
	struct file file;

	*result = NULL;
	status = open_file(&file, options->path, err);
	if (!status)
		status = st_result_name(options->result_dir ? options->result_dir : "r@@@hs",
					result, err);
	with_time.captured_ns = file.changed_ns;
	if (!status)
		status = st_import_bytes(&with_time, file.bytes, file.size_bytes, *result, counts,
					 err);
	close_file(&file);
	if (status) {
		free(*result);
		*result = NULL;
	}
	return status;
}
