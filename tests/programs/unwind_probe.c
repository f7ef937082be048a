// SPDX-License-Identifier: Apache-2.0
#include "unwind_probe.h"

#define UNW_LOCAL_ONLY
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "format/sample_record.h"
#include "unwind/build.h"
#include "unwind/rt/step.h"

enum { MODULES_MAX = 1024, FRAMES_MAX = 1024, HIDE_FRAMES = 3, NAME_BYTES = 512 };

#define ADDRESS_MASK (~(ST_FRAME_WORD_RECOVERED | ST_FRAME_WORD_EXACT))

struct stack {
	uint64_t frames[FRAMES_MAX];
	uint32_t count, flags;
};

static struct st_unwind_module modules[MODULES_MAX], split[MODULES_MAX + 1];
static const struct st_unwind_table *derived[MODULES_MAX];
static uint32_t module_count;
static struct probe_result total;
static struct stack truth, other;
static struct st_walk_frame states[FRAMES_MAX];
static uint64_t stack_high;
static bool used_derived; /* by the truth */
static timer_t timer;
static struct itimerspec pause_between;
static uint64_t derived_max_bytes;
static pid_t process;
static struct st_unwind_cache *rules;

static bool read_code(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	struct iovec here = {out, size_bytes}, there = {(void *)(uintptr_t)address, size_bytes};

	(void)arg;
	return process_vm_readv(process, &here, 1, &there, 1, 0) == (ssize_t)size_bytes;
}

static const struct st_unwind_table *build(const char *path, uint64_t start, uint32_t flags)
{
	struct st_unwind_image image;
	struct st_error err = {0};

	if (path[0] == '/')
		return st_unwind_build_file(&image, path, flags, &err) ? NULL : image.table;
	if (!strcmp(path, "[vdso]"))
		return st_unwind_build_memory(&image, (void *)(uintptr_t)start, 8192, &err)
			       ? NULL
			       : image.table;
	return NULL;
}

static void add_mapping(const char *line)
{
	unsigned long start, end, offset;
	char rights[8], path[NAME_BYTES] = "";
	struct st_unwind_module *module = &modules[module_count];
	char *at;

	start = strtoul(line, &at, 16);
	end = strtoul(at + 1, &at, 16);
	snprintf(rights, sizeof(rights), "%.4s", at + 1);
	offset = strtoul(at + 6, &at, 16);
	at = strpbrk(line, "/[");
	if (at)
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
	if (rights[2] != 'x' || module_count == MODULES_MAX)
		return;
	*module = (struct st_unwind_module){.start = start, .end = end};
	module->table = build(path, start, 0);
	if (!module->table || !st_unwind_table_bias(module->table, start, offset, &module->bias))
		return;
	derived[module_count++] =
		end - start <= derived_max_bytes ? build(path, start, ST_BUILD_NO_CFI) : NULL;
}

static void find_modules(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[NAME_BYTES + 128];

	while (maps && fgets(line, sizeof(line), maps))
		add_mapping(line);
	if (maps)
		fclose(maps);
}

static struct st_walk walk_of(const ucontext_t *context, struct stack *out)
{
	const greg_t *registers = context->uc_mcontext.gregs;

	return (struct st_walk){
		.modules = {modules, module_count},
		.generation = 1,
		.pc = (uint64_t)registers[REG_RIP],
		.sp = (uint64_t)registers[REG_RSP],
		.fp = (uint64_t)registers[REG_RBP],
		.bx = (uint64_t)registers[REG_RBX],
		.context = (const uint64_t *)registers,
		.stack_low = (uint64_t)registers[REG_RSP],
		.stack_high = stack_high,
		.stack = (const uint8_t *)(uintptr_t)registers[REG_RSP],
		.read_code = read_code,
		.frames = out->frames,
		.frames_max = FRAMES_MAX,
		.recover = true,
	};
}

static void run(struct st_walk *walk, struct stack *out)
{
	st_walk_run(walk);
	out->count = walk->frame_count;
	out->flags = walk->flags;
}

static bool same_frames(const struct stack *left, const struct stack *right)
{
	if (left->count != right->count)
		return false;
	for (uint32_t i = 0; i < left->count; i++)
		if ((left->frames[i] & ADDRESS_MASK) != (right->frames[i] & ADDRESS_MASK))
			return false;
	return true;
}

static void score(struct probe_score *to, const struct stack *got)
{
	if (got->flags & ST_SAMPLE_TRUNCATED) {
		to->none++;
		return;
	}
	if (!(got->flags & ST_SAMPLE_RECOVERED))
		total.unflagged++;
	if (same_frames(got, &truth)) {
		to->right++;
		return;
	}
	to->wrong++;
	if (to != &total.anonymous_leaf || !getenv("PROBE_SHOW"))
		return;
	fprintf(stderr, "anonymous leaf wrong: %u frames, got %u\n", truth.count, got->count);
	for (uint32_t i = 0; i < 6 && i < truth.count && i < got->count; i++)
		fprintf(stderr, "  %#lx (sp %#lx fp %#lx) got %#lx\n", truth.frames[i],
			states[i].sp, states[i].fp, got->frames[i]);
}

static void compare_libunwind(ucontext_t *context)
{
	unw_cursor_t cursor;
	int step = 0;

	other.count = 0;
	if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) != 0)
		return;
	do {
		unw_word_t ip = 0;

		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		if (!ip || other.count == FRAMES_MAX)
			break;
		other.frames[other.count++] = ip;
		step = unw_step(&cursor);
	} while (step > 0);
	if (step < 0 || !other.count)
		total.libunwind.none++;
	else if (same_frames(&other, &truth))
		total.libunwind.right++;
	else
		total.libunwind.wrong++;
}

/* The function that holds a frame of the truth. */
static struct st_unwind_module *function_of(uint32_t frame, uint64_t *start, uint64_t *end)
{
	uint64_t pc = states[frame].pc - !states[frame].exact;

	for (uint32_t i = 0; i < module_count; i++) {
		if (pc < modules[i].start || pc >= modules[i].end)
			continue;
		if (!st_unwind_table_function(modules[i].table, pc - modules[i].bias, start, end))
			return NULL;
		*start += modules[i].bias;
		*end += modules[i].bias;
		return &modules[i];
	}
	return NULL;
}

static bool is_called_indirectly(uint32_t frame)
{
	uint64_t target, address = truth.frames[frame + 1] & ADDRESS_MASK;
	uint8_t bytes[ST_ARCH_CALL_BYTES];

	return read_code(NULL, address - sizeof(bytes), bytes, sizeof(bytes)) &&
	       st_unwind_arch_x86_64.call_before(bytes, address, &target) == ST_CALL_INDIRECT;
}

/* The module that holds the function falls apart: the function itself is in none. */
static void hide_from_modules(const struct st_unwind_module *module, uint64_t start, uint64_t end)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < module_count; i++) {
		split[count++] = modules[i];
		if (&modules[i] != module)
			continue;
		split[count - 1].end = start;
		split[count] = modules[i];
		split[count++].start = end;
	}
}

static void try_anonymous_leaf(const ucontext_t *context)
{
	struct st_walk walk = walk_of(context, &other);
	const struct st_unwind_module *module;
	uint64_t start, end;

	module = function_of(0, &start, &end);
	if (!module || truth.count < 2 || !is_called_indirectly(0))
		return;
	hide_from_modules(module, start, end);
	walk.modules = (struct st_unwind_modules){split, module_count + 1};
	run(&walk, &other);
	score(&total.anonymous_leaf, &other);
}

/* Rows of a function become gaps for the time of one walk: the tables are ours and in writable memory. */
static void try_hidden(const ucontext_t *context, uint32_t frame, struct probe_score *to)
{
	static uint16_t kept[1 << 16];
	struct st_walk walk = walk_of(context, &other);
	const struct st_unwind_table *table;
	const struct st_unwind_module *module;
	uint64_t start, end;
	uint32_t first, last;
	uint16_t *row_rules;

	module = function_of(frame, &start, &end);
	if (!module || frame + 1 >= truth.count)
		return;
	table = module->table;
	if (!st_unwind_table_row(table, start - module->bias, &first) ||
	    !st_unwind_table_row(table, end - 1 - module->bias, &last) || last - first >= 1 << 16)
		return;
	row_rules = (uint16_t *)(uintptr_t)st_unwind_table_row_rules(table);
	for (uint32_t i = first; i <= last; i++) {
		kept[i - first] = row_rules[i];
		row_rules[i] &= ST_ROW_FUNCTION;
	}
	run(&walk, &other);
	memcpy(row_rules + first, kept, (last - first + 1) * sizeof(*kept));
	score(to, &other);
}

/* The frames of the truth once more, with their registers. */
static bool keep_states(struct st_walk *walk)
{
	struct st_walker walker = {.walk = walk, .arch = &st_unwind_arch_x86_64};
	struct st_walk_frame frame = {.pc = walk->pc,
				      .sp = walk->sp,
				      .fp = walk->fp,
				      .bx = walk->bx,
				      .context = (const uint8_t *)walk->context,
				      .exact = true};

	used_derived = false;
	for (uint32_t i = 0; i < truth.count; i++) {
		const struct st_unwind_module *module =
			st_walk_module(walk, frame.pc - !frame.exact);
		const struct st_unwind_rule *rule;
		bool last;

		states[i] = frame;
		rule = module ? st_unwind_table_rule(module->table,
						     frame.pc - !frame.exact - module->bias)
			      : NULL;
		if (!rule || st_walk_step(&walker, &frame, rule, &last) != ST_WALK_COMPLETE)
			return false;
		used_derived |= (rule->flags & ST_RULE_DERIVED) != 0;
		if (last)
			return i + 1 == truth.count;
	}
	return false;
}

static void try_derived(const ucontext_t *context, uint32_t frame, struct probe_score *to)
{
	struct st_walk walk = walk_of(context, &other);
	struct st_walker walker = {.walk = &walk, .arch = &st_unwind_arch_x86_64};
	struct st_walk_frame state = states[frame];
	uint64_t address = state.pc - !state.exact;
	const struct st_unwind_module *module = st_walk_module(&walk, address);
	const struct st_unwind_table *table = module ? derived[module - modules] : NULL;
	const struct st_unwind_rule *rule;
	uint64_t start, end;
	bool last;

	/* Only where a symbol says that there is a function. */
	if (!table || !st_unwind_table_function(table, address - module->bias, &start, &end) ||
	    frame + 1 >= truth.count)
		return;
	rule = st_unwind_table_rule(table, address - module->bias);
	if (!rule || rule->cfa == ST_CFA_UNKNOWN) {
		to->none++;
		return;
	}
	memcpy(other.frames, truth.frames, (frame + 1) * sizeof(*other.frames));
	walk.frame_count = frame + 1;
	if (st_walk_step(&walker, &state, rule, &last) == ST_WALK_COMPLETE && !last &&
	    st_walk_push(&walk, state.pc) && st_walk_chain(&walker, &state) == ST_WALK_COMPLETE) {
		other.count = walk.frame_count;
		if (same_frames(&other, &truth)) {
			to->right++;
			return;
		}
	}
	to->wrong++;
	if (getenv("PROBE_SHOW"))
		fprintf(stderr, "derived wrong: frame %u at %#lx, function %#lx, rule %d r%d%+d\n",
			frame, (unsigned long)(address - module->bias), (unsigned long)start,
			rule->cfa, rule->cfa_register, rule->cfa_offset);
}

static void take(ucontext_t *context)
{
	struct st_walk walk = walk_of(context, &truth);
	struct timespec before, after;

	total.samples++;
	walk.cache = rules;
	clock_gettime(CLOCK_MONOTONIC, &before);
	run(&walk, &truth);
	clock_gettime(CLOCK_MONOTONIC, &after);
	total.walk_ns += (uint64_t)((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
				    before.tv_nsec);
	total.truncated += (truth.flags & ST_SAMPLE_TRUNCATED) != 0;
	if (truth.flags & ST_SAMPLE_TRUNCATED) {
		if (getenv("PROBE_SHOW"))
			fprintf(stderr, "truncated at %#lx after %u\n",
				(unsigned long)walk.missing_pc, truth.count);
		return;
	}
	total.recovered += (truth.flags & ST_SAMPLE_RECOVERED) != 0;
	if (truth.flags)
		return;
	total.complete++;
	total.frames += truth.count;
	if (!keep_states(&walk))
		return;
	/* Where the file itself says nothing libunwind has nothing to go by. */
	if (!used_derived)
		compare_libunwind(context);
	try_anonymous_leaf(context);
	try_hidden(context, 0, &total.leaf);
	for (uint32_t i = 1; i <= HIDE_FRAMES; i++)
		try_hidden(context, i, &total.middle);
	for (uint32_t i = 0; i < truth.count; i++)
		try_derived(context, i, i ? &total.derived : &total.derived_leaf);
}

/* The next one counts from the end of this one, in the thread's own time: the program gets on however long all this
 * takes. By the clock on the wall it would be seen where it waits for a processor, again and again in the same place. */
static void on_signal(int number, siginfo_t *info, void *arg)
{
	int saved = errno;

	(void)number;
	(void)info;
	take(arg);
	timer_settime(timer, 0, &pause_between, NULL);
	errno = saved;
}

static uint64_t own_stack_high(void)
{
	pthread_attr_t about;
	void *low = NULL;
	size_t size = 0;

	if (pthread_getattr_np(pthread_self(), &about) != 0)
		return 0;
	pthread_attr_getstack(&about, &low, &size);
	pthread_attr_destroy(&about);
	return (uint64_t)(uintptr_t)low + size;
}

__attribute__((visibility("default"))) int probe_start(int hz, uint64_t max_bytes)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};

	pause_between.it_value.tv_nsec = 1000000000L / hz;
	derived_max_bytes = max_bytes;
	process = getpid();
	memset(&total, 0, sizeof(total));
	if (!module_count)
		find_modules();
	if (!rules)
		rules = calloc(1, st_unwind_cache_bytes());
	stack_high = own_stack_high();
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	return module_count && rules && stack_high && !sigaction(SIGPROF, &action, NULL) &&
			       !timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) &&
			       !timer_settime(timer, 0, &pause_between, NULL)
		       ? 0
		       : -1;
}

__attribute__((visibility("default"))) void probe_stop(struct probe_result *result)
{
	timer_delete(timer);
	*result = total;
}
