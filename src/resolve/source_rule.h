/* SPDX-License-Identifier: Apache-2.0
 *
 * Which source files may be shown to whoever asks for a result without having chosen it: a result names its source files
 * itself, and one that comes from elsewhere could name any file of who opens it.
 */
#ifndef ST_RESOLVE_SOURCE_RULE_H
#define ST_RESOLVE_SOURCE_RULE_H

#include "resolve/named.h"

/* Whether the file that fd has open may be shown as the source at path. It must lie below one of the first
 * options->source_search_given folders, or be a Python file, or be a source file that the line table of a module names:
 * of one of named, or of the one that path was just read from where named is NULL. What counts is the file itself, not
 * links that lead to it. */
bool st_source_may_be_shown(int fd, const struct st_named_options *options,
			    const struct st_named *named, const char *path);

#endif
