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
#include <zlib.h>

#include "base/buf.h"
#include "collect/import/kineto_text.h"
#include "collect/import/out.h"
#include "collect/import/perf_file.h"
#include "store/writer.h"

enum { SNIFFED_BYTES = 4096, UNPACK_BYTES = 1 << 20 };
/* A bound on what a small file may unpack to. */
static const size_t unpacked_max_bytes = (size_t)8 << 30;

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

static enum st_status refuse(const struct st_import_options *options, struct st_error *err)
{
	return st_error_set(
		err, ST_EUNSUPPORTED, 0,
		"%s is neither a perf.data file, nor the output of 'perf script', nor a "
		"trace of torch.profiler (JSON)",
		options->path);
}

static enum st_status read_any(struct st_import_out *out, const struct st_import_options *options,
			       const void *bytes, size_t size_bytes, struct st_error *err)
{
	enum st_status status;

	if (!bytes || !size_bytes)
		return st_error_set(err, ST_ENOTFOUND, 0, "%s is empty", options->path);
	if (st_perf_is_data(bytes, size_bytes))
		return st_import_perf_data(out, options, bytes, size_bytes, err);
	if (memchr(bytes, '\0', size_bytes < SNIFFED_BYTES ? size_bytes : SNIFFED_BYTES))
		return refuse(options, err);
	if (st_kineto_is_text(bytes, size_bytes))
		return st_import_kineto(out, options, bytes, size_bytes, err);
	status = st_import_perf_script(out, bytes, size_bytes, err);
	return !status && !out->event ? refuse(options, err) : status;
}

/* A .gz file may be several behind one another, as pigz, bgzip and cat make them: the next one begins here. */
static bool is_gzip(const uint8_t *bytes, const uint8_t *end)
{
	return end - bytes > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Unpacks a .gz file into memory; what is unpacked is not trusted to be small. */
static enum st_status unpack(struct st_buf *out, const struct st_import_options *options,
			     const void *bytes, size_t size_bytes, struct st_error *err)
{
	z_stream stream = {.next_in = (Bytef *)bytes};
	const uint8_t *end = (const uint8_t *)bytes + size_bytes;
	int status = inflateInit2(&stream, MAX_WBITS + 16);

	while (status == Z_OK) {
		size_t left = (size_t)(end - stream.next_in);

		if (!stream.avail_in)
			stream.avail_in = left < UNPACK_BYTES ? (uInt)left : (uInt)UNPACK_BYTES;
		if (!st_buf_reserve(out, UNPACK_BYTES)) {
			status = Z_MEM_ERROR;
			break;
		}
		stream.next_out = out->data + out->size_bytes;
		stream.avail_out = UNPACK_BYTES;
		status = inflate(&stream, Z_NO_FLUSH);
		out->size_bytes += UNPACK_BYTES - stream.avail_out;
		if (status == Z_STREAM_END && is_gzip(stream.next_in, end))
			status = inflateReset(&stream);
	}
	inflateEnd(&stream);
	if (status == Z_MEM_ERROR)
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory while unpacking it",
				    options->path);
	/* Of a file that is cut off counts what comes before. */
	if (status == Z_STREAM_END || (status == Z_BUF_ERROR && out->size_bytes))
		return ST_OK;
	return st_error_set(err, ST_ECORRUPT, 0, "%s cannot be unpacked: it is damaged",
			    options->path);
}

enum st_status st_import_bytes(const struct st_import_options *options, const void *bytes,
			       size_t size_bytes, const char *folder,
			       struct st_import_counts *counts, struct st_error *err)
{
	const uint8_t *head = bytes;
	struct st_import_out out;
	struct st_buf unpacked;
	enum st_status status = ST_OK;

	memset(counts, 0, sizeof(*counts));
	if (!st_import_out_init(&out)) {
		st_import_out_fini(&out);
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", options->path);
	}
	out.captured_ns = options->captured_ns;
	st_buf_init(&unpacked, unpacked_max_bytes);
	if (is_gzip(head, head + size_bytes)) {
		status = unpack(&unpacked, options, bytes, size_bytes, err);
		bytes = unpacked.data;
		size_bytes = unpacked.size_bytes;
	}
	if (!status)
		status = read_any(&out, options, bytes, size_bytes, err);
	st_buf_fini(&unpacked);
	if (!status) {
		st_import_weigh(&out);
		status = st_import_write(&out, options, folder, err);
	}
	*counts = out.counts;
	st_import_out_fini(&out);
	return status;
}

/* By what is in it: only traces are JSON, or packed. */
static const char *usual_name(const struct file *file)
{
	const uint8_t *head = file->bytes;
	bool is_packed = file->size_bytes > 2 && head[0] == 0x1f && head[1] == 0x8b;

	return is_packed || st_kineto_is_text(file->bytes, file->size_bytes) ? "r@@@op" : "r@@@hs";
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
		status = st_result_name(
			options->result_dir ? options->result_dir : usual_name(&file), result, err);
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
