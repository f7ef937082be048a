// SPDX-License-Identifier: Apache-2.0
//
// Checks of devices: which loaders programs would find, and whether they let strata see what happens. Only files and
// variables are looked at: to load a loader would start drivers.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collect/launch/doctor/doctor_check.h"
#include "collect/launch/run/device_loaders.h"

void st_doctor_level_zero(const struct st_doctor_context *context,
			  struct st_doctor_finding *finding)
{
	const char *switched = getenv("ZE_ENABLE_TRACING_LAYER");
	const char *older = getenv("IPEX_ZE_TRACING");
	char loader[PATH_MAX], layer[PATH_MAX];

	(void)context;
	if (!st_device_loader_find(ST_ZE_LOADER, loader, sizeof(loader))) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "no loader here: programs cannot use it");
	} else if (!st_device_loader_find(ST_ZE_TRACING_LAYER, layer, sizeof(layer))) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "%.150s has no tracing layer: what devices do is not recorded",
			       loader);
		st_doctor_remedy(finding, "install the package that has %s (Debian: libze1)",
				 ST_ZE_TRACING_LAYER);
	} else if (switched && strcmp(switched, "1") != 0) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "ZE_ENABLE_TRACING_LAYER=%.20s: what devices do is not recorded",
			       switched);
		st_doctor_remedy(finding, "unset ZE_ENABLE_TRACING_LAYER");
	} else if (!switched && older && strcmp(older, "0") == 0) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "IPEX_ZE_TRACING=0: what devices do is not recorded");
		st_doctor_remedy(finding, "unset IPEX_ZE_TRACING");
	} else {
		st_doctor_fact(finding, ST_DOCTOR_OK, "%.150s with its tracing layer", loader);
	}
}

void st_doctor_opencl(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	const char *layers = getenv("OPENCL_LAYERS");
	char loader[PATH_MAX];

	(void)context;
	if (!st_device_loader_find(ST_OPENCL_LOADER, loader, sizeof(loader))) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "no loader here: programs cannot use it");
	} else if (!st_device_loader_mentions(loader, "OPENCL_LAYERS")) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "%.150s takes no layers: what devices do is not recorded", loader);
		st_doctor_remedy(finding, "install ocl-icd 2.3 or later, or Khronos' loader");
	} else {
		st_doctor_fact(finding, ST_DOCTOR_OK, "%.150s takes layers%s", loader,
			       layers && layers[0] ? ", besides yours" : "");
	}
}
