/* SPDX-License-Identifier: Apache-2.0
 *
 * The portable CRC32C, apart from st_crc32c of format/chunk.h so that a test can compare both.
 */
#ifndef ST_FORMAT_CRC32C_H
#define ST_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t st_crc32c_table(uint32_t crc, const void *data, size_t size_bytes);

#endif
