/* SPDX-License-Identifier: Apache-2.0
 *
 * libcuda.so.1 for machines without a device: three devices that are alike, with the limits of an H200.
 */
#include <stddef.h>
#include <stdio.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, DEVICES = 3 };

#pragma GCC visibility push(default)
int cuDeviceGet(int *device, int number);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceTotalMem_v2(size_t *size, int device);
#pragma GCC visibility pop

int cuDeviceGet(int *device, int number)
{
	if (number < 0 || number >= DEVICES)
		return INVALID_DEVICE;
	*device = number;
	return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	static const int values[][2] = {{8, 49152},  {10, 32},	{12, 65536}, {16, 132},
					{39, 2048},  {75, 9},	{76, 0},     {81, 233472},
					{82, 65536}, {106, 32}, {111, 1024}};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && device < DEVICES; i++)
		if (values[i][0] == attribute) {
			*value = values[i][1];
			return SUCCESS;
		}
	return INVALID_VALUE;
}

int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Double of an H200 (%d)", device);
	return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *size, int device)
{
	(void)device;
	*size = (size_t)141 << 30;
	return SUCCESS;
}
