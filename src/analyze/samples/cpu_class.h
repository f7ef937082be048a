/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of CPU time: effective work, spinning while waiting, or the overhead of a parallel
 * runtime. Decided by the functions on the stack, with rules that are data (cpu-classes.rules).
 */
#ifndef ST_ANALYZE_SAMPLES_CPU_CLASS_H
#define ST_ANALYZE_SAMPLES_CPU_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/engine/question.h"
#include "base/error.h"

struct st_named;

enum st_cpu_class {
	ST_CLASS_EFFECTIVE,
	ST_CLASS_SPIN_IMBALANCE,
	ST_CLASS_SPIN_LOCK,
	ST_CLASS_SPIN_COMMUNICATION,
	ST_CLASS_SPIN_OTHER,
	ST_CLASS_OVERHEAD_CREATION,
	ST_CLASS_OVERHEAD_SCHEDULING,
	ST_CLASS_OVERHEAD_REDUCTION,
	ST_CLASS_OVERHEAD_ATOMICS,
	ST_CLASS_OVERHEAD_OTHER,
	ST_CPU_CLASSES
};

/* "spin-lock", as in the file of rules; the metric that counts it; that of its kind (spin, overhead). */
const char *st_cpu_class_name(enum st_cpu_class cpu_class);
const char *st_cpu_class_title(enum st_cpu_class cpu_class);
enum st_metric st_cpu_class_metric(enum st_cpu_class cpu_class);
enum st_metric st_cpu_class_kind(enum st_cpu_class cpu_class);

/* What is known of spin-wait instructions; each one includes those before it. */
enum st_pause_kind {
	ST_PAUSE_ANY,
	ST_PAUSE_FUNCTION, /* the innermost function of the runtime was seen at one */
	ST_PAUSE_AT,	   /* it was interrupted right there */
	ST_PAUSE_KINDS
};

struct st_class_rule {
	/* Alternatives one behind the other, each with its terminator; an empty one at the end. */
	char *module, *function;
	enum st_cpu_class cpu_class;
	enum st_pause_kind pause; /* what it asks for */
	bool is_rest;		  /* for what no other rule of the module names */
};

struct st_class_rules {
	struct st_class_rule *rules;
	uint32_t count, capacity;
};

/* The rules of the user's file (may be NULL), those of the user's configuration folder, then ours: the first
 * that fits wins. */
enum st_status st_class_rules_load(struct st_class_rules *out, const char *path,
				   struct st_error *err);
void st_class_rules_fini(struct st_class_rules *rules);
/* Adds the rules of a text; name is for messages. */
enum st_status st_class_rules_parse(struct st_class_rules *rules, const char *text,
				    size_t size_bytes, const char *name, struct st_error *err);

/* Fills classes[frame_count] for stacks whose innermost frame is that one. False when memory is out. */
bool st_class_frames(const struct st_class_rules *rules, const struct st_named *named,
		     uint8_t *classes);

/* The file cpu-classes.rules, made part of the program when it is built. */
extern const unsigned char st_cpu_rules_builtin[];
extern const size_t st_cpu_rules_builtin_bytes;

#endif
