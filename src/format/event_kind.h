/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything ITT reports beyond nested tasks, as one kind of record: a head (kind, detail), then the
 * fields that its mask names, in the order of the bits. The collector writes it into a ring
 * (ST_EXT_EVENT, whole words), the drain copies it into the trace (format/event.h, varints); neither
 * looks into what it means. Numbers are file format: never changed, only added.
 *
 * Header only: the collector links no code of format/.
 */
#ifndef ST_FORMAT_EVENT_KIND_H
#define ST_FORMAT_EVENT_KIND_H

#include <stdint.h>

/* Bits of the mask. An absent field reads as zero, an absent id as the null id. */
enum st_event_field {
	ST_FIELD_NAMES = 1,   /* u32 domain id, u32 name id (of the process; 0: none) */
	ST_FIELD_ID = 2,      /* three u64: an ITT id */
	ST_FIELD_OTHER = 4,   /* three u64: parent, or tail of a relation */
	ST_FIELD_VALUE = 8,   /* u64 */
	ST_FIELD_EXTRA = 16,  /* u64 */
	ST_FIELD_OBJECT = 32, /* u32 object id (ST_DEFINE_OBJECT), u32 zero */
	ST_FIELD_TIME = 64,   /* u64: the time the program gave, in ticks of the clock below */
	ST_FIELD_CLOCK =
		128, /* u32 object id of the clock domain, u32 zero; absent: our own ticks */
	ST_FIELD_DATA = 256, /* u64 byte length, then bytes (padded with zeros in a ring) */
	ST_FIELDS_ALL = 511,
};

/* The detail is a u32 in the head. "Current task": no id was given; it is the innermost open slice of
 * the thread at this place of its stream. In brackets: only when given. */
enum st_event_kind {
	/* Of the slice that was begun right before on the same thread. */
	ST_EVENT_TASK_ID = 1,	/* ID, OTHER parent */
	ST_EVENT_TASK_LINE = 2, /* NAMES: name = "file:line" of the Python code that began it */
	ST_EVENT_TASK_FN = 3,	/* VALUE address of the function it is named by */
	/* A task whose times the program gave and which do not fit the thread's own order: a stack per
	 * thread, apart from its slices. */
	ST_EVENT_TIMED_BEGIN =
		4,		/* NAMES, TIME, [CLOCK], [ID], [OTHER], [VALUE function address] */
	ST_EVENT_TIMED_END = 5, /* NAMES domain, [TIME, CLOCK] */
	ST_EVENT_OVERLAPPED_BEGIN = 6, /* NAMES, ID, [OTHER parent], [TIME, CLOCK] */
	ST_EVENT_OVERLAPPED_END = 7,   /* NAMES domain, ID, [TIME, CLOCK] */
	ST_EVENT_TASK_GROUP = 8,       /* NAMES, ID, [OTHER parent] */
	ST_EVENT_REGION_BEGIN = 9,     /* NAMES, ID, [OTHER parent] */
	ST_EVENT_REGION_END = 10,      /* NAMES domain, ID */
	ST_EVENT_FRAME_BEGIN = 11,     /* NAMES domain, [ID]; or OBJECT (legacy frame) */
	ST_EVENT_FRAME_END = 12,       /* the same */
	ST_EVENT_FRAME_SUBMIT = 13,    /* NAMES domain, [ID], TIME begin, EXTRA end; our ticks */
	ST_EVENT_MARKER = 14,	       /* NAMES, [ID], detail scope, [TIME, CLOCK] */
	ST_EVENT_ID_CREATE = 15,       /* NAMES domain, ID, [TIME, CLOCK] */
	ST_EVENT_ID_DESTROY = 16,
	/* [ID head; absent: current task], OTHER tail, detail relation, [TIME, CLOCK] */
	ST_EVENT_RELATION = 17,
	/* NAMES domain and key, [ID; absent: current task], detail type, EXTRA count as given, DATA elements */
	ST_EVENT_METADATA = 18,
	ST_EVENT_METADATA_TEXT = 19,	    /* as above; EXTRA full length, DATA text */
	ST_EVENT_METADATA_SCOPED = 20,	    /* no ID; detail type | scope << 16 */
	ST_EVENT_METADATA_TEXT_SCOPED = 21, /* detail scope << 16 */
	/* NAMES domain and format, [ID of an overlapped task], DATA the text made from it, in a ring what it
	 * is made from (conversion.h); detail 1: the arguments could not be had, DATA is absent */
	ST_EVENT_METADATA_FORMATTED = 22,
	ST_EVENT_COUNTER_ADD =
		23, /* OBJECT, or NAMES (counters named by domain and string); VALUE s64 */
	ST_EVENT_COUNTER_SET =
		24, /* OBJECT, VALUE: its type widened to 64 bits (a float to a double), [TIME, CLOCK] */
	ST_EVENT_COUNTER_DESTROY = 25, /* OBJECT */
	/* OBJECT, EXTRA elements of each axis as given, DATA x elements then y elements; VALUE bytes of the x
	 * part (0: x was NULL) */
	ST_EVENT_HISTOGRAM = 26,
	ST_EVENT_USER_START = 27, /* OBJECT: __itt_event_start */
	ST_EVENT_USER_END = 28,
	ST_EVENT_MARK = 29,	    /* OBJECT, detail 1: global, [DATA parameter] */
	ST_EVENT_MARK_OFF = 30,	    /* OBJECT, detail 1: global */
	ST_EVENT_SCOPE_PAUSE = 31,  /* detail scope; a pause of the host is ST_EXT_PAUSE besides */
	ST_EVENT_SCOPE_RESUME = 32, /* the same */
	ST_EVENT_THREAD_IGNORE = 33,
	ST_EVENT_SET_TRACK = 34,     /* OBJECT track; absent: the thread's own again */
	ST_EVENT_CALLER_CREATE = 35, /* VALUE token */
	ST_EVENT_CALLER_DESTROY = 36,
	ST_EVENT_CALLEE_ENTER = 37,
	ST_EVENT_CALLEE_LEAVE = 38,
	/* Sync: VALUE address. detail: 0 sync, 1 fsync, 2 legacy notify_sync; of a create in bits 16-31,
	 * and the attribute in bits 0-15. */
	ST_EVENT_SYNC_CREATE =
		39, /* DATA: type, NUL, name; EXTRA bit 0: type given, bit 1: name given */
	ST_EVENT_SYNC_RENAME = 40, /* DATA name */
	ST_EVENT_SYNC_DESTROY = 41,
	ST_EVENT_SYNC_PREPARE = 42,
	ST_EVENT_SYNC_CANCEL = 43,
	ST_EVENT_SYNC_ACQUIRED = 44,
	ST_EVENT_SYNC_RELEASING = 45,
	/* Heap: OBJECT heap function, VALUE address (new one), EXTRA size, detail initialized, of a
	 * reallocation ID d1 = the old address. */
	ST_EVENT_HEAP_ALLOCATE_BEGIN = 46,
	ST_EVENT_HEAP_ALLOCATE_END = 47,
	ST_EVENT_HEAP_FREE_BEGIN = 48,
	ST_EVENT_HEAP_FREE_END = 49,
	ST_EVENT_HEAP_REALLOCATE_BEGIN = 50,
	ST_EVENT_HEAP_REALLOCATE_END = 51,
	ST_EVENT_HEAP_ACCESS_BEGIN = 52, /* the allocator's own structures */
	ST_EVENT_HEAP_ACCESS_END = 53,
	ST_EVENT_HEAP_GROWTH_BEGIN = 54,
	ST_EVENT_HEAP_GROWTH_END = 55,
	ST_EVENT_HEAP_RESET = 56,    /* detail mask */
	ST_EVENT_HEAP_RECORD = 57,   /* detail mask */
	ST_EVENT_SUPPRESS_PUSH = 58, /* detail mask */
	ST_EVENT_SUPPRESS_POP = 59,
	ST_EVENT_SUPPRESS_RANGE = 60, /* detail mask, VALUE address, EXTRA size, ID d1 = mode */
	ST_EVENT_SUPPRESS_CLEAR = 61, /* the same */
	/* Modules and JIT: the drain keeps these with the definitions. */
	ST_EVENT_MODULE_LOAD = 62,   /* VALUE start, EXTRA end, DATA path */
	ST_EVENT_MODULE_UNLOAD = 63, /* VALUE start */
	/* ID, detail module type, VALUE bytes of the image, EXTRA number of sections, DATA: name, NUL, then per
	 * section name, NUL, u64 type, flags, start address, size, file offset */
	ST_EVENT_MODULE_LOAD_SECTIONS = 64,
	ST_EVENT_MODULE_UNLOAD_SECTIONS = 65, /* ID, DATA name */
	/* detail: event number of the JIT interface. VALUE load address, EXTRA size, ID d1 = method id,
	 * d2 = parent method id, d3 = type of an update or architecture. DATA: method, class, source file, module
	 * (each u32 length, bytes), u32 number of lines, then u32 offset, u32 line each. Of event 17 (an update by
	 * address) the class is the data format. */
	ST_EVENT_JIT = 66,
	/* Advisor and legacy calls, kept as they came: detail enum st_event_call; VALUE, EXTRA, DATA. */
	ST_EVENT_CALL = 67,
	/* A flow leaves, reaches the current task: VALUE id of the flow in its process, detail enum st_flow_kind. What
	 * left last with that kind and id is where a flow comes from; it may reach several. */
	ST_EVENT_FLOW_OUT = 68,
	ST_EVENT_FLOW_IN = 69,
	/* A turn in which operators are recorded, or not, begins in this process; detail ST_TURN_*, VALUE how often the
	 * framework has allocated and freed up to now, EXTRA how often an optimizer has stepped. Without any, all were. */
	ST_EVENT_OPERATOR_TURN = 70,
	/* Waits in functions of the C library (format/wait_kind.h), each told when it has ended: detail kind and outcome, VALUE
	 * object, EXTRA ticks that it took, [TIME of its end]. */
	ST_EVENT_WAIT = 71,
	/* The thread is about to let another one go on: detail kind, VALUE object. */
	ST_EVENT_WAKE = 72,
	/* Waits that were too short, or too many, to be told one by one: detail kind (0: several), outcome and how many, VALUE object (0:
	 * several), EXTRA ticks. */
	ST_EVENT_WAIT_SUM = 73,
	/* The thread has given an object back, as yet only Python's interpreter lock: detail kind, VALUE object, EXTRA ticks that it had
	 * it, NAMES d = 0 and the Python line at which it did. */
	ST_EVENT_HOLD = 74,
	/* Short holds: as ST_EVENT_WAIT_SUM. */
	ST_EVENT_HOLD_SUM = 75,
	/* What lies at an object's place from now on, or from TIME on: detail kind, VALUE object; EXTRA who made it (an address in
	 * the program; 0: nobody had to, it lies where something was destroyed), NAMES the Python line that did, DATA its name: a descriptor's. */
	ST_EVENT_WAIT_OBJECT = 76,
	/* A parallel region of OpenMP is over, told by the thread that began it: detail its threads and how much of their time they
	 * waited for its end (below), VALUE its function or its caller, EXTRA ticks that it took. */
	ST_EVENT_PARALLEL = 77,
	ST_EVENT_KINDS
};

/* Detail of ST_EVENT_PARALLEL: threads | part << ST_PARALLEL_SHIFT, where the part is of ST_PARALLEL_WHOLE. */
enum {
	ST_PARALLEL_SHIFT = 10,
	ST_PARALLEL_THREADS = (1 << ST_PARALLEL_SHIFT) - 1, /* or more */
	ST_PARALLEL_WHOLE = (1 << (32 - ST_PARALLEL_SHIFT)) - 1,
};

enum st_flow_kind {
	ST_FLOW_LAUNCH = 1,   /* from the call of a runtime to what runs on a device */
	ST_FLOW_ENQUEUE = 2,  /* from who puts work into a queue to who takes it out */
	ST_FLOW_BACKWARD = 3, /* from an operator to its part of the backward pass */
};

/* Detail of ST_EVENT_OPERATOR_TURN. */
enum {
	ST_TURN_WITHOUT = 0,
	ST_TURN_WITH = 1, /* operators are recorded */
	ST_TURN_COMPARED =
		2, /* a short turn; those right before and after it are as long, and have the other thing */
	ST_TURN_BESIDE = 4,	 /* one of those */
	ST_TURN_WHOLE = 8,	 /* from the beginning: not chosen by chance */
	ST_TURN_AT_STEP = 16,	 /* begins with an optimizer's step */
	ST_TURN_NO_DEVICES = 32, /* nor is what devices do, for ST_TURN_DEVICES_NS at most */
	ST_TURN_SWITCH = 64,	 /* devices are switched off or on: no turn to compare with */
};
#define ST_TURN_DEVICES_NS 2000000000ll

enum { ST_EVENT_DATA_MAX = 128 << 10 }; /* more is cut and counted by the collector */

enum st_event_call {
	ST_CALL_AV_SAVE =
		1, /* VALUE array, EXTRA rank, DATA: s32 type, s32 column order, s32 dimensions, path */
	ST_CALL_MEMORY_READ = 2, /* VALUE address, EXTRA size */
	ST_CALL_MEMORY_WRITE = 3,
	ST_CALL_MEMORY_UPDATE = 4,
	ST_CALL_STATE_SET = 5,	  /* VALUE state */
	ST_CALL_OBJ_MODE_SET = 6, /* VALUE property, EXTRA state */
	ST_CALL_THR_MODE_SET = 7,
	ST_CALL_MODEL_SITE_BEGIN =
		8, /* [VALUE site, EXTRA instance], DATA name; A and AL forms too */
	ST_CALL_MODEL_SITE_END = 9, /* [VALUE site, EXTRA instance] */
	ST_CALL_MODEL_TASK_BEGIN = 10,
	ST_CALL_MODEL_TASK_END = 11,
	ST_CALL_MODEL_ITERATION_TASK = 12, /* DATA name */
	ST_CALL_MODEL_LOCK_ACQUIRE = 13,   /* VALUE lock */
	ST_CALL_MODEL_LOCK_RELEASE = 14,
	ST_CALL_MODEL_RECORD_ALLOCATION = 15, /* VALUE address, EXTRA size */
	ST_CALL_MODEL_RECORD_DEALLOCATION = 16,
	ST_CALL_MODEL_INDUCTION_USES = 17,
	ST_CALL_MODEL_REDUCTION_USES = 18,
	ST_CALL_MODEL_OBSERVE_USES = 19,
	ST_CALL_MODEL_CLEAR_USES = 20,
	ST_CALL_MODEL_AGGREGATE_TASK = 21, /* VALUE count */
	ST_CALL_MODEL_DISABLE_PUSH = 22,   /* VALUE what */
	ST_CALL_MODEL_DISABLE_POP = 23,
	ST_CALL_STATE_GET = 24,
};

/* Objects with a name that outlive any record: body of ST_DEFINE_OBJECT and of ST_DEF_OBJECT. The same id
 * again replaces the object from then on (a clock domain that was reset). */
enum st_object_kind {
	ST_OBJECT_COUNTER = 1,	     /* type, name, second = domain; flag 1: has a domain */
	ST_OBJECT_HISTOGRAM = 2,     /* type x, type_y, name, second = domain */
	ST_OBJECT_HEAP_FUNCTION = 3, /* name, second = domain */
	ST_OBJECT_USER_EVENT = 4,    /* name */
	ST_OBJECT_MARK_TYPE = 5,     /* name */
	ST_OBJECT_PT_REGION = 6,     /* name; number[0] = the id given out */
	ST_OBJECT_FRAME = 7,	     /* name = domain of legacy frames */
	ST_OBJECT_CLOCK = 8, /* number: frequency, base, our ticks when these were asked for */
	ST_OBJECT_TRACK_GROUP = 9, /* type, name */
	ST_OBJECT_TRACK = 10,	   /* type, name, parent = object id of the group */
	ST_OBJECT_OTHERS = 11,	   /* stands for all objects beyond ST_SHM_OBJECTS_MAX */
	ST_OBJECT_KINDS
};

struct st_object_head { /* little-endian; then name_bytes + second_bytes of text */
	uint8_t kind;	/* enum st_object_kind */
	uint8_t type;	/* of values: ITT's metadata types */
	uint8_t type_y;
	uint8_t flags;
	uint32_t parent;
	uint64_t number[3];
	uint32_t name_bytes, second_bytes;
};
_Static_assert(sizeof(struct st_object_head) == 40, "object head is a file format");

/* Body of ST_DEFINE_OBJECT_METADATA and of ST_DEF_OBJECT_METADATA: what a program tells about a counter. */
struct st_object_metadata {
	uint32_t type; /* ITT's context types: 1-8 text, 9-17 number */
	uint32_t text_bytes;
	uint64_t number; /* then the text */
};

#endif
