/* SPDX-License-Identifier: Apache-2.0
 *
 * What a slice is: the layer that its label belongs to. Decided once, when the label enters the store, from the
 * domain and the name that the producer gave; whoever reads a result asks the label and compares no texts.
 * A new category is a value here and a row of model/category.c.
 */
#ifndef ST_STORE_CATEGORY_H
#define ST_STORE_CATEGORY_H

#include <stdbool.h>

#include "format/definitions.h"

enum st_category {
	ST_CATEGORY_TASK,     /* of a user, or of a library that no other category knows */
	ST_CATEGORY_OPERATOR, /* of PyTorch */
	ST_CATEGORY_RANGE, /* that the program or torch marks among the operators (record_function) */
	ST_CATEGORY_STEP,	      /* such a range that torch's profiler makes of each step */
	ST_CATEGORY_MODULE,	      /* a call of an nn.Module */
	ST_CATEGORY_PRIMITIVE,	      /* of oneDNN, run */
	ST_CATEGORY_PRIMITIVE_OLD,    /* the same by versions whose domains name no stage */
	ST_CATEGORY_PRIMITIVE_CREATE, /* of oneDNN, made */
	ST_CATEGORY_PRIMITIVE_STAGE,  /* anything else that oneDNN does with one */
	/* Of devices and what drives them (format/device_record.h). */
	ST_CATEGORY_RUNTIME_CALL,
	ST_CATEGORY_DEVICE_WAIT, /* such a call that returns when the device is done */
	ST_CATEGORY_KERNEL,
	ST_CATEGORY_COPY,
	ST_CATEGORY_COMMUNICATION,
	ST_CATEGORY_DEVICE_OVERHEAD, /* of the driver, or of its profiling */
	ST_CATEGORY_DEVICE_MEMORY,   /* allocated or released: a moment */
	ST_CATEGORIES
};

/* *from_itt: an operator or range as the framework's own ITT tasks tell it. */
enum st_category st_category_of(struct st_text domain, struct st_text name, bool *from_itt);
/* What reports call it ("op"); several categories may share a word. */
const char *st_category_name(enum st_category category);

static inline bool st_category_is_range(enum st_category category)
{
	return category == ST_CATEGORY_RANGE || category == ST_CATEGORY_STEP;
}

/* An operator or a range between operators. */
static inline bool st_category_is_torch(enum st_category category)
{
	return category == ST_CATEGORY_OPERATOR || st_category_is_range(category);
}

/* A primitive at work. */
static inline bool st_category_is_execution(enum st_category category)
{
	return category == ST_CATEGORY_PRIMITIVE || category == ST_CATEGORY_PRIMITIVE_OLD;
}

/* A call of the host that drives a device. */
static inline bool st_category_is_call(enum st_category category)
{
	return category == ST_CATEGORY_RUNTIME_CALL || category == ST_CATEGORY_DEVICE_WAIT;
}

/* What runs on a device and takes its time. */
static inline bool st_category_is_device(enum st_category category)
{
	return category >= ST_CATEGORY_KERNEL && category <= ST_CATEGORY_COMMUNICATION;
}

static inline bool st_category_is_primitive(enum st_category category)
{
	return category >= ST_CATEGORY_PRIMITIVE && category <= ST_CATEGORY_PRIMITIVE_STAGE;
}

#endif
