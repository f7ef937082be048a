/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the timeline: tracks, labels, tiles, and what is told about a thing on it.
 */
#ifndef ST_SERVE_TIMELINE_VERBS_H
#define ST_SERVE_TIMELINE_VERBS_H

#include "base/error.h"

struct st_timeline_view;
struct st_verb_call;

enum st_status st_verb_tracks(struct st_verb_call *call, struct st_error *err);
enum st_status st_verb_labels(struct st_verb_call *call, struct st_error *err);
enum st_status st_verb_tiles(struct st_verb_call *call, struct st_error *err);
enum st_status st_verb_event(struct st_verb_call *call, struct st_error *err);
enum st_status st_verb_search(struct st_verb_call *call, struct st_error *err);
enum st_status st_verb_next(struct st_verb_call *call, struct st_error *err);

/* The view of the call's result, kept from one request to the next. */
enum st_status st_timeline_of(struct st_verb_call *call, struct st_timeline_view **out,
			      struct st_error *err);

#endif
