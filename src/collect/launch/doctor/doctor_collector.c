// SPDX-License-Identifier: Apache-2.0
//
// Checks of what a task collection stands on: the C library, the collector, the environment, shared
// memory, the run-time folder, and where the result goes.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/doctor/doctor_check.h"
#include "collect/launch/run/environment.h"
#include "collect/launch/family/rendezvous.h"

enum { LIBC_FLOOR_MAJOR = 2, LIBC_FLOOR_MINOR = 34 };

/* A process that has 64 threads: its header, their slots and its definitions. */
static const off_t segment_bytes = (off_t)66 << 20;
static const uint64_t disk_low_bytes = 1000000000u;
static const uint64_t shm_low_bytes = 64u << 20;

void st_doctor_libc(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	const char *version = gnu_get_libc_version();
	char *end;
	long major = strtol(version, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

	(void)context;
	if (major > LIBC_FLOOR_MAJOR || (major == LIBC_FLOOR_MAJOR && minor >= LIBC_FLOOR_MINOR)) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "glibc %s; the collector requires %d.%d",
			       version, LIBC_FLOOR_MAJOR, LIBC_FLOOR_MINOR);
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_MISSING,
		       "glibc %s is older than %d.%d, which the collector requires", version,
		       LIBC_FLOOR_MAJOR, LIBC_FLOOR_MINOR);
	st_doctor_remedy(
		finding,
		"use a distribution with glibc %d.%d or newer (Debian 12, Ubuntu 22.04, RHEL 9)",
		LIBC_FLOOR_MAJOR, LIBC_FLOOR_MINOR);
}

/* Loads it as a program's ITT part would; without our variables it stays off. */
static void try_collector(void *arg, struct st_doctor_answer *answer)
{
	void *library;

	setenv("STRATA_DISABLE", "1", 1);
	library = dlopen(arg, RTLD_NOW | RTLD_LOCAL);
	if (library && dlsym(library, "__itt_api_init"))
		return;
	answer->code = ELIBBAD;
	if (!library)
		snprintf(answer->text, sizeof(answer->text), "%s", dlerror());
	else
		snprintf(answer->text, sizeof(answer->text), "it has no __itt_api_init");
}

void st_doctor_collector(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	struct st_doctor_answer answer;
	struct st_error err = {0};
	char why[96], *path = NULL, *jit = NULL;

	(void)context;
	if (st_environment_find_collector(&path, &err)) {
		st_doctor_fact(finding, ST_DOCTOR_MISSING,
			       "libstrata_collector.so is not next to the strata executable");
		st_doctor_remedy(finding, "reinstall strata, or export "
					  "STRATA_COLLECTOR=/path/to/libstrata_collector.so");
		return;
	}
	st_doctor_attempt(try_collector, path, &answer);
	if (answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_MISSING, "cannot load %s: %s", path,
			       answer.text[0] ? answer.text
					      : st_doctor_why(&answer, why, sizeof(why)));
		st_doctor_remedy(finding, "reinstall strata for this C library");
	} else if (!st_environment_can_preload(path)) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "%s cannot be preloaded: its path contains a space or a colon",
			       path);
		st_doctor_remedy(finding, "install strata under a path without spaces and colons");
	} else if (!(jit = st_environment_jit_library(path))) {
		st_doctor_fact(
			finding, ST_DOCTOR_LIMITED,
			"%s, but no libstrata_jit.so next to it: JIT-compiled code has no names",
			path);
		st_doctor_remedy(finding, "reinstall strata");
	} else {
		st_doctor_fact(finding, ST_DOCTOR_OK, "%s", path);
	}
	free(jit);
	free(path);
}

void st_doctor_environment(const struct st_doctor_context *context,
			   struct st_doctor_finding *finding)
{
	const char *library = getenv("INTEL_LIBITTNOTIFY64"), *preload = getenv("LD_PRELOAD");
	const char *jit = getenv("INTEL_JIT_PROFILER64");

	(void)context;
	if (getenv("STRATA_DISABLE")) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "STRATA_DISABLE is set: the collector does nothing");
		st_doctor_remedy(finding, "unset STRATA_DISABLE");
	} else if (library && strstr(library, "libstrata_collector") == NULL) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "INTEL_LIBITTNOTIFY64=%.80s: another collector; strata replaces it "
			       "in the program",
			       library);
		st_doctor_remedy(finding, "unset INTEL_LIBITTNOTIFY64");
	} else if (library) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "this shell is itself running under strata");
		st_doctor_remedy(
			finding,
			"run strata outside it: only one collection at a time is possible");
	} else if (jit) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "INTEL_JIT_PROFILER64=%.80s: another JIT profiler; strata replaces "
			       "it in the program",
			       jit);
		st_doctor_remedy(finding, "unset INTEL_JIT_PROFILER64");
	} else if (preload && preload[0]) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "LD_PRELOAD=%.80s is kept and loaded before the collector", preload);
	} else {
		st_doctor_fact(
			finding, ST_DOCTOR_OK,
			"INTEL_LIBITTNOTIFY64, INTEL_JIT_PROFILER64 and LD_PRELOAD are not set");
	}
}

static void try_memfd(void *arg, struct st_doctor_answer *answer)
{
	int fd = memfd_create("strata-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map;

	(void)arg;
	errno = fd < 0 ? errno : 0;
	if (fd < 0 || ftruncate(fd, segment_bytes) != 0) {
		answer->code = errno;
		snprintf(answer->text, sizeof(answer->text), "memfd_create");
		return;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
		answer->code = errno;
		snprintf(answer->text, sizeof(answer->text), "sealing");
		return;
	}
	map = mmap(NULL, (size_t)segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		answer->code = errno;
		answer->value = 1;
		snprintf(answer->text, sizeof(answer->text), "mapping 66 MB");
	}
}

void st_doctor_memfd(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	struct st_doctor_answer answer;
	char why[96];

	(void)context;
	st_doctor_attempt(try_memfd, NULL, &answer);
	if (!answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "memfd_create and file seals work");
		return;
	}
	/* The collector goes on with fewer slots when only the address space is too small. */
	st_doctor_fact(finding, answer.value ? ST_DOCTOR_LIMITED : ST_DOCTOR_MISSING, "%s: %s",
		       answer.text[0] ? answer.text : "memfd_create",
		       st_doctor_why(&answer, why, sizeof(why)));
	if (answer.value)
		st_doctor_remedy(finding, "ulimit -v unlimited");
	else
		st_doctor_remedy(finding, "allow the memfd_create system call in the seccomp "
					  "profile (docker run --security-opt seccomp=PROFILE)");
}

static void try_sockets(void *arg, struct st_doctor_answer *answer)
{
	struct st_rendezvous *rendezvous;
	struct st_error err = {0};
	char *slash;
	int fd;

	(void)arg;
	/* A filter that kills shall do so before there is a folder that nobody removes. */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		answer->code = errno;
		return;
	}
	close(fd);
	if (st_rendezvous_create(&rendezvous, &err)) {
		answer->code = err.code ? err.code : EIO;
		return;
	}
	snprintf(answer->text, sizeof(answer->text), "%s", st_rendezvous_path(rendezvous));
	/* Without the socket and its folder: the place is what counts. */
	for (int i = 0; i < 2; i++) {
		slash = strrchr(answer->text, '/');
		if (slash)
			*slash = '\0';
	}
	st_rendezvous_destroy(rendezvous);
}

void st_doctor_sockets(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	struct st_doctor_answer answer;
	char why[96];

	(void)context;
	st_doctor_attempt(try_sockets, NULL, &answer);
	if (!answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "sockets can be created in %s", answer.text);
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_MISSING,
		       "cannot create a socket in XDG_RUNTIME_DIR, TMPDIR or /tmp: %s",
		       st_doctor_why(&answer, why, sizeof(why)));
	if (answer.code == -1 || answer.code == EPERM)
		st_doctor_remedy(finding, "allow the socket system call in the seccomp profile "
					  "(docker run --security-opt seccomp=PROFILE)");
	else
		st_doctor_remedy(finding, "export TMPDIR=DIR, a writable folder with a short path");
}

void st_doctor_shm(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char path[PATH_MAX], a[32], b[32];
	struct statvfs about;
	uint64_t size;

	snprintf(path, sizeof(path), "%s/dev/shm", context->root);
	if (statvfs(path, &about) != 0) {
		st_doctor_fact(
			finding, ST_DOCTOR_LIMITED,
			"not mounted; strata does not use it, but PyTorch DataLoader workers do");
		st_doctor_remedy(finding, "sudo mount -t tmpfs tmpfs /dev/shm");
		return;
	}
	size = (uint64_t)about.f_blocks * about.f_frsize;
	st_doctor_fact(finding, ST_DOCTOR_OK, "%s of %s free; strata does not use it",
		       st_doctor_size((uint64_t)about.f_bavail * about.f_frsize, a, sizeof(a)),
		       st_doctor_size(size, b, sizeof(b)));
	if (size <= shm_low_bytes) {
		finding->status = ST_DOCTOR_LIMITED;
		st_doctor_remedy(
			finding,
			"docker run --shm-size=1g (for DataLoader workers, not for strata)");
	}
}

void st_doctor_disk(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	struct statvfs about;
	uint64_t left;
	char a[32];

	if (statvfs(context->folder, &about) != 0 || access(context->folder, W_OK | X_OK) != 0) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED, "cannot write to the working folder: %s",
			       strerror(errno));
		st_doctor_remedy(finding,
				 "strata -collect tasks -r DIR/r@@@ta ..., with a writable DIR");
		return;
	}
	left = (uint64_t)about.f_bavail * about.f_frsize;
	st_doctor_fact(finding, ST_DOCTOR_OK, "%s free in the working folder",
		       st_doctor_size(left, a, sizeof(a)));
	if (left < disk_low_bytes) {
		finding->status = ST_DOCTOR_LIMITED;
		st_doctor_remedy(finding, "use -r DIR on a larger disk, or -data-limit MB");
	}
}
