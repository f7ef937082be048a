/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the perf.data format: places in its header and in struct perf_event_attr, types of records and
 * features. From the documentation of the kernel and of perf.
 */
#ifndef ST_COLLECT_IMPORT_PERF_LAYOUT_H
#define ST_COLLECT_IMPORT_PERF_LAYOUT_H

enum { /* the file */
       MAGIC_BYTES = 8,
       PIPE_HEADER_BYTES = 16,
       FILE_HEADER_BYTES = 104,
       SECTION_BYTES = 16,
       HEADER_ATTR_SIZE_AT = 16,
       HEADER_ATTRS_AT = 24,
       HEADER_DATA_AT = 40,
       HEADER_FEATURES_AT = 72,
       FEATURES_MAX = 256,
       RECORD_HEADER_BYTES = 8,
       /* Compressed records unpack to this at most. */
       UNPACKED_MAX_BYTES = 0x7fffffff,
};

enum { /* struct perf_event_attr */
       ATTR_BYTES_MIN = 64,
       ATTR_SIZE_AT = 4,
};

enum { /* features */
       FEATURE_BUILD_ID = 2,
       FEATURE_HOSTNAME = 3,
       FEATURE_OSRELEASE = 4,
       FEATURE_ARCH = 6,
       FEATURE_NRCPUS = 7,
       FEATURE_CPUDESC = 8,
       FEATURE_CMDLINE = 11,
       FEATURE_EVENT_DESC = 12,
       BUILD_ID_AT = 12,	 /* behind the header and the pid */
       BUILD_ID_HEAD_BYTES = 36, /* and 24 bytes of id */
};

enum { /* records of perf itself; those of the kernel are in linux/perf_event.h */
       RECORD_HEADER_ATTR = 64,
       RECORD_TRACING_DATA = 66,
       RECORD_FINISHED_ROUND = 68,
       RECORD_AUXTRACE = 71,
       RECORD_HEADER_FEATURE = 80,
       RECORD_COMPRESSED = 81,
       RECORD_COMPRESSED2 = 83,
};

enum { MISC_BUILD_ID_SIZE = 1 << 15 }; /* of build ids: their size stands behind them */

#endif
