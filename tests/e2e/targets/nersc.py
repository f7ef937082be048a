# SPDX-License-Identifier: Apache-2.0
# Written for NERSC's itt-python, as its samples are; it knows nothing of strata.
import itt

itt.resume()
domain = itt.domain_create("Example.Domain.Global")
itt.task_begin(domain, "CreateTrainer")
for _ in range(3):
    itt.task_begin(domain, "step")
    itt.task_end(domain)
itt.task_end(domain)
region = itt.pt_region_create("iteration")
for _ in range(4):
    itt.pt_region_begin(region)
    itt.pt_region_end(region)
other = itt.itt_pt_region_create("cookbook")
itt.itt_pt_region_begin(other)
itt.itt_pt_region_end(other)
itt.pause()
itt.task_begin(domain, "unseen")
itt.task_end(domain)
itt.resume()
itt.task_begin(domain, "last")
itt.task_end(domain)
itt.detach()
itt.task_begin(domain, "unseen")
itt.task_end(domain)
