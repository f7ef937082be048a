/* SPDX-License-Identifier: Apache-2.0
 *
 * Enters PyTorch, through its exported symbols. The best level at which operators can be recorded is found first
 * (torch_probe.c); where the layout of their inputs is not proven, the framework is asked for the sizes of every
 * operator, and the program's own first operators may still prove it. Then it is told whom to call (torch_enlist.c).
 */
#include <string.h>

#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/python/python_itt.h"
#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/torch/torch_callbacks.h"
#include "collect/inproc/torch/torch_enlist.h"
#include "collect/inproc/torch/torch_fork.h"
#include "collect/inproc/torch/torch_library.h"
#include "collect/inproc/torch/torch_module.h"
#include "collect/inproc/torch/torch_stack.h"

enum { IDLE, INSTALLING, INSTALLED, GIVEN_UP };

struct st_torch_config st_torch_config;

static _Atomic uint32_t state;

static uint8_t digit(char text, char most)
{
	return text >= '0' && text <= most ? (uint8_t)(text - '0') : 0;
}

void st_torch_configure(const char *text)
{
	if (strncmp(text, "operator", 8) != 0)
		return;
	text += 8;
	if (!strncmp(text, "s=", 2))
		st_torch_config.operators = digit(text[2], '2');
	else if (!strncmp(text, "_memory=", 8))
		st_torch_config.memory = text[8] == '1';
	else if (!strncmp(text, "_modules=", 9)) {
		st_torch_config.modules = digit(text[9], '2');
		st_torch_config.outermost_modules = text[9] == '2';
	} else if (!strncmp(text, "_stacks=", 8))
		st_torch_config.stacks = text[8] == '1';
	else if (!strncmp(text, "_calls=", 7))
		st_torch_config.calls = text[7] == '1';
	else if (!strncmp(text, "_turns=", 7))
		st_torch_turns_configure(text + 7);
	else if (!strncmp(text, "_level=", 7))
		st_torch_config.level = digit(text[7], '9');
	else if (!strncmp(text, "_layout=", 8)) {
		st_torch_config.no_layout = text[8] == '0';
		st_torch_config.wrong_reads = text[8] == '2';
	}
}

static void start(const struct st_entered_program *program)
{
	/* Without Python there is time until PyTorch shows itself, if it ever does. */
	bool later = !program->joined && !st_python_is_here();

	st_torch_stacks_used = st_torch_config.stacks;
	if (st_torch_config.operators && (later || st_operator_init()))
		return;
	/* A process that joins another strata, or a child that does, stays registered with the framework. */
	if (!st_torch_installed())
		atomic_init(&state, GIVEN_UP);
	st_torch_config.modules = st_torch_config.stacks = false;
}

static bool is_idle(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) == IDLE;
}

bool st_torch_awaited(void)
{
	return st_config.active && is_idle();
}

bool st_torch_installed(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == INSTALLED;
}

/* The best level that holds now. */
static void find_level(void)
{
	const char *no_inputs = st_torch_config.operators < 2 ? "inputs were not requested" : NULL;

	if (!st_torch_can_ask()) {
		st_torch_settle(ST_OPERATORS_NAMES, "functions of the framework are missing");
	} else if (no_inputs || st_torch_config.level >= ST_OPERATORS_NAMES) {
		st_torch_settle(ST_OPERATORS_NAMES, no_inputs ? no_inputs : "forced");
	} else if (st_torch_is_contradicted()) {
		st_torch_settle(ST_OPERATORS_ASKED, "a check while recording had failed");
	} else if (st_torch_known.layout.record && st_torch_config.level <= ST_OPERATORS_IN_PLACE) {
		st_torch_settle(ST_OPERATORS_IN_PLACE, "");
	} else if (st_torch_config.level == ST_OPERATORS_ASKED) {
		st_torch_settle(ST_OPERATORS_ASKED, "forced");
	} else {
		if (!st_torch_known.learner.refused)
			st_torch_learn_on();
		st_torch_settle(ST_OPERATORS_ASKED, st_torch_refusal());
	}
}

static bool can_register(void)
{
	return st_torch_functions.add_global && st_torch_functions.name &&
	       st_torch_config.level < ST_OPERATORS_ITT;
}

static const char *itt_reason(void)
{
	return st_torch_functions.add_global && st_torch_functions.name ? "forced"
									: "no way to register";
}

void st_torch_itt_source(const char *how)
{
	const char *parts[] = {itt_reason(), ", ", how};
	char why[160] = "";
	size_t at = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t bytes = strnlen(parts[i], sizeof(why) - 1 - at);

		memcpy(why + at, parts[i], bytes);
		at += bytes;
	}
	st_torch_settle(ST_OPERATORS_ITT, why);
}

static bool install(void)
{
	if (!st_torch_library_find())
		return false;
	if (!can_register()) {
		st_torch_settle(ST_OPERATORS_ITT, itt_reason());
		st_torch_itt_want();
		return true;
	}
	if (st_torch_can_ask())
		st_torch_prove_layout();
	find_level();
	st_torch_enlist();
	if (!st_torch_can_switch())
		st_torch_turns.kind = ST_TURNS_NONE;
	st_torch_turns_begin();
	return true;
}

bool st_torch_switch(const struct st_torch_config *wanted)
{
	uint32_t forced = st_torch_config.level;

	st_torch_config = *wanted;
	st_torch_stacks_used = st_torch_stacks_used || wanted->stacks;
	if (!st_torch_config.level)
		st_torch_config.level = (uint8_t)forced;
	if (!wanted->operators) {
		st_torch_strike();
		return true;
	}
	if (atomic_load_explicit(&state, memory_order_relaxed) != INSTALLED) {
		if (!st_operator_init())
			return false;
		atomic_store_explicit(&state, IDLE, memory_order_relaxed);
		st_torch_trigger();
	} else if (can_register() && st_torch_enlisted() != wanted->operators) {
		st_torch_strike();
		find_level();
		st_torch_enlist();
	}
	return st_torch_installed() && st_torch_enlisted();
}

void st_torch_trigger(void)
{
	uint32_t expected = IDLE;

#if !defined(__x86_64__)
	/* The place of a returned object differs there: begin would have to be written in assembly. */
	atomic_store_explicit(&state, GIVEN_UP, memory_order_relaxed);
#endif
	if (!atomic_compare_exchange_strong(&state, &expected, INSTALLING))
		return;
	if (!st_operator_init())
		expected = GIVEN_UP;
	else
		expected = install() ? INSTALLED : IDLE;
	atomic_store_explicit(&state, expected, memory_order_release);
}

/* The libraries of PyTorch come in while its modules are imported, and before anything can be computed with it. Which names
 * are asked for in between depends on the version of Python: any of them will do. */
static void imported(struct py_object *name)
{
	static bool coming;

	if (ST_UNLIKELY(st_torch_awaited())) {
		if (coming)
			st_torch_trigger();
		else
			coming = st_python_name_is(name, "torch");
	}
	if (ST_UNLIKELY(st_torch_config.stacks))
		st_torch_stack_look();
	if (ST_UNLIKELY(st_torch_config.modules))
		st_torch_module_look();
}

static void pause_turns(void)
{
	st_torch_turns_pause();
	st_torch_follow();
}

static void resume_turns(void)
{
	st_torch_turns_resume();
	st_torch_follow();
}

static void retire(struct st_thread *thread)
{
	if (thread->identified)
		st_operator_close_ended(thread);
}

const struct st_inproc_backend st_backend_torch = {
	.name = "torch",
	.configure = st_torch_configure,
	.start = start,
	.imported = imported,
	.awaits_imports = is_idle,
	.pause = pause_turns,
	.resume = resume_turns,
	.thread_retire = retire,
	.before_fork = st_torch_before_fork,
	.after_fork = st_torch_after_fork,
	.forked = st_torch_forked,
	.forget = st_operator_undefine,
};
