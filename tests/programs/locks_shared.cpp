/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads that count under a mutex and a reader/writer lock, without any race: for a sanitizer to find none.
 */
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::mutex mutex;
static std::shared_mutex both;
static int counted, changed;

static void count()
{
	for (int i = 0; i < 1000; i++) {
		std::lock_guard<std::mutex> held(mutex);

		counted++;
	}
	for (int i = 0; i < 100; i++) {
		std::unique_lock<std::shared_mutex> held(both);

		changed++;
	}
	std::shared_lock<std::shared_mutex> held(both);

	if (changed < 100)
		std::puts("lost");
}

int main()
{
	std::thread one(count), other(count);

	one.join();
	other.join();
	std::printf("%d %d\n", counted, changed);
	return 0;
}
