/* SPDX-License-Identifier: Apache-2.0 */
#include "real_itt.h"

#include <string.h>

/* Addresses are numbers to a collector: it must never look behind one it is not told to read. */
static void *address(struct caller *self)
{
	return (void *)(uintptr_t)real_value(self);
}

#define PLAIN(fn, args)                                                                            \
	CALL(self, fn, args);                                                                      \
	real_say(self, #fn, "\"x\":0")
#define AT(fn, at)                                                                                 \
	CALL(self, fn, (at));                                                                      \
	real_say(self, #fn, "\"value\":%llu", (ull)(uintptr_t)(at))
#define AT_SIZE(fn, at, size)                                                                      \
	CALL(self, fn, (at, size));                                                                \
	real_say(self, #fn, "\"value\":%llu,\"extra\":%llu", (ull)(uintptr_t)(at), (ull)(size))

static void name_sync(struct caller *self)
{
	void *at = address(self);
	char name[32];

	snprintf(name, sizeof(name), "lock %llu", (ull)real_value(self));
	CALL(self, sync_create, (at, "OMP Lock", name, 2));
	real_say(self, "sync_create",
		 "\"value\":%llu,\"type\":\"OMP Lock\",\"name\":\"%s\",\"attribute\":2",
		 (ull)(uintptr_t)at, name);
	CALL(self, sync_rename, (at, "renamed"));
	real_say(self, "sync_rename", "\"value\":%llu,\"text\":\"renamed\"", (ull)(uintptr_t)at);
	AT(sync_destroy, at);
	at = address(self);
	CALL(self, sync_create, (at, NULL, name, 1));
	real_say(self, "sync_create",
		 "\"value\":%llu,\"type\":null,\"name\":\"%s\",\"attribute\":1", (ull)(uintptr_t)at,
		 name);
	at = address(self);
	CALL(self, sync_set_name, (at, "old kind", NULL, 0));
	real_say(self, "sync_set_name",
		 "\"value\":%llu,\"type\":\"old kind\",\"name\":null,\"attribute\":0",
		 (ull)(uintptr_t)at);
	at = address(self);
	VALUE(self, notify_sync_name, (at, "kindX", 4, "nameX", 4, 1));
	real_say(self, "notify_sync_name",
		 "\"value\":%llu,\"type\":\"kind\",\"name\":\"name\",\"attribute\":1",
		 (ull)(uintptr_t)at);
}

void real_sync(struct caller *self)
{
	void *at = address(self);

	name_sync(self);
	AT(sync_prepare, at);
	AT(sync_cancel, at);
	AT(sync_prepare, at);
	AT(sync_acquired, at);
	AT(sync_releasing, at);
	at = address(self);
	AT(fsync_prepare, at);
	AT(fsync_cancel, at);
	AT(fsync_acquired, at);
	AT(fsync_releasing, at);
	at = address(self);
	AT(notify_sync_prepare, at);
	AT(notify_sync_cancel, at);
	AT(notify_sync_acquired, at);
	AT(notify_sync_releasing, at);
}

static void heap(struct caller *self)
{
	void *at = address(self), *moved = address(self);
	size_t size = (size_t)real_value(self);

#define HEAP(fn, args, format, ...)                                                                \
	CALL(self, fn, args);                                                                      \
	real_say(self, #fn, "\"object\":\"heap %u\"," format, self->index, __VA_ARGS__)
	HEAP(heap_allocate_begin, (self->heap, size, 1), "\"extra\":%zu,\"detail\":1", size);
	HEAP(heap_allocate_end, (self->heap, &at, size, 1),
	     "\"value\":%llu,\"extra\":%zu,\"detail\":1", (ull)(uintptr_t)at, size);
	size = (size_t)real_value(self);
	HEAP(heap_reallocate_begin, (self->heap, at, size, 0),
	     "\"old\":%llu,\"extra\":%zu,\"detail\":0", (ull)(uintptr_t)at, size);
	HEAP(heap_reallocate_end, (self->heap, at, &moved, size, 0),
	     "\"old\":%llu,\"value\":%llu,\"extra\":%zu,\"detail\":0", (ull)(uintptr_t)at,
	     (ull)(uintptr_t)moved, size);
	HEAP(heap_free_begin, (self->heap, moved), "\"value\":%llu", (ull)(uintptr_t)moved);
	HEAP(heap_free_end, (self->heap, moved), "\"value\":%llu", (ull)(uintptr_t)moved);
	PLAIN(heap_internal_access_begin, ());
	PLAIN(heap_internal_access_end, ());
	PLAIN(heap_record_memory_growth_begin, ());
	PLAIN(heap_record_memory_growth_end, ());
	CALL(self, heap_reset_detection, (3));
	real_say(self, "heap_reset_detection", "\"detail\":3");
	CALL(self, heap_record, (2));
	real_say(self, "heap_record", "\"detail\":2");
}

static void suppress(struct caller *self)
{
	void *at = address(self);
	size_t size = (size_t)real_value(self);

	CALL(self, suppress_push, (0x7fffffff));
	real_say(self, "suppress_push", "\"detail\":%d", 0x7fffffff);
	PLAIN(suppress_pop, ());
	for (int mode = 0; mode < 2; mode++) {
		CALL(self, suppress_mark_range, (mode, 0xff00, at, size));
		real_say(self, "suppress_mark_range",
			 "\"detail\":65280,\"value\":%llu,\"extra\":%zu,\"mode\":%d",
			 (ull)(uintptr_t)at, size, mode);
		CALL(self, suppress_clear_range, (mode, 0xff, at, size));
		real_say(self, "suppress_clear_range",
			 "\"detail\":255,\"value\":%llu,\"extra\":%zu,\"mode\":%d",
			 (ull)(uintptr_t)at, size, mode);
	}
}

void real_memory(struct caller *self)
{
	static const int dimensions[] = {2, 3};
	char path[32];
	int array[6] = {0};
	void *at = address(self);

	heap(self);
	suppress(self);
	AT_SIZE(memory_read, at, (size_t)5);
	snprintf(path, sizeof(path), "array%llu.csv", (ull)real_value(self));
	VALUE(self, av_save, (array, 2, dimensions, 4, path, 1));
	real_say(self, "av_save", "\"value\":%llu,\"extra\":2,\"path\":\"%s\"",
		 (ull)(uintptr_t)array, path);
	VALUE(self, state_get, ());
	real_say(self, "state_get", "\"x\":0");
	VALUE(self, state_set, (2));
	real_say(self, "state_set", "\"value\":2");
	VALUE(self, obj_mode_set, (3, 1));
	real_say(self, "obj_mode_set", "\"value\":3,\"extra\":1");
	VALUE(self, thr_mode_set, (1, 2));
	real_say(self, "thr_mode_set", "\"value\":1,\"extra\":2");
	AT_SIZE(memory_write, at, (size_t)6);
	AT_SIZE(memory_update, at, (size_t)7);
}

void real_modules(struct caller *self)
{
	static unsigned char image[64];
	char name[32];
	struct itt_section sections[] = {
		{".text", 3, 0x60000000, (void *)(uintptr_t)real_value(self), 4096, 64},
		{".data", 2, 0xC0000000, (void *)(uintptr_t)real_value(self), 512, 8192},
	};
	struct itt_module module = {1, real_id(self), 1, name, image, sizeof(image), sections, 2};
	char *at = address(self);

	snprintf(name, sizeof(name), "module %llu", (ull)real_value(self));
	CALL(self, module_load, (at, at + 4096, name));
	real_say(self, "module_load", "\"value\":%llu,\"extra\":%llu,\"text\":\"%s\"",
		 (ull)(uintptr_t)at, (ull)(uintptr_t)at + 4096, name);
	AT(module_unload, at);
	CALL(self, module_load_with_sections, (&module));
	real_say(self, "module_load_with_sections",
		 "\"id\":" ID_FORMAT ",\"detail\":1,\"value\":64,\"extra\":2,\"name\":\"%s\","
		 "\"sections\":[[\".text\",3,%u,%llu,4096,64],[\".data\",2,%u,%llu,512,8192]]",
		 ID_VALUES(module.id), name, 0x60000000u, (ull)(uintptr_t)sections[0].start,
		 0xC0000000u, (ull)(uintptr_t)sections[1].start);
	CALL(self, module_unload_with_sections, (&module));
	real_say(self, "module_unload_with_sections", "\"id\":" ID_FORMAT ",\"text\":\"%s\"",
		 ID_VALUES(module.id), name);
}

/* The Advisor's annotations. */
void real_model(struct caller *self)
{
	void *site = address(self), *instance = address(self);

#define NAMED(fn, args, text)                                                                      \
	CALL(self, fn, args);                                                                      \
	real_say(self, #fn, "\"text\":\"%s\"", text)
#define OF(fn, args, format)                                                                       \
	CALL(self, fn, args);                                                                      \
	real_say(self, #fn, "\"value\":%llu,\"extra\":%llu" format, (ull)(uintptr_t)site,          \
		 (ull)(uintptr_t)instance)
	OF(model_site_begin, (site, instance, "site"), ",\"text\":\"site\"");
	OF(model_task_begin, (site, instance, "task"), ",\"text\":\"task\"");
	AT(model_lock_acquire, site);
	AT(model_lock_release, site);
	AT_SIZE(model_record_allocation, site, (size_t)11);
	AT(model_record_deallocation, site);
	AT_SIZE(model_induction_uses, site, (size_t)12);
	AT_SIZE(model_reduction_uses, site, (size_t)13);
	AT_SIZE(model_observe_uses, site, (size_t)14);
	AT(model_clear_uses, site);
	OF(model_task_end, (site, instance), "");
	OF(model_site_end, (site, instance), "");
	NAMED(model_site_beginA, ("site A"), "site A");
	NAMED(model_site_beginAL, ("site AL!", 7), "site AL");
	NAMED(model_task_beginA, ("task A"), "task A");
	NAMED(model_task_beginAL, ("task AL!", 7), "task AL");
	NAMED(model_iteration_taskA, ("iteration"), "iteration");
	NAMED(model_iteration_taskAL, ("iteration!", 9), "iteration");
	PLAIN(model_task_end_2, ());
	PLAIN(model_site_end_2, ());
	AT(model_lock_acquire_2, site);
	AT(model_lock_release_2, site);
	CALL(self, model_aggregate_task, (77));
	real_say(self, "model_aggregate_task", "\"value\":77");
	CALL(self, model_disable_push, (1));
	real_say(self, "model_disable_push", "\"value\":1");
	PLAIN(model_disable_pop, ());
}
