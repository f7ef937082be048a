/* SPDX-License-Identifier: Apache-2.0
 *
 * Output: reports as text, CSV or JSON, and whole traces in formats of other tools. Everything goes
 * through a sink, so that the same code writes to a file, a pipe, a .gz or a buffer.
 */
#ifndef ST_EXPORT_EXPORT_H
#define ST_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/engine/sample_view.h"
#include "base/error.h"
#include "format/definitions.h"

struct st_buf;
struct st_question;
struct st_report;
struct st_result;

struct st_sink;
/* path "-" is standard output; a name that ends in .gz is compressed. A file is written beside its
 * place and renamed at close, so that a failed export leaves nothing half-written behind. */
enum st_status st_sink_open(struct st_sink **out, const char *path, struct st_error *err);
/* Into a buffer of the caller's. */
enum st_status st_sink_open_buf(struct st_sink **out, struct st_buf *buf, struct st_error *err);
/* Compresses whatever its name is, for formats that are always compressed; before the first write. A buffer
 * gets it plain. */
enum st_status st_sink_pack(struct st_sink *sink, struct st_error *err);
enum st_status st_sink_write(struct st_sink *sink, const void *data, size_t size_bytes,
			     struct st_error *err);
/* Somebody who wants to know how far it is, and what the writer tells it now and then. */
void st_sink_set_progress(struct st_sink *sink,
			  void (*progress)(void *arg, double fraction, const char *what),
			  void *arg);
void st_sink_progress(struct st_sink *sink, uint64_t done, uint64_t total);
/* The writer found nothing to write: why, and how to get it. What the caller makes of that is its own affair. */
void st_sink_set_empty(struct st_sink *sink, const char *why);
const char *st_sink_empty(const struct st_sink *sink); /* NULL: something was written */
bool st_sink_is_unwritten(const struct st_sink *sink); /* not one byte */
enum st_status st_sink_close(struct st_sink *sink, bool keep, struct st_error *err);
/* Closes what was written well (ST_OK) or not, which is not kept; the first failure comes back. */
enum st_status st_sink_finish(struct st_sink *sink, enum st_status written, struct st_error *err);

struct st_text_style {
	unsigned int width; /* columns; 0 = unlimited */
	bool colour;
	const char *program; /* what commands for the reader begin with; NULL: "strata" */
	/* Of trees: rows under this share (percent) are one line, and rows deeper than this are none; 0: all are shown.
	 * Times as values rather than as shares. */
	double tree_percent;
	unsigned int tree_depth;
	bool tree_values;
};

enum st_status st_report_write_text(const struct st_report *report, const struct st_result *result,
				    const struct st_text_style *style, struct st_sink *sink,
				    struct st_error *err);
enum st_status st_report_write_csv(const struct st_report *report, const struct st_result *result,
				   char delimiter, struct st_sink *sink, struct st_error *err);
enum st_status st_report_write_json(const struct st_report *report, const struct st_result *result,
				    struct st_sink *sink, struct st_error *err);

/* A part of a report's rows, for who shows a screenful: the rows offset … offset + limit of one level. */
enum { ST_REPORT_PAGE_DEPTH = 16, ST_REPORT_PATH_MAX = 4096 };
struct st_report_page {
	const uint32_t
		*path; /* the row whose children are wanted, level by level; none: the outermost */
	uint32_t path_count;
	uint64_t offset, limit;
	uint32_t
		depth; /* levels, 1 … ST_REPORT_PAGE_DEPTH; of further ones the limit's first rows each */
};
/* Each row has a member child_count, and children only above the last of the levels; the document has row_count, the
 * rows of the level. ST_ENOTFOUND: there is no row at the path. */
enum st_status st_report_write_json_page(const struct st_report *report,
					 const struct st_result *result,
					 const struct st_report_page *page, struct st_sink *sink,
					 struct st_error *err);

/* Something that the file says of itself, given by the user. */
struct st_export_fact {
	struct st_text key, value;
	bool is_json; /* the value is JSON, and valid; else it is a text */
};

/* Parts of a trace that can be left out. */
enum {
	ST_PART_SHAPES = 1,
	ST_PART_MEMORY = 2,
	ST_PART_STACKS = 4,
	ST_PART_MODULES = 8,
	ST_PART_NONE = 16, /* none of them */
};

/* What an export is about and how it looks. Zeroed: everything, as reports show it. */
struct st_export_options {
	/* Filters, time range and levels above the stacks (groupings) of the formats of samples. May be NULL. */
	const struct st_question *question;
	struct st_sample_view view; /* of the stacks of samples */
	bool reverse;		    /* from where the time went to the callers */
	bool is_page;		    /* HTML rather than the format's usual form */
	bool is_raw;		    /* memory: each event rather than sums */
	bool by_device;		    /* stacks of operators: time on devices, not on the CPU */
	uint32_t place;	    /* memory: ST_MEMORY_PLACE (format/ring_record.h); 0: of the CPU */
	const char *device; /* that as it was typed; NULL: it was not */
	unsigned int parts; /* ST_PART_*; 0: whatever was recorded */
	const struct st_export_fact *facts;
	size_t fact_count;
	const char *trace_name; /* the file's own name; NULL: not known */
};

enum {
	ST_EXPORT_TAKES_SAMPLES = 1, /* and nothing else: needs some, and can choose among them */
	ST_EXPORT_REVERSES = 2,
	ST_EXPORT_GROUPS = 4,
	ST_EXPORT_SHOWS_STACKS = 8, /* samples are part of it at least: modes go for their stacks */
	ST_EXPORT_HAS_WINDOW = 16,  /* a time range; filters by process and thread */
	ST_EXPORT_HAS_PARTS = 32,   /* parts can be left out, and facts given */
	ST_EXPORT_HAS_METRIC = 64,
	ST_EXPORT_HAS_DEVICE = 128, /* memory of one can be chosen */
};
typedef enum st_status st_export_write_fn(const struct st_result *result,
					  const struct st_export_options *options,
					  struct st_sink *sink, struct st_error *err);
struct st_exporter {
	const char *name; /* "chrome" */
	const char *summary;
	st_export_write_fn *write; /* to be called by st_export_write */
	unsigned int flags;	   /* ST_EXPORT_*: which options it heeds */
};
extern const struct st_exporter st_exporters[]; /* ends with a NULL name */
/* options may be NULL. */
enum st_status st_export_write(const struct st_exporter *exporter, const struct st_result *result,
			       const struct st_export_options *options, struct st_sink *sink,
			       struct st_error *err);

#endif
