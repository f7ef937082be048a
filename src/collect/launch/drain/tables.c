// SPDX-License-Identifier: Apache-2.0
//
// The helper thread behind unwind tables (tables.h). Two lists under one lock: questions in the order they came,
// and answers. Everything else belongs to one side only: the folder of tables to the helper, what is known
// to the loop.
#include "collect/launch/drain/tables.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "unwind/cache.h"
#include "unwind/code.h"

enum { WAITING_MAX = 4096, BUILD_ID_MAX = 64 };

struct job {
	struct st_table_want want;
	uint8_t build_id[BUILD_ID_MAX];
	bool ok, built;
	uint64_t bias, build_ns;
	char *path;
	struct job *next;
};

struct list {
	struct job *first, **last;
};

struct known {
	struct st_table_key key;
	struct st_table_known table;
};

struct st_unwind_tables {
	pthread_t thread;
	bool started, broken;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct list questions, answers;
	/* The loop's. */
	uint32_t waiting;
	uint64_t codes_asked;
	struct known *known;
	uint32_t known_count, known_capacity;
	struct st_map known_of; /* key */
};

static void push(struct list *list, struct job *job)
{
	job->next = NULL;
	*list->last = job;
	list->last = &job->next;
}

static struct job *pop(struct list *list)
{
	struct job *job = list->first;

	if (!job)
		return NULL;
	list->first = job->next;
	if (!list->first)
		list->last = &list->first;
	return job;
}

static void destroy_job(struct job *job)
{
	if (job->want.fd >= 0)
		close(job->want.fd);
	free(job->want.codes);
	free(job->path);
	free(job);
}

static enum st_status find(struct st_unwind_folder *folder, const struct job *job,
			   struct st_unwind_found *found)
{
	const struct st_table_want *want = &job->want;
	struct st_unwind_want asked = {.build_id = job->build_id,
				       .build_id_bytes = want->build_id_bytes,
				       .memory = want->memory,
				       .memory_bytes = want->memory_bytes,
				       .start = want->start,
				       .file_offset = want->key.file_offset};
	struct st_error err = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", want->fd);
	asked.path = want->fd >= 0 ? path : "[vdso]";
	return want->codes
		       ? st_unwind_cache_code(folder, want->codes, want->code_count, found, &err)
		       : st_unwind_cache_get(folder, &asked, found, &err);
}

static void work(struct st_unwind_folder *folder, struct job *job)
{
	struct st_unwind_found *found = malloc(sizeof(*found));

	if (found && folder && find(folder, job, found) == ST_OK) {
		job->path = strdup(found->path);
		job->ok = job->path != NULL;
		job->bias = found->bias - job->want.start;
		job->built = found->built;
		job->build_ns = found->build_ns;
	}
	free(found);
}

static void *help(void *arg)
{
	struct st_unwind_tables *tables = arg;
	struct st_unwind_folder *folder = NULL;
	struct st_error err = {0};

	st_unwind_cache_open(&folder, NULL, &err);
	pthread_mutex_lock(&tables->lock);
	while (!tables->stop) {
		struct job *job = pop(&tables->questions);

		if (!job) {
			pthread_cond_wait(&tables->wake, &tables->lock);
			continue;
		}
		pthread_mutex_unlock(&tables->lock);
		work(folder, job);
		pthread_mutex_lock(&tables->lock);
		push(&tables->answers, job);
	}
	pthread_mutex_unlock(&tables->lock);
	/* Tables in memory files live as long as the folder is open: to the very end. */
	if (folder)
		st_unwind_cache_close(folder);
	return NULL;
}

enum st_status st_tables_create(struct st_unwind_tables **out, struct st_error *err)
{
	struct st_unwind_tables *tables = calloc(1, sizeof(*tables));

	*out = NULL;
	if (!tables)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	tables->questions.last = &tables->questions.first;
	tables->answers.last = &tables->answers.first;
	pthread_mutex_init(&tables->lock, NULL);
	pthread_cond_init(&tables->wake, NULL);
	*out = tables;
	return ST_OK;
}

void st_tables_destroy(struct st_unwind_tables *tables)
{
	struct job *job;

	if (!tables)
		return;
	pthread_mutex_lock(&tables->lock);
	tables->stop = true;
	pthread_cond_signal(&tables->wake);
	pthread_mutex_unlock(&tables->lock);
	if (tables->started)
		pthread_join(tables->thread, NULL);
	while ((job = pop(&tables->questions)) != NULL)
		destroy_job(job);
	while ((job = pop(&tables->answers)) != NULL)
		destroy_job(job);
	for (uint32_t i = 0; i < tables->known_count; i++)
		free((char *)tables->known[i].table.path);
	free(tables->known);
	st_map_fini(&tables->known_of);
	pthread_cond_destroy(&tables->wake);
	pthread_mutex_destroy(&tables->lock);
	free(tables);
}

static bool is_key(const void *known, uint32_t number, const void *key)
{
	return memcmp(&((const struct known *)known)[number].key, key,
		      sizeof(struct st_table_key)) == 0;
}

static struct known *known_find(const struct st_unwind_tables *tables,
				const struct st_table_key *key)
{
	uint32_t at = st_map_find(&tables->known_of, st_hash_bytes(key, sizeof(*key)), is_key,
				  tables->known, key);

	return at == ST_ID_NONE ? NULL : &tables->known[at];
}

bool st_tables_find(const struct st_unwind_tables *tables, const struct st_table_key *key,
		    struct st_table_known *out)
{
	const struct known *known = known_find(tables, key);

	if (known)
		*out = known->table;
	return known;
}

/* The job's path is known from now on, unless memory is out. */
static struct known *known_add(struct st_unwind_tables *tables, struct job *job)
{
	const struct st_table_key *key = &job->want.key;
	struct known *known;

	if (!ST_VEC_ROOM(tables->known, tables->known_count, tables->known_capacity) ||
	    !st_map_add(&tables->known_of, st_hash_bytes(key, sizeof(*key)), tables->known_count))
		return NULL;
	known = &tables->known[tables->known_count++];
	*known = (struct known){*key, {.ok = job->ok, .path = job->path, .bias = job->bias}};
	job->path = NULL;
	return known;
}

bool st_tables_ask(struct st_unwind_tables *tables, const struct st_table_want *want)
{
	struct job *job;

	if (!tables->started && !tables->broken) {
		tables->started = pthread_create(&tables->thread, NULL, help, tables) == 0;
		tables->broken = !tables->started;
	}
	job = tables->started && tables->waiting < WAITING_MAX &&
			      want->build_id_bytes <= BUILD_ID_MAX
		      ? calloc(1, sizeof(*job))
		      : NULL;
	if (!job) {
		if (want->fd >= 0)
			close(want->fd);
		free(want->codes);
		return false;
	}
	job->want = *want;
	if (want->codes) /* no two are the same */
		job->want.key = (struct st_table_key){
			.device = UINT64_MAX, .inode = ++tables->codes_asked, .size_bytes = 1};
	if (want->build_id_bytes)
		memcpy(job->build_id, want->build_id, want->build_id_bytes);
	job->want.build_id = NULL; /* the asker's memory */
	tables->waiting++;
	pthread_mutex_lock(&tables->lock);
	push(&tables->questions, job);
	pthread_cond_signal(&tables->wake);
	pthread_mutex_unlock(&tables->lock);
	return true;
}

bool st_tables_next(struct st_unwind_tables *tables, struct st_table_answer *out)
{
	struct known *known;
	struct job *job;

	if (!tables->waiting)
		return false;
	pthread_mutex_lock(&tables->lock);
	job = pop(&tables->answers);
	pthread_mutex_unlock(&tables->lock);
	if (!job)
		return false;
	tables->waiting--;
	known = known_find(tables, &job->want.key);
	if (!known)
		known = known_add(tables, job);
	*out = (struct st_table_answer){.process = job->want.process,
					.request = job->want.request,
					.built = job->built,
					.build_ns = job->build_ns};
	if (job->want.codes) {
		const struct st_unwind_code *last = &job->want.codes[job->want.code_count - 1];

		out->code_start = job->want.start;
		out->code_end = last->address + last->size_bytes;
	}
	if (known)
		out->known = known->table;
	destroy_job(job);
	return true;
}

uint32_t st_tables_waiting(const struct st_unwind_tables *tables)
{
	return tables->waiting;
}
