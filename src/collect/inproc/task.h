/* SPDX-License-Identifier: Apache-2.0
 *
 * The recording functions that are bound into programs. Two sets of the hot ones, one per clock, so
 * that no record has to ask which clock it is.
 */
#ifndef ST_COLLECT_INPROC_TASK_H
#define ST_COLLECT_INPROC_TASK_H

#include <stdint.h>

#include "collect/inproc/itt_abi.h"

#pragma GCC visibility push(hidden)

void st_task_begin_tsc(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		       struct itt_string_handle *name);
void st_task_end_tsc(const struct itt_domain *domain);
void st_task_begin_mono(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			struct itt_string_handle *name);
void st_task_end_mono(const struct itt_domain *domain);

void st_task_begin_ex(const struct itt_domain *domain, void *clock_domain, unsigned long long time,
		      struct itt_id id, struct itt_id parent, struct itt_string_handle *name);
void st_task_end_ex(const struct itt_domain *domain, void *clock_domain, unsigned long long time);
void st_task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		      void *fn);

void st_control_pause(void);
void st_control_resume(void);
void st_control_detach(void);

#pragma GCC visibility pop

#endif
