/* SPDX-License-Identifier: Apache-2.0
 *
 * What one recorded begin+end pair costs, beside two reads of the time-stamp counter in the same run:
 * thread CPU time, bursts that fit the ring, rings emptied between bursts, no drop allowed. One thread,
 * two threads, and one pair at a time with the second-level cache evicted.
 * usage: micro_pair [libstrata_collector.so]; prints one JSON object.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "micro_collector.h"

enum { BURSTS = 200, PAIRS = 12000, COLD_ROUNDS = 1500, EVICT_BYTES = 6 << 20 };

struct lane {
	pthread_t thread;
	uint32_t slot;
	double pair[BURSTS], reads[BURSTS];
};

static struct itt_domain *domain;
static struct itt_string_handle *names[16];
static pthread_barrier_t barrier;
static volatile uint64_t sink;

static double burst_of_pairs(void)
{
	double start = micro_cpu_ns();

	for (int i = 0; i < PAIRS; i++) {
		itt_task_begin(domain, names[i & 15]);
		itt_task_end(domain);
	}
	return (micro_cpu_ns() - start) / PAIRS;
}

static double burst_of_reads(void)
{
	double start = micro_cpu_ns();
	uint64_t sum = 0;

	for (int i = 0; i < PAIRS; i++) {
		sum += st_clock_tsc();
		sum -= st_clock_tsc();
	}
	sink = sum;
	return (micro_cpu_ns() - start) / PAIRS;
}

static uint32_t own_slot(void)
{
	uint32_t tid = (uint32_t)gettid();
	struct st_shm_slot *slots = (struct st_shm_slot *)(micro_header + 1);

	for (uint32_t i = 0; i < micro_header->slot_count; i++)
		if (atomic_load(&slots[i].tid) == tid &&
		    atomic_load(&slots[i].state) == ST_SLOT_OWNED)
			return i;
	micro_fail("no slot");
	return 0;
}

static void *lane_main(void *arg)
{
	struct lane *lane = arg;

	itt_task_begin(domain, names[0]);
	itt_task_end(domain);
	if (!micro_header)
		micro_accept();
	lane->slot = own_slot();
	pthread_barrier_wait(&barrier);
	for (int i = -5; i < BURSTS; i++) {
		double reads, pair;

		micro_drain(lane->slot);
		reads = burst_of_reads();
		pair = burst_of_pairs();
		if (i >= 0) {
			lane->reads[i] = reads;
			lane->pair[i] = pair;
		}
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void run_lanes(struct lane *lanes, unsigned int count)
{
	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned int i = 1; i < count; i++)
		if (pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]))
			micro_fail("thread");
	lane_main(&lanes[0]);
	for (unsigned int i = 1; i < count; i++)
		pthread_join(lanes[i].thread, NULL);
	pthread_barrier_destroy(&barrier);
}

static void fence(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

enum cold_kind { COLD_EMPTY, COLD_READS, COLD_PAIR, COLD_KINDS };

/* Ticks of one pair, two reads, or nothing, right after a walk that pushed everything out of L2. */
static double cold_once(enum cold_kind kind, volatile unsigned char *memory)
{
	uint64_t start;

	for (size_t i = 0; i < EVICT_BYTES; i += 64)
		memory[i]++;
	fence();
	start = st_clock_tsc();
	fence();
	if (kind == COLD_READS) {
		sink += st_clock_tsc();
		sink += st_clock_tsc();
	} else if (kind == COLD_PAIR) {
		itt_task_begin(domain, names[3]);
		itt_task_end(domain);
	}
	fence();
	return (double)(st_clock_tsc() - start);
}

static void print_cold(uint32_t slot)
{
	static double values[COLD_KINDS][COLD_ROUNDS];
	unsigned char *memory = calloc(1, EVICT_BYTES);
	struct micro_stats stats[COLD_KINDS];

	if (!memory)
		micro_fail("memory");
	micro_drain(slot);
	for (int i = 0; i < COLD_ROUNDS; i++)
		for (int kind = 0; kind < COLD_KINDS; kind++)
			values[kind][i] = cold_once((enum cold_kind)kind, memory);
	for (int kind = 0; kind < COLD_KINDS; kind++)
		stats[kind] = micro_stats(values[kind], COLD_ROUNDS);
	printf(",\"l2_cold\":{\"pair_ticks\":%.0f,\"pair_ticks_p90\":%.0f,\"two_reads_ticks\":%.0f,"
	       "\"bracket_ticks\":%.0f,\"ratio\":%.3f}",
	       stats[COLD_PAIR].median, stats[COLD_PAIR].high, stats[COLD_READS].median,
	       stats[COLD_EMPTY].median, stats[COLD_PAIR].median / stats[COLD_READS].median);
	free(memory);
}

static void print_lanes(const char *key, struct lane *lanes, unsigned int count)
{
	static double pair[2 * BURSTS], reads[2 * BURSTS], ratio[2 * BURSTS];
	struct micro_stats p, r, q;
	size_t n = 0;

	for (unsigned int i = 0; i < count; i++)
		for (int k = 0; k < BURSTS; k++, n++) {
			pair[n] = lanes[i].pair[k];
			reads[n] = lanes[i].reads[k];
			ratio[n] = pair[n] / reads[n];
		}
	p = micro_stats(pair, n);
	r = micro_stats(reads, n);
	q = micro_stats(ratio, n);
	printf("%s\"%s\":{\"pair_ns\":%.2f,\"pair_ns_p10\":%.2f,\"pair_ns_p90\":%.2f,"
	       "\"two_reads_ns\":%.2f,\"ratio\":%.3f,\"ratio_p10\":%.3f,\"ratio_p90\":%.3f}",
	       count > 1 ? "," : "", key, p.median, p.low, p.high, r.median, q.median, q.low,
	       q.high);
}

int main(int argc, char **argv)
{
	static struct lane one, two[2];
	char name[32];

	micro_load(micro_library(argc, argv));
	domain = itt_domain_create("bench");
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "aten::operation_%d", i);
		names[i] = itt_string_handle_create(name);
	}
	run_lanes(&one, 1);
	run_lanes(two, 2);
	printf("{\"bench\":\"micro_pair\",\"bursts\":%d,\"pairs_per_burst\":%d,", BURSTS, PAIRS);
	print_lanes("one_thread", &one, 1);
	print_lanes("two_threads", two, 2);
	print_cold(one.slot);
	printf(",\"dropped\":%llu}\n", (unsigned long long)micro_dropped());
	return micro_dropped() ? 1 : 0;
}
