/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies below the data directory: results, traces of other profilers, and the folders (projects) that they are in,
 * up to two deep. Clients know an entry by its id, which is a hash of its path; no path comes from them.
 */
#ifndef ST_SERVE_HTTP_CATALOG_H
#define ST_SERVE_HTTP_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_buf;
struct st_json;

enum {
	ST_ENTRY_ID = 17,
	ST_ENTRY_PATH = 512,
	ST_ENTRY_TEXT = 1024,
	ST_CATALOG_MAX = 20000,
};

struct st_entry {
	char id[ST_ENTRY_ID];
	char path[ST_ENTRY_PATH]; /* relative to the data directory */
	bool is_trace;		  /* of another profiler: to be imported */
	bool is_project;	  /* a folder without a result */
	char state[16], type[32], started_at[40];
	char command[ST_ENTRY_TEXT];
	int64_t elapsed_ns;
	uint64_t size_bytes;
	char exit[32];	     /* JSON; "": not known */
	char generation[17]; /* changes when the data does */
	/* Of result.json, when the texts above were read. */
	int64_t changed_ns;
	uint64_t inode;
};

struct st_catalog {
	int root_fd;
	char root[4096];	  /* absolute */
	struct st_entry *entries; /* by path */
	uint32_t count, capacity;
	bool is_cut;	  /* more than ST_CATALOG_MAX */
	char version[17]; /* changes when anything in the list does */
	/* Whether somebody is about to create that; NULL: nobody ever is. */
	bool (*is_promised)(const void *arg, const char *path);
	const void *promised_arg;
};

enum st_status st_catalog_open(struct st_catalog *catalog, const char *folder,
			       struct st_error *err);
void st_catalog_close(struct st_catalog *catalog);
/* Looks again. True: something has changed. */
bool st_catalog_scan(struct st_catalog *catalog);
/* NULL: there is none of that id. Looks again first where it is not known. Valid until the next scan. */
const struct st_entry *st_catalog_find(struct st_catalog *catalog, const char *id);
const char *st_entry_name(const struct st_entry *entry); /* the last part of the path */
void st_catalog_write(const struct st_catalog *catalog, struct st_buf *out);
void st_entry_write(const struct st_entry *entry, struct st_json *json);

/* Fills in what the folder or file behind fd says; false: it is no entry of the list. */
bool st_entry_read(struct st_entry *entry, int fd, const struct st_entry *before);
/* The generation of a folder alone, for who holds it open. */
void st_entry_generation(int folder_fd, char out[17], uint64_t *size_bytes);
bool st_name_is_trace(const char *name);
/* Letters, digits, '.', '_', '-', '+', '=' and blanks inside, up to 100 bytes, no dot or dash first. */
bool st_name_is_fine(const char *name);

/* Changes. The id of what was changed goes to id. */
enum st_status st_catalog_rename(struct st_catalog *catalog, const struct st_entry *entry,
				 const char *name, char id[ST_ENTRY_ID], struct st_error *err);
enum st_status st_catalog_remove(struct st_catalog *catalog, const struct st_entry *entry,
				 struct st_error *err);
enum st_status st_catalog_restore(struct st_catalog *catalog, const char *id, struct st_error *err);
enum st_status st_catalog_make_project(struct st_catalog *catalog, const char *name,
				       char id[ST_ENTRY_ID], struct st_error *err);
/* A free name for a new result, "r003hs", in a project or "" for none. */
enum st_status st_catalog_free_name(struct st_catalog *catalog, const char *project,
				    const char *suffix, char path[ST_ENTRY_PATH],
				    struct st_error *err);
/* A free name for the result that a trace becomes, beside it: its own without the ending, else with a number. */
enum st_status st_catalog_free_place(struct st_catalog *catalog, const struct st_entry *trace,
				     char path[ST_ENTRY_PATH], struct st_error *err);

#endif
