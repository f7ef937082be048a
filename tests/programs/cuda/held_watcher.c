// SPDX-License-Identifier: Apache-2.0
//
// Preloaded: holds the thread that watches CUDA devices where it looks at the program's libraries, which is between its
// looking whether it is to record and its switching CUPTI, until it is let go.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

typedef int visitor(struct dl_phdr_info *info, size_t size, void *data);

SHOWN unsigned int held_count(void);
SHOWN void held_release(void);
SHOWN int dl_iterate_phdr(visitor *visit, void *data);

static atomic_uint came;
static sem_t release;

static __attribute__((constructor)) void begin(void)
{
	sem_init(&release, 0, 0);
}

/* How often it came here. */
unsigned int held_count(void)
{
	return atomic_load(&came);
}

/* Now and from now on. */
void held_release(void)
{
	sem_post(&release);
}

int dl_iterate_phdr(visitor *visit, void *data)
{
	static int (*real)(visitor *, void *);
	char name[16] = "";

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	if (pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
	    strcmp(name, "strata-cuda") == 0) {
		atomic_fetch_add(&came, 1);
		sem_wait(&release);
		sem_post(&release);
	}
	return real(visit, data);
}
