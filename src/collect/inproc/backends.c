/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of back-ends. The order counts at the start: PyTorch must know whether it waits for imports before Python
 * decides to watch them, and the sampler comes last, so that its first signal finds everything in place.
 */
#include "collect/inproc/core/backend.h"

#include <stddef.h>

#include "collect/inproc/device/device.h"
#include "collect/inproc/itt/bind.h"
#include "collect/inproc/python/python_itt.h"
#include "collect/inproc/sampler/sampler.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/waits/waits.h"

const struct st_inproc_backend *const st_inproc_backends[] = {
	&st_backend_itt,
	&st_backend_torch,
	&st_backend_python,
	&st_backend_device,
	&st_backend_waits,
	&st_backend_sampler,
	NULL,
};
