// SPDX-License-Identifier: Apache-2.0
//
// What the large libraries send, without the libraries.
// usage: library_patterns torch THREADS CALLS | onednn old|new WORKERS CALLS
//   torch: every call makes its handle again, out of 2,000 names; each tenth is a mark (a task of no length),
//   and each hundredth ends one task too many.
//   onednn: the caller runs a primitive whose task every worker repeats while it helps; "new" also sends
//   an id that caller and workers share and the problem as formatted metadata, "old" has neither.
#include <stdio.h>

#include "itt_static_part.h"

static struct itt_domain *domain;
static struct itt_string_handle *name, *format;
static long calls;
static int is_new;
static pthread_barrier_t gate;

static void *torch_thread(void *arg)
{
	char label[32];

	for (long i = 0; i < calls; i++) {
		snprintf(label, sizeof(label), "aten::op_%ld",
			 (i * 7 + (long)(intptr_t)arg) % 2000);
		itt_task_begin(domain, itt_string_handle_create(label));
		if (i % 10 == 9) {
			itt_task_begin(domain, itt_string_handle_create("mark"));
			itt_task_end(domain);
		}
		itt_task_end(domain);
		if (i % 100 == 99)
			itt_task_end(domain);
	}
	return NULL;
}

static int torch(long count)
{
	pthread_t threads[64];

	domain = itt_domain_create("PyTorch");
	if (count > 64)
		return 2;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, torch_thread, (void *)(intptr_t)i))
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static struct itt_id primitive_id(long call)
{
	return (struct itt_id){0x1000u, (unsigned long long)call + 1, 0};
}

/* The order of calls that was seen: the id comes after the begin, and goes after the end. */
static void begin_primitive(long call)
{
	void (*tell)(const struct itt_domain *, struct itt_string_handle *, ...) =
		ITT_CALL(void (*)(const struct itt_domain *, struct itt_string_handle *, ...),
			 formatted_metadata_add);
	void (*create)(const struct itt_domain *, struct itt_id) =
		ITT_CALL(void (*)(const struct itt_domain *, struct itt_id), id_create);

	itt_task_begin(domain, name);
	if (is_new && tell && create) {
		tell(domain, format, "cpu,convolution,jit,forward");
		create(domain, primitive_id(call));
	}
}

static void end_primitive(long call)
{
	void (*destroy)(const struct itt_domain *, struct itt_id) =
		ITT_CALL(void (*)(const struct itt_domain *, struct itt_id), id_destroy);

	itt_task_end(domain);
	if (is_new && destroy)
		destroy(domain, primitive_id(call));
}

static void *worker(void *arg)
{
	(void)arg;
	for (long call = 0; call < calls; call++) {
		pthread_barrier_wait(&gate); /* the caller's task is open */
		begin_primitive(call);
		end_primitive(call);
		pthread_barrier_wait(&gate);
	}
	return NULL;
}

static int onednn(long count)
{
	pthread_t threads[64];

	domain = itt_domain_create("dnnl::primitive::execute");
	name = itt_string_handle_create("convolution");
	format = itt_string_handle_create("%s");
	pthread_barrier_init(&gate, NULL, (unsigned int)count + 1);
	if (count > 64)
		return 2;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			return 1;
	for (long call = 0; call < calls; call++) {
		begin_primitive(call);
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
		end_primitive(call);
	}
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	calls = strtol(argv[argc - 1], NULL, 10);
	itt_part_load();
	if (!strcmp(argv[1], "torch"))
		return torch(strtol(argv[2], NULL, 10));
	is_new = !strcmp(argv[2], "new");
	return onednn(strtol(argv[3], NULL, 10));
}
