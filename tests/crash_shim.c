/* Calls of the C library on files below one folder, which fail when they are told to.
 *
 * Loaded with LD_PRELOAD, so that SQLite's own calls and Python's both come by. Reading is left
 * alone: what cannot be read is another test.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long at = 0, seen = 0, fired = 0;
static int error = 0, lasting = 0;
static const char *name_of_last = "";

void shim_arm(const char *below, long nth, int number, int on) {
  strncpy(folder, below, sizeof folder - 1);
  at = nth, error = number, lasting = on, seen = 0, fired = 0;
}

long shim_fired(void) { return fired; }

const char *shim_last(void) { return name_of_last; }

static int fails(const char *path, const char *name) {
  if (!at || !path || strncmp(path, folder, strlen(folder))) return 0;
  seen++;
  if (seen < at || (seen > at && !lasting)) return 0;
  fired++, name_of_last = name;
  errno = error;
  return 1;
}

static int fails_on(int handle, const char *name) {
  char link[64], path[4096];
  if (!at) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(path, name);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPENING(name)                                   \
  int name(const char *path, int flags, ...) {          \
    va_list rest;                                       \
    va_start(rest, flags);                              \
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                       \
    if ((flags & (O_WRONLY | O_RDWR)) && fails(path, #name)) return -1; \
    return REAL(name)(path, flags, mode);               \
  }
OPENING(open)
OPENING(open64)

ssize_t write(int f, const void *b, size_t n) { return fails_on(f, __func__) ? -1 : REAL(write)(f, b, n); }
ssize_t pwrite(int f, const void *b, size_t n, off_t o) {
  return fails_on(f, __func__) ? -1 : REAL(pwrite)(f, b, n, o);
}
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) {
  return fails_on(f, __func__) ? -1 : REAL(pwrite64)(f, b, n, o);
}
int fsync(int f) { return fails_on(f, __func__) ? -1 : REAL(fsync)(f); }
int fdatasync(int f) { return fails_on(f, __func__) ? -1 : REAL(fdatasync)(f); }
int ftruncate(int f, off_t n) { return fails_on(f, __func__) ? -1 : REAL(ftruncate)(f, n); }
int ftruncate64(int f, off64_t n) { return fails_on(f, __func__) ? -1 : REAL(ftruncate64)(f, n); }
int unlink(const char *path) { return fails(path, __func__) ? -1 : REAL(unlink)(path); }
int rename(const char *a, const char *b) { return fails(a, __func__) ? -1 : REAL(rename)(a, b); }
