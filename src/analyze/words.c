// SPDX-License-Identifier: Apache-2.0
//
// Words for ends, reasons and flags.
#include "analyze/words.h"

#include <string.h>
#include <sys/wait.h>

#include "base/arena.h"
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
		return "another machine type or word size";
	case ST_NOT_ENTERED_ENVIRONMENT:
		return "emptied environment, or another root without the collector";
	case ST_NOT_ENTERED_LAYOUT:
		return "collector of another build";
	case ST_NOT_ENTERED_SANITIZER:
		return "its sanitizer admits no other library";
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
	return words[flags & 15];
}
