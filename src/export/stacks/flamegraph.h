/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts shared by all flame graphs: style and script (flamegraph.css, flamegraph.js), which the build
 * turns into these texts.
 */
#ifndef ST_EXPORT_STACKS_FLAMEGRAPH_H
#define ST_EXPORT_STACKS_FLAMEGRAPH_H

extern const char st_flamegraph_css[];
extern const char st_flamegraph_js[];

#endif
