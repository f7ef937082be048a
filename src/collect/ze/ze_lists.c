/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of commands. What is appended to an immediate one runs at once; what is in a regular one runs when the list is
 * executed, every time: its events are read before the next time.
 */
#include <string.h>

#include "collect/devices/handles.h"
#include "collect/inproc/device/device.h"
#include "collect/ze/ze.h"

enum { LISTS_MAX = 4096, QUEUES_MAX = 4096, COMMANDS_MAX = 65536 };

static struct ze_list *lists;
static uint32_t list_count;
static struct st_handles known_lists, known_queues, known_contexts;
static uint32_t queue_count, context_count;

static struct command {
	struct ze_event event;
	struct st_device_record record;
	struct ze_times last;
	uint32_t next; /* from 1 */
} * commands;
static uint32_t command_count, first_free;

static uint32_t context_number(ze_any *handle)
{
	uint32_t number = st_handles_get(&known_contexts, handle);

	if (!number) {
		number = ++context_count;
		st_handles_set(&known_contexts, handle, number);
	}
	return number;
}

/* One in the place of another keeps its number. */
static uint16_t queue_number(ze_any *handle)
{
	uint32_t number = st_handles_get(&known_queues, handle);

	if (!number && queue_count < QUEUES_MAX) {
		number = ++queue_count;
		st_handles_set(&known_queues, handle, number);
	}
	return (uint16_t)number;
}

uint32_t ze_queue_number(const ze_any *handle)
{
	return st_handles_get(&known_queues, handle);
}

void ze_queue_made(ze_any *handle, ze_any *context, ze_any *device)
{
	context_number(context);
	ze_device_number(device);
	queue_number(handle);
}

struct ze_list *ze_list_of(const ze_any *handle)
{
	uint32_t at = st_handles_get(&known_lists, handle);

	return at ? &lists[at - 1] : NULL;
}

void ze_list_made(ze_any *handle, ze_any *context, ze_any *device, bool is_immediate)
{
	uint32_t number = ze_device_number(device);
	struct ze_list *list = ze_list_of(handle);

	if (list)
		ze_list_emptied(handle);
	if (!list && list_count < LISTS_MAX && number < ZE_DEVICES_MAX &&
	    st_handles_set(&known_lists, handle, list_count + 1))
		list = &lists[list_count++];
	if (!list || number == ZE_DEVICES_MAX)
		return;
	*list = (struct ze_list){.context = context,
				 .context_number = context_number(context),
				 .device = (uint16_t)number,
				 .is_immediate = is_immediate,
				 .queue = is_immediate ? queue_number(handle) : 0};
}

void ze_list_add(ze_any *handle, const struct ze_event *event,
		 const struct st_device_record *record)
{
	struct ze_list *list = ze_list_of(handle);
	uint32_t at = first_free;

	if (at)
		first_free = commands[at - 1].next;
	else if (command_count < COMMANDS_MAX)
		at = ++command_count;
	if (!at) {
		strata_device_lost(1);
		ze_event_give_back(event);
		return;
	}
	commands[at - 1] = (struct command){.event = *event, .record = *record};
	if (list->last)
		commands[list->last - 1].next = at;
	else
		list->first = at;
	list->last = at;
}

/* What ran before is read now, or not at all. */
void ze_lists_will_run(ze_any *const *handles, uint32_t count)
{
	for (uint32_t i = 0; handles && i < count; i++) {
		const struct ze_list *list = ze_list_of(handles[i]);

		if (list && list->first)
			ze_pending_read(NULL, (uint32_t)(list - lists) + 1, true);
	}
}

void ze_lists_run(const ze_any *queue, ze_any *const *handles, uint32_t count,
		  const struct ze_pending *like)
{
	for (uint32_t i = 0; handles && i < count; i++) {
		const struct ze_list *list = ze_list_of(handles[i]);

		for (uint32_t at = list ? list->first : 0; at; at = commands[at - 1].next) {
			const struct command *command = &commands[at - 1];
			struct ze_pending one = *like;

			one.event = command->event;
			one.last = command->last;
			one.list = (uint32_t)(list - lists) + 1;
			one.record = command->record;
			one.record.correlation = like->record.correlation;
			one.record.where = ze_queue_number(queue);
			ze_pending_add(&one);
		}
	}
}

uint32_t ze_list_count(uint32_t list, int32_t change)
{
	return lists[list - 1].under_way += (uint32_t)change;
}

void ze_command_times(uint32_t list, const ze_any *event, const struct ze_times *times)
{
	for (uint32_t at = lists[list - 1].first; at; at = commands[at - 1].next)
		if (commands[at - 1].event.handle == event)
			commands[at - 1].last = *times;
}

void ze_list_emptied(ze_any *handle)
{
	struct ze_list *list = ze_list_of(handle);

	if (!list || !list->first)
		return;
	ze_pending_read(NULL, (uint32_t)(list - lists) + 1, true);
	for (uint32_t at = list->first; at; at = commands[at - 1].next)
		ze_event_give_back(&commands[at - 1].event);
	commands[list->last - 1].next = first_free;
	first_free = list->first;
	list->first = list->last = 0;
}

bool ze_lists_start(void)
{
	lists = ze_map(LISTS_MAX * sizeof(*lists));
	commands = ze_map(COMMANDS_MAX * sizeof(*commands));
	return lists && commands;
}

void ze_lists_forget(void)
{
	ze_unmap(lists, LISTS_MAX * sizeof(*lists));
	ze_unmap(commands, COMMANDS_MAX * sizeof(*commands));
	lists = NULL;
	commands = NULL;
	list_count = queue_count = context_count = command_count = first_free = 0;
}
