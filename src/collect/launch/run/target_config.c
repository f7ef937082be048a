// SPDX-License-Identifier: Apache-2.0
//
// Writes STRATA_CONFIG (format/ring_record.h): keys and values that need no quoting anywhere.
#include "collect/launch/run/target_config.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "collect/launch/run/collect.h"
#include "collect/launch/run/sampling.h"
#include "format/analysis.h"
#include "format/shm.h"

/* Bytes that could be taken for a separator, or that some shell would change, travel as %XX. */
static void append_patterns(struct st_buf *out, const char *patterns)
{
	for (; *patterns; patterns++) {
		unsigned char byte = (unsigned char)*patterns;

		if ((isalnum(byte) && byte < 0x80) || strchr("_-.*?!,", byte))
			st_buf_append_u8(out, byte);
		else
			st_buf_printf(out, "%%%02X", byte);
	}
}

static void append_sampling(struct st_buf *out, const struct st_target_config *target)
{
	const struct st_sampling_config *asked = &target->config->sampling;
	const struct st_sampling_plan *plan = target->sampling;

	st_buf_printf(out, ";sample_ns=%llu;sample_trigger=%s;sample_stacks=%d;sample_defer=1",
		      (unsigned long long)plan->period_ns,
		      plan->trigger == ST_TRIGGER_CYCLES ? "cycles" : "cpu_clock",
		      asked->stacks != ST_CHOICE_OFF);
	if (target->own_events)
		st_buf_append_text(out, ";sample_own=1");
	if (plan->trigger == ST_TRIGGER_CPU_CLOCK && target->ticks_per_second)
		st_buf_printf(out, ";sample_ticks=%llu",
			      (unsigned long long)((double)plan->period_ns *
						   (double)target->ticks_per_second / 1e9));
	if (asked->depth)
		st_buf_printf(out, ";sample_depth=%u", asked->depth);
	if (asked->processes) {
		st_buf_append_text(out, ";sample_processes=");
		append_patterns(out, asked->processes);
	}
}

static bool is_on(enum st_choice choice, bool by_default)
{
	return choice == ST_CHOICE_DEFAULT ? by_default : choice == ST_CHOICE_ON;
}

/* Calls of modules inside of others cost something each: few analyses switch them on. A step is about an outermost one. */
static unsigned int module_level(enum st_choice choice, bool by_default)
{
	enum { NONE, ALL, OUTERMOST };

	if (choice == ST_CHOICE_DEFAULT)
		return by_default ? ALL : OUTERMOST;
	return choice == ST_CHOICE_ON ? ALL : NONE;
}

/* Samples alone cost little: where they are what is wanted, operators beside them are to cost as little. */
static void append_turns(struct st_buf *out, const struct st_target_config *target)
{
	const struct st_collect_config *config = target->config;
	uint64_t ticks = target->ticks_per_second ? target->ticks_per_second : 1000000000u;
	bool in_bursts = config->analysis->purpose & (ST_RECORDS_SAMPLES | ST_RECORDS_WAITS) &&
			 config->operators.on == ST_CHOICE_DEFAULT;

	if (in_bursts || config->operators.measured == ST_CHOICE_ON)
		st_buf_printf(out, ";operator_turns=%d,%llu", in_bursts ? 1 : 2,
			      (unsigned long long)(ticks / 1000));
}

/* Programs without the framework pay nothing for it. Memory costs every allocation a lock: few analyses switch it on. */
static void append_operators(struct st_buf *out, const struct st_target_config *target)
{
	const struct st_collect_config *config = target->config;
	const struct st_operators_config *asked = &config->operators;
	uint32_t records = config->analysis->records;

	if (!is_on(asked->on, records & ST_RECORDS_OPERATORS))
		return;
	st_buf_printf(out, ";operators=%d;operator_memory=%d;operator_modules=%u",
		      is_on(asked->shapes, records & ST_RECORDS_SHAPES) ? 2 : 1,
		      is_on(asked->memory, records & ST_RECORDS_MEMORY),
		      module_level(asked->modules, records & ST_RECORDS_MODULES));
	if (is_on(asked->stacks, records & ST_RECORDS_STACKS))
		st_buf_append_text(out, ";operator_stacks=1");
	append_turns(out, target);
}

/* Often enough that a kill loses little, seldom enough that it costs nothing. */
static void append_python_calls(struct st_buf *out, uint64_t ticks_per_second)
{
	enum { A_SECOND = 4 };

	st_buf_printf(out, ";python_calls=%llu",
		      (unsigned long long)((ticks_per_second ? ticks_per_second : 1000000000u) /
					   A_SECOND));
}

unsigned int st_target_config_devices(const struct st_collect_config *config)
{
	enum { OFF, AUTO, CALLS, GRAPHS, LIGHT, BYTES };

	switch (config->devices) {
	case ST_DEVICES_OFF:
		return OFF;
	case ST_DEVICES_CALLS:
		return CALLS;
	case ST_DEVICES_GRAPHS:
		return GRAPHS;
	case ST_DEVICES_BYTES:
		return BYTES;
	case ST_DEVICES_ON:
		return AUTO;
	case ST_DEVICES_LIGHT:
		return LIGHT;
	default:
		return config->analysis->records & ST_RECORDS_DEVICES ? AUTO : OFF;
	}
}

static void append_devices(struct st_buf *out, const struct st_target_config *target)
{
	unsigned int devices = st_target_config_devices(target->config);

	if (!devices)
		return;
	st_buf_printf(out, ";device=%u", devices);
	if (target->cuda_chained) {
		st_buf_append_text(out, ";device_chained=");
		append_patterns(out, target->cuda_chained);
	}
	if (target->ze_library) {
		st_buf_append_text(out, ";device_ze=");
		append_patterns(out, target->ze_library);
	}
}

/* Stacks of shorter waits would change how often threads meet at a lock. */
static void append_waits(struct st_buf *out, const struct st_target_config *target)
{
	enum { STACK_US = 100 };
	uint64_t per_second = target->ticks_per_second ? target->ticks_per_second : 1000000000u;
	const struct st_waits_config *asked = &target->config->waits;

	st_buf_printf(out, ";waits=%llu;wait_stack=%llu", (unsigned long long)(per_second / 1000),
		      (unsigned long long)(asked->has_stack_us ? asked->stack_us : STACK_US));
}

void st_target_config_text(struct st_buf *out, const struct st_target_config *target)
{
	const struct st_collect_config *config = target->config;

	st_buf_printf(out, "clock=%s;slots=%d;paused=%d", target->clock, ST_SHM_SLOTS,
		      target->paused);
	if (config->ring_kib)
		st_buf_printf(out, ";ring=%u", config->ring_kib);
	if (target->paused && target->resume_at_ns)
		st_buf_printf(out, ";resume_at=%llu", (unsigned long long)target->resume_at_ns);
	if (config->has_itt_groups)
		st_buf_printf(out, ";groups=%x", config->itt_groups);
	if (config->itt_domains) {
		st_buf_append_text(out, ";domains=");
		append_patterns(out, config->itt_domains);
	}
	if (config->task_lines)
		st_buf_printf(out, ";task_lines=%d", config->task_lines == ST_CHOICE_ON);
	if (config->offer_itt)
		st_buf_printf(out, ";offer_itt=%d", config->offer_itt == ST_CHOICE_ON);
	append_operators(out, target);
	if (is_on(config->python_calls, config->analysis->records & ST_RECORDS_CALLS))
		append_python_calls(out, target->ticks_per_second);
	append_devices(out, target);
	if (config->analysis->records & ST_RECORDS_WAITS)
		append_waits(out, target);
	if (target->sampling)
		append_sampling(out, target);
	if (target->result) {
		st_buf_append_text(out, ";result=");
		append_patterns(out, target->result);
	}
	st_buf_append_u8(out, '\0');
}
