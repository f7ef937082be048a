// SPDX-License-Identifier: Apache-2.0
//
// A TBB program: algorithms, a task group, a flow graph and locks, with the profiling notes switched on
// that TBB's headers offer.
// usage: tbb_work ROUNDS
#define TBB_USE_PROFILING_TOOLS 1
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/profiling.h>
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstdio>
#include <cstdlib>

static long with_algorithms(tbb::queuing_mutex &mutex)
{
	long total = 0;

	tbb::parallel_for(0, 64, [&](int i) {
		tbb::queuing_mutex::scoped_lock held(mutex);
		total += i;
	});
	return total + tbb::parallel_reduce(
			       tbb::blocked_range<int>(0, 1000), 0L,
			       [](const tbb::blocked_range<int> &range, long sum) {
				       for (int i = range.begin(); i != range.end(); i++)
					       sum += i;
				       return sum;
			       },
			       [](long a, long b) { return a + b; });
}

static long with_tasks(tbb::spin_mutex &mutex)
{
	tbb::task_group group;
	long total = 0;

	for (int i = 0; i < 16; i++)
		group.run([&, i] {
			tbb::spin_mutex::scoped_lock held(mutex);
			total += i;
		});
	group.wait();
	return total;
}

static long with_a_graph()
{
	tbb::flow::graph graph;
	long total = 0;
	tbb::flow::function_node<int, int> twice(graph, tbb::flow::unlimited, [](int value) { return 2 * value; });
	tbb::flow::function_node<int, int> add(graph, tbb::flow::serial, [&](int value) {
		total += value;
		return value;
	});

	tbb::profiling::set_name(twice, "twice");
	tbb::profiling::set_name(add, "add");
	tbb::flow::make_edge(twice, add);
	for (int i = 0; i < 8; i++)
		twice.try_put(i);
	graph.wait_for_all();
	return total;
}

int main(int argc, char **argv)
{
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
	tbb::queuing_mutex queuing;
	tbb::spin_mutex spinning;
	long total = 0;

	(void)argc;
	tbb::profiling::set_name(queuing, "the queuing lock");
	tbb::profiling::set_name(spinning, "the spinning lock");
	for (long round = std::strtol(argv[1], nullptr, 10); round > 0; round--)
		total += with_algorithms(queuing) + with_tasks(spinning) + with_a_graph();
	std::printf("total %ld\n", total);
	return 4;
}
