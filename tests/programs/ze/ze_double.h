/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs of tests ask of the driver's double, beside Level Zero's own functions.
 */
#ifndef ST_TESTS_ZE_DOUBLE_H
#define ST_TESTS_ZE_DOUBLE_H

/* Prints what ran: "NAME|DEVICE|BEGIN_NS|END_NS|BYTES" of each command, by CLOCK_MONOTONIC_RAW. */
typedef void ze_double_print(void);
/* How often the times of an event were read. */
typedef unsigned int ze_double_count(void);

#endif
