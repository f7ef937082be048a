/* SPDX-License-Identifier: Apache-2.0
 *
 * What everything but a plain pair costs, each beside two reads of the time-stamp counter in the same run:
 * thread CPU time, bursts that fill less than half of a ring (what may come in floods is only written while
 * there is that much room), rings emptied between bursts. And what a call costs that is not recorded: into a
 * domain that is switched off, and with no collector there at all.
 * usage: micro_events [libstrata_collector.so]; prints one JSON object.
 */
#include "micro_collector.h"

enum { BURSTS = 200, CALLS = 2000, U64 = 1 };

typedef const struct itt_domain *domain_t;
typedef struct itt_string_handle *name_t;

static struct itt_domain *domain, *off;
static name_t name, format;
static const struct itt_id none;
static void *counter;
static char lock;
static volatile uint64_t sink;

/* The pointers are read at every call, as the macros of the interface do. */
#define DO(function, types, ...)                                                                   \
	do {                                                                                       \
		void(*call) types = ITT_CALL(void(*) types, function);                             \
		if (call)                                                                          \
			call(__VA_ARGS__);                                                         \
	} while (0)

static void two_reads(uint64_t i)
{
	sink = st_clock_tsc() + i;
	sink -= st_clock_tsc();
}

static void pair(uint64_t i)
{
	(void)i;
	itt_task_begin(domain, name);
	itt_task_end(domain);
}

static void pair_with_id(uint64_t i)
{
	struct itt_id id = {i + 1, i, 0}, parent = {1, 1, 0};

	DO(task_begin, (domain_t, struct itt_id, struct itt_id, name_t), domain, id, parent, name);
	itt_task_end(domain);
}

static void overlapped_pair(uint64_t i)
{
	struct itt_id id = {i + 1, i, 0};

	DO(task_begin_overlapped, (domain_t, struct itt_id, struct itt_id, name_t), domain, id,
	   none, name);
	DO(task_end_overlapped, (domain_t, struct itt_id), domain, id);
}

static void counter_set(uint64_t i)
{
	uint64_t value = i * 1000;

	DO(counter_set_value, (void *, void *), counter, &value);
}

static void metadata(uint64_t i)
{
	uint64_t value = i;

	DO(metadata_add, (domain_t, struct itt_id, name_t, int, size_t, void *), domain, none, name,
	   U64, 1, &value);
}

static void formatted(uint64_t i)
{
	DO(formatted_metadata_add, (domain_t, name_t, ...), domain, format, "convolution",
	   (int)(i & 1023));
}

static void marker(uint64_t i)
{
	(void)i;
	DO(marker, (domain_t, struct itt_id, name_t, int), domain, none, name, 3);
}

/* One wait and one hold: prepare, acquired, releasing. */
static void sync_round(uint64_t i)
{
	(void)i;
	DO(sync_prepare, (void *), &lock);
	DO(sync_acquired, (void *), &lock);
	DO(sync_releasing, (void *), &lock);
}

static void frame(uint64_t i)
{
	(void)i;
	DO(frame_begin_v3, (domain_t, struct itt_id *), domain, NULL);
	DO(frame_end_v3, (domain_t, struct itt_id *), domain, NULL);
}

static void off_pair(uint64_t i)
{
	(void)i;
	itt_task_begin(off, name);
	itt_task_end(off);
}

/* Without a collector there are no domains. */
static void no_pair(uint64_t i)
{
	struct itt_domain *volatile nothing = NULL;
	struct itt_domain *there = nothing;

	(void)i;
	itt_task_begin(there, name);
	itt_task_end(there);
}

static const struct kind {
	const char *key;
	void (*call)(uint64_t i);
} kinds[] = {
	{"two_reads", two_reads},	{"pair", pair},
	{"pair_with_id", pair_with_id}, {"overlapped_pair", overlapped_pair},
	{"counter_set", counter_set},	{"metadata", metadata},
	{"formatted", formatted},	{"marker", marker},
	{"sync_round", sync_round},	{"frame", frame},
	{"off_pair", off_pair},		{"no_pair", no_pair},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static double burst(void (*call)(uint64_t))
{
	double start = micro_cpu_ns();

	for (uint64_t i = 0; i < CALLS; i++)
		call(i);
	return (micro_cpu_ns() - start) / CALLS;
}

static uint64_t events_dropped(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < micro_header->slot_count; i++)
		sum += atomic_load(&micro_ring(i)->events_dropped);
	return sum;
}

int main(int argc, char **argv)
{
	static double ns[KINDS][BURSTS], ratio[KINDS][BURSTS];

	micro_load(micro_library(argc, argv));
	domain = itt_domain_create("bench");
	off = itt_domain_create("off");
	off->flags = 0; /* as the collector leaves a domain that the user does not want */
	name = itt_string_handle_create("aten::operation");
	format = itt_string_handle_create("%s,%d");
	counter = ITT_CALL(void *(*)(const char *, const char *, int),
			   counter_create_typed)("counter", "bench", U64);
	itt_task_begin(domain, name);
	micro_accept();
	for (int i = -5; i < BURSTS; i++)
		for (int kind = 0; kind < KINDS; kind++) {
			double taken;

			micro_drain(0);
			taken = burst(kinds[kind].call);
			if (i >= 0) {
				ns[kind][i] = taken;
				ratio[kind][i] = taken / ns[0][i];
			}
		}
	printf("{\"bench\":\"micro_events\",\"bursts\":%d,\"calls_per_burst\":%d", BURSTS, CALLS);
	for (int kind = 0; kind < KINDS; kind++) {
		struct micro_stats taken = micro_stats(ns[kind], BURSTS);
		struct micro_stats beside = micro_stats(ratio[kind], BURSTS);

		printf(",\"%s\":{\"ns\":%.2f,\"ns_p10\":%.2f,\"ns_p90\":%.2f,\"ratio\":%.3f}",
		       kinds[kind].key, taken.median, taken.low, taken.high, beside.median);
	}
	printf(",\"dropped\":%llu}\n", (unsigned long long)(micro_dropped() + events_dropped()));
	return micro_dropped() + events_dropped() ? 1 : 0;
}
