/* SPDX-License-Identifier: Apache-2.0
 *
 * strata top: a view of a running program that is renewed every second, or plain tables.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/rt/clock.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/target.h"
#include "live/watch.h"
#include "request/options.h"
#include "request/values.h"

enum {
	POLL_MS = 10,
	PLAIN_WIDTH = 120,
	PLAIN_ROWS = 20,
	HEAD_LINES = 7,
	TEXT_MAX_BYTES = 4 << 20,
	NAME_MAX_BYTES = 64 << 10
};

enum sort { SORT_OWN, SORT_TOTAL, SORT_OWN_ALL, SORT_TOTAL_ALL };

struct view {
	const struct st_target *target;
	struct st_live_watch *watch;
	const struct st_live_table *table;
	enum sort sort;
	bool threads, halted, screen; /* screen: on a terminal */
	unsigned int width, rows;
	uint64_t limit; /* 0: as many as fit */
	struct st_buf out;
};

static volatile sig_atomic_t ended;

static void on_end(int number)
{
	(void)number;
	ended = 1;
}

static uint64_t weight_of(const struct st_live_row *row, enum sort sort)
{
	switch (sort) {
	case SORT_OWN:
		return row->recent_self_ns;
	case SORT_TOTAL:
		return row->recent_total_ns;
	case SORT_OWN_ALL:
		return row->self_ns;
	default:
		return row->total_ns;
	}
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct view *view = arg;
	const struct st_live_row *x = &view->table->rows[*(const uint32_t *)a];
	const struct st_live_row *y = &view->table->rows[*(const uint32_t *)b];
	uint64_t p = weight_of(x, view->sort), q = weight_of(y, view->sort);

	if (p != q)
		return p > q ? -1 : 1;
	return x->total_ns > y->total_ns ? -1 : x->total_ns < y->total_ns;
}

static int by_recent(const void *a, const void *b, void *arg)
{
	const struct view *view = arg;
	const struct st_live_thread_row *x = &view->table->threads[*(const uint32_t *)a];
	const struct st_live_thread_row *y = &view->table->threads[*(const uint32_t *)b];

	if (x->recent_ns != y->recent_ns)
		return x->recent_ns > y->recent_ns ? -1 : 1;
	return x->cpu_ns > y->cpu_ns ? -1 : x->cpu_ns < y->cpu_ns;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* One line, cut at the width on a terminal. */
static void put_line(struct view *view, const struct st_buf *line)
{
	size_t size = line->size_bytes, columns = 0, at = 0;
	const uint8_t *bytes = line->data;

	while (view->screen && at < size) {
		if ((bytes[at] & 0xc0) != 0x80 && columns++ == view->width)
			break;
		at++;
	}
	st_buf_append(&view->out, bytes, view->screen ? at : size);
	st_buf_append_text(&view->out, view->screen ? "\033[K\r\n" : "\n");
}

static void put(struct view *view, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct view *view, const char *format, ...)
{
	char text[4096];
	struct st_buf line;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *at = text; *at; at++)
		*at = st_console_harmless(*at); /* names come from the program */
	st_buf_init(&line, sizeof(text));
	st_buf_append_text(&line, text);
	put_line(view, &line);
	st_buf_fini(&line);
}

static void put_head(struct view *view)
{
	const struct st_live_table *table = view->table;
	uint32_t alive = 0, active = 0, left = 0;
	char command[160] = "", gone[32] = "";
	size_t used = 0;

	for (int i = 0; i < view->target->argc && used < sizeof(command); i++)
		used += (size_t)snprintf(command + used, sizeof(command) - used, "%s%s",
					 i ? " " : "", view->target->argv[i]);
	for (uint32_t i = 0; i < table->thread_count; i++) {
		bool is_alive = table->threads[i].alive,
		     is_active = table->threads[i].recent_ns > 0;

		alive += is_alive;
		active += is_alive && is_active;
		left += !is_alive && is_active;
	}
	if (left)
		snprintf(gone, sizeof(gone), ", %u more ended", left);
	put(view, "strata top  %s (%d)   %.1f s%s", command, view->target->pid,
	    seconds(table->elapsed_ns), view->halted ? "   HALTED" : "");
	put(view, "CPU %.2f of the last %.1f s   %u of %u sampled threads active%s   %llu samples",
	    table->recent_wall_ns ? (double)table->recent_ns / (double)table->recent_wall_ns : 0,
	    seconds(table->recent_wall_ns), active, alive, gone,
	    (unsigned long long)table->samples);
	if (table->has_python) {
		char holder[64] = "free now", version[32];

		st_target_python(table->python_version, version, sizeof(version));
		if (table->lock_holder)
			snprintf(holder, sizeof(holder), "held by thread %u now",
				 table->lock_holder);
		put(view, "Python %s   GIL held %.0f %% of the time, %s", version,
		    100 * table->lock_ratio, holder);
	}
	if (table->late || table->lost)
		put(view, "note: %llu samples without Python frames (read too late), %llu lost",
		    (unsigned long long)table->late, (unsigned long long)table->lost);
	if (table->dropped)
		put(view,
		    "note: %llu samples are not in the functions below: too many between two "
		    "tables",
		    (unsigned long long)table->dropped);
	if (table->note[0])
		put(view, "note: %s", table->note);
}

static void put_row(struct view *view, const struct st_live_row *row)
{
	const struct st_live_table *table = view->table;
	const struct st_live_frame *frame = &row->frame;
	char place[512] = "";
	struct st_buf name;

	if (frame->python)
		snprintf(place, sizeof(place), " (%.*s:%u)", (int)frame->source.size_bytes,
			 frame->source.bytes, frame->line);
	else if (frame->module.size_bytes)
		snprintf(place, sizeof(place), " (%.*s)", (int)frame->module.size_bytes,
			 frame->module.bytes);
	st_buf_init(&name, NAME_MAX_BYTES);
	st_target_function(frame, &name);
	put(view, "%5.1f%%  %6.1f%%  %8.2fs  %9.2fs  %.*s%s",
	    percent(row->recent_self_ns, table->recent_wall_ns),
	    percent(row->recent_total_ns, table->recent_wall_ns), seconds(row->self_ns),
	    seconds(row->total_ns), (int)name.size_bytes, (const char *)name.data, place);
	st_buf_fini(&name);
}

static uint32_t row_limit(const struct view *view, uint32_t count)
{
	uint64_t limit = view->limit ? view->limit : PLAIN_ROWS;

	if (view->screen && !view->limit)
		limit = view->rows > HEAD_LINES + 2 ? view->rows - HEAD_LINES - 2 : 1;
	return count < limit ? count : (uint32_t)limit;
}

static void put_functions(struct view *view, uint32_t *order)
{
	static const char *const sorts[] = {"own, recent", "total, recent", "own time",
					    "total time"};
	uint32_t count = view->table->row_count;

	put(view, "%6s  %7s  %9s  %10s  Function (sorted by %s)", "%Own", "%Total", "OwnTime",
	    "TotalTime", sorts[view->sort]);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_weight, view);
	for (uint32_t i = 0; i < row_limit(view, count); i++)
		put_row(view, &view->table->rows[order[i]]);
}

static void put_threads(struct view *view, uint32_t *order)
{
	const struct st_live_table *table = view->table;
	uint32_t count = table->thread_count;

	put(view, "%7s  %9s  Thread", "%CPU", "CPU Time");
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_recent, view);
	for (uint32_t i = 0; i < row_limit(view, count); i++) {
		const struct st_live_thread_row *thread = &table->threads[order[i]];
		const char *name = thread->name;

		if (!name[0])
			name = thread->tid == (uint32_t)view->target->pid ? "main" : "thread";
		put(view, "%6.1f%%  %8.2fs  %s (%u)%s%s",
		    percent(thread->recent_ns, table->recent_wall_ns), seconds(thread->cpu_ns),
		    name, thread->tid, thread->alive ? "" : ", ended",
		    table->lock_holder == thread->tid ? ", holds the GIL" : "");
	}
}

static void show(struct view *view)
{
	const struct st_live_table *table = view->table;
	uint32_t most =
		table->row_count > table->thread_count ? table->row_count : table->thread_count;
	uint32_t *order = calloc((size_t)most + 1, sizeof(*order));

	st_buf_clear(&view->out);
	if (view->screen)
		st_buf_append_text(&view->out, "\033[H");
	put_head(view);
	put(view, " ");
	if (order && view->screen && view->threads) {
		put_threads(view, order);
	} else if (order) {
		put_functions(view, order);
		if (!view->screen) {
			put(view, " ");
			put_threads(view, order);
			put(view, " ");
		}
	}
	if (view->screen)
		st_buf_append_text(
			&view->out,
			"\033[J\033[7m o own  t total  O/T since the start  h threads  r "
			"reset  space halt  q quit \033[0m");
	free(order);
	fwrite(view->out.data, 1, view->out.size_bytes, stdout);
	fflush(stdout);
}

static void renew(struct view *view)
{
	struct winsize size;

	if (view->screen && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) {
		view->width = size.ws_col;
		view->rows = size.ws_row;
	}
	view->table = st_live_watch_table(view->watch);
	show(view);
	st_live_watch_next(view->watch);
}

/* True: something to show at once. */
static bool take_key(struct view *view, char key)
{
	static const char sorts[] = "otOT";
	const char *at = key ? strchr(sorts, key) : NULL;

	if (key == 'q' || key == 3)
		ended = 1;
	else if (key == 'h')
		view->threads = !view->threads;
	else if (key == ' ')
		view->halted = !view->halted;
	else if (key == 'r')
		st_live_watch_reset(view->watch);
	else if (at)
		view->sort = (enum sort)(at - sorts);
	else
		return false;
	return view->table && key != 'r';
}

/* Until it is time for the next table; false: the program has ended, or somebody wants to end. */
static bool wait_until(struct view *view, int gone_fd, uint64_t until_ns)
{
	while (!ended && st_clock_mono_raw_ns() < until_ns) {
		struct pollfd polled[] = {
			{.fd = view->screen ? STDIN_FILENO : -1, .events = POLLIN},
			{.fd = gone_fd, .events = POLLIN}};
		char key;

		if (poll(polled, 2, POLL_MS) > 0) {
			if (polled[1].revents)
				return false;
			if (polled[0].revents && read(STDIN_FILENO, &key, 1) == 1 &&
			    take_key(view, key))
				show(view);
		}
		st_live_watch_poll(view->watch);
	}
	return !ended;
}

static void run(struct view *view, int gone_fd, uint64_t count, double interval_s)
{
	uint64_t next = st_clock_mono_raw_ns();

	for (uint64_t i = 0; i < count; i++) {
		bool on;

		next += (uint64_t)(interval_s * 1e9);
		on = wait_until(view, gone_fd, next);
		if (!view->halted || !on)
			renew(view);
		if (!on)
			break;
	}
}

static void run_on_screen(struct view *view, int gone_fd, uint64_t count, double interval_s)
{
	struct termios before, raw;
	bool keys = tcgetattr(STDIN_FILENO, &before) == 0;

	if (keys) {
		raw = before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs("\033[?1049h\033[?25l", stdout);
	run(view, gone_fd, count, interval_s);
	fputs("\033[?25h\033[?1049l", stdout);
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	/* What was last seen stays. */
	view->screen = false;
	view->limit = view->limit ? view->limit : PLAIN_ROWS;
	if (view->table)
		show(view);
}

struct plan {
	uint64_t count, limit;
	double interval_s;
	bool plain;
};

static enum st_status read_plan(const struct st_args *args, struct plan *plan, struct st_error *err)
{
	const char *count = st_args_value(args, ST_OPT_COUNT);
	const char *duration = st_args_value(args, ST_OPT_DURATION);
	const char *interval = st_args_value(args, ST_OPT_INTERVAL);
	const char *limit = st_args_value(args, ST_OPT_LIMIT);
	enum st_status status = ST_OK;

	*plan = (struct plan){.count = UINT64_MAX, .interval_s = 1};
	if (interval)
		status = st_value_seconds("interval", interval, &plan->interval_s, err);
	if (!status && plan->interval_s <= 0)
		status = st_error_set(err, ST_EUSAGE, 0, "-interval must be above 0");
	if (!status && count)
		status = st_value_count("count", count, 1, UINT32_MAX, &plan->count, err);
	if (!status && limit)
		status = st_value_count("limit", limit, 1, UINT32_MAX, &plan->limit, err);
	if (!status && duration && count)
		status = st_error_set(
			err, ST_EUSAGE, 0,
			"-count and -duration cannot be combined; -interval is the time "
			"between two tables");
	if (!status && duration) {
		plan->count = 1;
		status = st_value_seconds("duration", duration, &plan->interval_s, err);
	}
	plan->plain = count || duration || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	return status;
}

int st_cmd_top(const struct st_args *args)
{
	struct st_target target = {0};
	struct view view = {.target = &target, .width = PLAIN_WIDTH};
	struct st_error err = {0};
	struct plan plan;
	int gone_fd;

	if (read_plan(args, &plan, &err) || st_target_live(args, &target, &err))
		return st_console_fail(&err);
	gone_fd = (int)syscall(SYS_pidfd_open, target.pid, 0);
	if (gone_fd < 0 || st_live_watch_create(&view.watch, target.pid, target.all, &err)) {
		if (gone_fd < 0)
			st_error_set(&err, ST_EUSAGE, 0, "no process %d", target.pid);
		return st_console_fail(&err);
	}
	st_console_catch_ends(on_end);
	st_buf_init(&view.out, TEXT_MAX_BYTES);
	view.limit = plan.limit;
	view.screen = !plan.plain;
	if (plan.plain)
		run(&view, gone_fd, plan.count, plan.interval_s);
	else
		run_on_screen(&view, gone_fd, plan.count, plan.interval_s);
	st_live_watch_destroy(view.watch);
	st_buf_fini(&view.out);
	close(gone_fd);
	return ST_EXIT_OK;
}
