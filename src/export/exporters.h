/* SPDX-License-Identifier: Apache-2.0
 *
 * The write functions of the table of trace formats in exporters.c.
 */
#ifndef ST_EXPORT_EXPORTERS_H
#define ST_EXPORT_EXPORTERS_H

#include "export/export.h"

enum st_status st_export_chrome(const struct st_result *result,
				const struct st_export_options *options, struct st_sink *sink,
				struct st_error *err);
enum st_status st_export_kineto(const struct st_result *result,
				const struct st_export_options *options, struct st_sink *sink,
				struct st_error *err);
enum st_status st_export_memory_timeline(const struct st_result *result,
					 const struct st_export_options *options,
					 struct st_sink *sink, struct st_error *err);
enum st_status st_export_perfetto(const struct st_result *result,
				  const struct st_export_options *options, struct st_sink *sink,
				  struct st_error *err);
enum st_status st_export_csv(const struct st_result *result,
			     const struct st_export_options *options, struct st_sink *sink,
			     struct st_error *err);
enum st_status st_export_json(const struct st_result *result,
			      const struct st_export_options *options, struct st_sink *sink,
			      struct st_error *err);
enum st_status st_export_flamegraph(const struct st_result *result,
				    const struct st_export_options *options, struct st_sink *sink,
				    struct st_error *err);
enum st_status st_export_folded(const struct st_result *result,
				const struct st_export_options *options, struct st_sink *sink,
				struct st_error *err);
enum st_status st_export_speedscope(const struct st_result *result,
				    const struct st_export_options *options, struct st_sink *sink,
				    struct st_error *err);
enum st_status st_export_pprof(const struct st_result *result,
			       const struct st_export_options *options, struct st_sink *sink,
			       struct st_error *err);
enum st_status st_export_torch_stacks(const struct st_result *result,
				      const struct st_export_options *options, struct st_sink *sink,
				      struct st_error *err);

#endif
