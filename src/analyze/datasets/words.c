// SPDX-License-Identifier: Apache-2.0
//
// Words for ends, reasons and flags.
#include "analyze/datasets/words.h"

#include <string.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "store/events.h"
#include "store/result.h"

const char *st_words_wait_status(int wait_status, struct st_arena *arena)
{
	const char *name, *text;

	if (WIFEXITED(wait_status)) {
		text = st_arena_printf(arena, "exit %d", WEXITSTATUS(wait_status));
	} else if (WIFSIGNALED(wait_status)) {
		name = sigabbrev_np(WTERMSIG(wait_status));
		text = name ? st_arena_printf(arena, "SIG%s", name)
			    : st_arena_printf(arena, "signal %d", WTERMSIG(wait_status));
	} else {
		text = "end unknown";
	}
	return text ? text : "";
}

const char *st_words_process_end(const struct st_process *process, struct st_arena *arena)
{
	switch (process->end) {
	case ST_END_EXITED:
		return st_words_wait_status(process->wait_status, arena);
	case ST_END_GONE:
		return "ended";
	case ST_END_EXEC:
		return "exec";
	case ST_END_LEFT_RUNNING:
		return "left running";
	default:
		return "end unknown";
	}
}

const char *st_words_not_entered(enum st_not_entered reason)
{
	switch (reason) {
	case ST_NOT_ENTERED_STATIC:
		return "statically linked";
	case ST_NOT_ENTERED_SETUID:
		return "setuid or with capabilities";
	case ST_NOT_ENTERED_OTHER_LIBC:
		return "another C library";
	case ST_NOT_ENTERED_OTHER_CLASS:
		return "different CPU architecture or word size";
	case ST_NOT_ENTERED_ENVIRONMENT:
		return "cleared environment, or a different root folder without the collector";
	case ST_NOT_ENTERED_LAYOUT:
		return "collector from a different build";
	case ST_NOT_ENTERED_SANITIZER:
		return "its sanitizer allows no other library";
	case ST_NOT_ENTERED_MEMORY:
		return "no space for the recording: raise ulimit -f and ulimit -v";
	case ST_NOT_ENTERED_ENGINE:
		return "emulates or replays the program and handles its signals: profile it alone";
	case ST_NOT_ENTERED_GO:
		return "the Go runtime handles all signals itself: attach with -target-pid";
	default:
		return "reason unknown";
	}
}

const char *st_words_slice_flags(unsigned int flags)
{
	static const char *const words[] = {
		"",
		"unfinished",
		"clipped",
		"unfinished,clipped",
		"mismatched",
		"unfinished,mismatched",
		"clipped,mismatched",
		"unfinished,clipped,mismatched",
		"copy",
		"unfinished,copy",
		"clipped,copy",
		"unfinished,clipped,copy",
		"mismatched,copy",
		"unfinished,mismatched,copy",
		"clipped,mismatched,copy",
		"unfinished,clipped,mismatched,copy",
	};

	_Static_assert(ST_SLICE_UNFINISHED == 1 && ST_SLICE_CLIPPED == 2 &&
			       ST_SLICE_MISMATCHED == 4 && ST_SLICE_COPY == 8,
		       "the table is indexed by these bits");
	if (flags & ST_SLICE_TWIN)
		return "copy,twin";
	return words[flags & 15];
}

static const char *const event_words[ST_EVENT_KINDS] = {
	[ST_EVENT_TASK_ID] = "task_id",
	[ST_EVENT_TASK_LINE] = "task_line",
	[ST_EVENT_TASK_FN] = "task_fn",
	[ST_EVENT_TIMED_BEGIN] = "timed_begin",
	[ST_EVENT_TIMED_END] = "timed_end",
	[ST_EVENT_OVERLAPPED_BEGIN] = "overlapped_begin",
	[ST_EVENT_OVERLAPPED_END] = "overlapped_end",
	[ST_EVENT_TASK_GROUP] = "task_group",
	[ST_EVENT_REGION_BEGIN] = "region_begin",
	[ST_EVENT_REGION_END] = "region_end",
	[ST_EVENT_FRAME_BEGIN] = "frame_begin",
	[ST_EVENT_FRAME_END] = "frame_end",
	[ST_EVENT_FRAME_SUBMIT] = "frame_submit",
	[ST_EVENT_MARKER] = "marker",
	[ST_EVENT_ID_CREATE] = "id_create",
	[ST_EVENT_ID_DESTROY] = "id_destroy",
	[ST_EVENT_RELATION] = "relation",
	[ST_EVENT_METADATA] = "metadata",
	[ST_EVENT_METADATA_TEXT] = "metadata_text",
	[ST_EVENT_METADATA_SCOPED] = "metadata_scoped",
	[ST_EVENT_METADATA_TEXT_SCOPED] = "metadata_text_scoped",
	[ST_EVENT_METADATA_FORMATTED] = "metadata_formatted",
	[ST_EVENT_COUNTER_ADD] = "counter_add",
	[ST_EVENT_COUNTER_SET] = "counter_set",
	[ST_EVENT_COUNTER_DESTROY] = "counter_destroy",
	[ST_EVENT_HISTOGRAM] = "histogram",
	[ST_EVENT_USER_START] = "event_start",
	[ST_EVENT_USER_END] = "event_end",
	[ST_EVENT_MARK] = "mark",
	[ST_EVENT_MARK_OFF] = "mark_off",
	[ST_EVENT_SCOPE_PAUSE] = "scope_pause",
	[ST_EVENT_SCOPE_RESUME] = "scope_resume",
	[ST_EVENT_THREAD_IGNORE] = "thread_ignore",
	[ST_EVENT_SET_TRACK] = "set_track",
	[ST_EVENT_CALLER_CREATE] = "caller_create",
	[ST_EVENT_CALLER_DESTROY] = "caller_destroy",
	[ST_EVENT_CALLEE_ENTER] = "callee_enter",
	[ST_EVENT_CALLEE_LEAVE] = "callee_leave",
	[ST_EVENT_SYNC_CREATE] = "sync_create",
	[ST_EVENT_SYNC_RENAME] = "sync_rename",
	[ST_EVENT_SYNC_DESTROY] = "sync_destroy",
	[ST_EVENT_SYNC_PREPARE] = "sync_prepare",
	[ST_EVENT_SYNC_CANCEL] = "sync_cancel",
	[ST_EVENT_SYNC_ACQUIRED] = "sync_acquired",
	[ST_EVENT_SYNC_RELEASING] = "sync_releasing",
	[ST_EVENT_HEAP_ALLOCATE_BEGIN] = "heap_allocate_begin",
	[ST_EVENT_HEAP_ALLOCATE_END] = "heap_allocate_end",
	[ST_EVENT_HEAP_FREE_BEGIN] = "heap_free_begin",
	[ST_EVENT_HEAP_FREE_END] = "heap_free_end",
	[ST_EVENT_HEAP_REALLOCATE_BEGIN] = "heap_reallocate_begin",
	[ST_EVENT_HEAP_REALLOCATE_END] = "heap_reallocate_end",
	[ST_EVENT_HEAP_ACCESS_BEGIN] = "heap_access_begin",
	[ST_EVENT_HEAP_ACCESS_END] = "heap_access_end",
	[ST_EVENT_HEAP_GROWTH_BEGIN] = "heap_growth_begin",
	[ST_EVENT_HEAP_GROWTH_END] = "heap_growth_end",
	[ST_EVENT_HEAP_RESET] = "heap_reset",
	[ST_EVENT_HEAP_RECORD] = "heap_record",
	[ST_EVENT_SUPPRESS_PUSH] = "suppress_push",
	[ST_EVENT_SUPPRESS_POP] = "suppress_pop",
	[ST_EVENT_SUPPRESS_RANGE] = "suppress_range",
	[ST_EVENT_SUPPRESS_CLEAR] = "suppress_clear",
	[ST_EVENT_MODULE_LOAD] = "module_load",
	[ST_EVENT_MODULE_UNLOAD] = "module_unload",
	[ST_EVENT_MODULE_LOAD_SECTIONS] = "module_load_sections",
	[ST_EVENT_MODULE_UNLOAD_SECTIONS] = "module_unload_sections",
	[ST_EVENT_JIT] = "jit",
	[ST_EVENT_CALL] = "call",
	[ST_EVENT_FLOW_OUT] = "flow_out",
	[ST_EVENT_FLOW_IN] = "flow_in",
	[ST_EVENT_OPERATOR_TURN] = "operator_turn",
	[ST_EVENT_WAIT_SUM] = "wait_sum",
	[ST_EVENT_HOLD] = "hold",
	[ST_EVENT_HOLD_SUM] = "hold_sum",
	[ST_EVENT_WAIT_OBJECT] = "wait_object",
	[ST_EVENT_PARALLEL] = "parallel_region",
};

const char *st_words_event_kind(uint32_t kind)
{
	return kind < ST_EVENT_KINDS && event_words[kind] ? event_words[kind] : "unknown";
}

const char *st_words_span_kind(uint32_t kind)
{
	static const char *const words[ST_SPAN_KINDS] = {
		[ST_SPAN_OVERLAPPED] = "overlapped",
		[ST_SPAN_REGION] = "region",
		[ST_SPAN_FRAME] = "frame",
		[ST_SPAN_TIMED_TASK] = "timed",
		[ST_SPAN_USER_EVENT] = "event",
		[ST_SPAN_MARK] = "mark",
		[ST_SPAN_WAIT] = "wait",
		[ST_SPAN_HOLD] = "hold",
	};

	return kind < ST_SPAN_KINDS && words[kind] ? words[kind] : "unknown";
}

const char *st_words_object_kind(uint32_t kind)
{
	static const char *const words[ST_OBJECT_KINDS] = {
		[ST_OBJECT_COUNTER] = "counter",
		[ST_OBJECT_HISTOGRAM] = "histogram",
		[ST_OBJECT_HEAP_FUNCTION] = "heap_function",
		[ST_OBJECT_USER_EVENT] = "event",
		[ST_OBJECT_MARK_TYPE] = "mark",
		[ST_OBJECT_PT_REGION] = "pt_region",
		[ST_OBJECT_FRAME] = "frame",
		[ST_OBJECT_CLOCK] = "clock",
		[ST_OBJECT_TRACK_GROUP] = "track_group",
		[ST_OBJECT_TRACK] = "track",
		[ST_OBJECT_OTHERS] = "others",
	};

	return kind < ST_OBJECT_KINDS && words[kind] ? words[kind] : "unknown";
}

const char *st_words_span_flags(unsigned int flags)
{
	static const char *const words[] = {
		"",
		"unfinished",
		"clipped",
		"unfinished,clipped",
		"cancelled",
		"unfinished,cancelled",
		"clipped,cancelled",
		"unfinished,clipped,cancelled",
		"estimated",
		"unfinished,estimated",
		"clipped,estimated",
		"unfinished,clipped,estimated",
		"cancelled,estimated",
		"unfinished,cancelled,estimated",
		"clipped,cancelled,estimated",
		"unfinished,clipped,cancelled,estimated",
	};

	return words[(flags & 3) | (flags & ST_SPAN_CANCELLED ? 4 : 0) |
		     (flags & ST_SPAN_ESTIMATED ? 8 : 0)];
}
