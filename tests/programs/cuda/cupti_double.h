/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that is not there: what a program calls in place of CUDA. Each call is one of the runtime, or of the driver,
 * and what it launches runs for the time that is asked for.
 */
#ifndef ST_TESTS_CUPTI_DOUBLE_H
#define ST_TESTS_CUPTI_DOUBLE_H

#include <stdint.h>

#pragma GCC visibility push(default)

/* As the driver does at its first use: loads what CUDA_INJECTION64_PATH names. */
void double_init(void);
/* Everything below answers the correlation id. A launch by the driver's interface when by_driver is set. */
uint32_t double_launch(const char *kernel, uint32_t device, uint32_t stream, uint32_t run_us,
		       int by_driver);
uint32_t double_copy(uint32_t device, uint32_t stream, uint64_t bytes, uint32_t run_us);
uint32_t double_fill(uint32_t device, uint32_t stream, uint64_t bytes, uint32_t run_us);
/* So many kernels of one graph, which the first call makes: all have the correlation id of the launch. */
uint32_t double_graph(uint32_t device, uint32_t stream, uint32_t nodes, uint32_t run_us);
/* Returns when all that was launched has run. */
uint32_t double_wait(void);
/* The same by a call that waits for a stream, or with UINT32_MAX for all of a device. */
uint32_t double_wait_for(uint32_t device, uint32_t stream);
/* Memory of a device is allocated, or released. */
uint32_t double_memory(uint32_t device, uint64_t address, uint64_t bytes, int is_release);
/* A function is loaded when it is first needed. */
void double_overhead(uint32_t run_us);
/* A call that tells nothing. */
void double_ask(void);
/* From now on strata's thread is kept waiting when it has read a buffer, until it is let go; and whether it is. */
void double_hold(int on);
int double_is_held(void);
/* The kinds that are on, a bit each. */
uint64_t double_kinds(void);
/* How often all that is done was handed over. */
unsigned int double_flushes(void);
/* How often somebody subscribed: whoever does takes torch's profiler its place. */
unsigned int double_subscriptions(void);

#pragma GCC visibility pop

#endif
