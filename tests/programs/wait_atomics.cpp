// SPDX-License-Identifier: Apache-2.0
//
// What C++ waits in: atomics, semaphores and latches of C++20 (futex), mutexes and condition variables (pthreads); with -DWITH_TBB
// mutexes of TBB (futex). Each call is measured by the program itself, and printed as wait_told.h says.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_TBB
#include <oneapi/tbb/mutex.h>
#endif

struct line {
	const char *kind;
	int tid;
	long long begin, ns;
	int waker;
	long late;
};
static std::mutex guard;
static std::vector<line> lines;

static long long now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static long preempted()
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

template <class Call> static void told(const char *kind, const int &waker, Call call)
{
	long late = preempted();
	long long begin = now_ns();

	call();
	line made{kind, gettid(), begin, now_ns() - begin, waker, preempted() - late};
	std::lock_guard<std::mutex> hold(guard);
	lines.push_back(made);
}

static const int nobody = 0;

static void rest(int ms)
{
	const struct timespec wanted = {0, ms * 1000000};

	told("Sleep", nobody, [&] { nanosleep(&wanted, nullptr); });
}

enum { ROUNDS = 20 };

static void atomics()
{
	static std::atomic<int> value;
	static int setter;
	std::thread other([] {
		setter = gettid();
		for (int i = 1; i <= ROUNDS; i++) {
			rest(2);
			value = i;
			value.notify_one();
		}
	});

	for (int i = 0; i < ROUNDS; i++)
		told("Futex", setter, [&] { value.wait(i); });
	other.join();
}

static void semaphores()
{
	static std::counting_semaphore<8> semaphore(0);
	static std::latch latch(1);
	std::thread other([] {
		for (int i = 0; i < ROUNDS; i++) {
			rest(2);
			semaphore.release();
		}
		rest(5);
		latch.count_down();
		rest(10);
	});

	for (int i = 0; i < ROUNDS; i++)
		told("Futex", nobody, [] { semaphore.acquire(); });
	told("Futex", nobody, [] { latch.wait(); });
	told("Thread Join", nobody, [&] { other.join(); });
}

/* One thread has it, the other comes and waits for it until the first has had its rest. */
template <class Lock> static void contend(const char *kind, Lock &lock)
{
	std::binary_semaphore held(0), over(0);
	std::thread other([&] {
		for (int i = 0; i < ROUNDS; i++) {
			held.acquire();
			told(kind, nobody, [&] { lock.lock(); });
			lock.unlock();
			over.release();
		}
	});

	for (int i = 0; i < ROUNDS; i++) {
		lock.lock();
		held.release();
		rest(3);
		lock.unlock();
		over.acquire();
	}
	other.join();
}

static void locks()
{
	static std::mutex mutex;
	static std::shared_mutex shared;
	static std::condition_variable never;
	contend("Mutex", mutex);
	contend("Reader/Writer Lock", shared);
	std::unique_lock<std::mutex> hold(mutex);
	for (int i = 0; i < ROUNDS; i++)
		told("Condition Variable", nobody,
		     [&] { never.wait_for(hold, std::chrono::milliseconds(2)); });
}

#ifdef WITH_TBB
static void tbb_locks()
{
	static tbb::mutex mutex;

	contend("Futex", mutex);
}
#endif

int main()
{
#ifdef WITH_TBB
	tbb_locks();
#else
	atomics();
	semaphores();
	locks();
#endif
	for (const line &told : lines)
		printf("wait\t%s\t%d\t%lld\t%lld\t%d\t%ld\n", told.kind, told.tid, told.begin,
		       told.ns, told.waker, told.late);
	return 0;
}
