// The commands `tenon` and `host` of the wheel. pip puts them into a folder that Python chooses, and the package into
// another one. This program finds the package and becomes bin/tenon in it. No Python runs.
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOT_FOUND = 127 };  // as in shells

// From the folder of this program to the packages: a virtual environment, Debian's Python, and pip install --target.
static const char *const places[] = {
    "../lib/python3*/site-packages",
    "../lib64/python3*/site-packages",
    "../lib/python3*/dist-packages",
    "../local/lib/python3*/dist-packages",
    "..",
};

static int fits(int length, size_t size) { return length > 0 && (size_t)length < size; }

// Writes the program of the package that was installed last to `found`.
static int find_program(const char *folder, char *found, size_t size) {
  struct timespec newest = {0, 0};
  found[0] = '\0';
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    char pattern[PATH_MAX];
    glob_t matches;
    if (!fits(snprintf(pattern, sizeof pattern, "%s/%s/tenon_host/bin/tenon", folder, places[i]), sizeof pattern))
      continue;
    if (glob(pattern, 0, NULL, &matches) != 0) continue;
    for (size_t k = 0; k < matches.gl_pathc; ++k) {
      struct stat info;
      if (stat(matches.gl_pathv[k], &info) != 0) continue;
      const struct timespec time = info.st_ctim;
      if (time.tv_sec > newest.tv_sec || (time.tv_sec == newest.tv_sec && time.tv_nsec > newest.tv_nsec)) {
        newest = time;
        snprintf(found, size, "%s", matches.gl_pathv[k]);
      }
    }
    globfree(&matches);
  }
  return found[0] != '\0';
}

int main(int argc, char **argv) {
  char self[PATH_MAX], found[PATH_MAX], program[PATH_MAX], torch[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  (void)argc;
  if (length < 0) {
    fprintf(stderr, "error: /proc/self/exe: %s; expected a mounted /proc\n", strerror(errno));
    return NOT_FOUND;
  }
  self[length] = '\0';
  *strrchr(self, '/') = '\0';
  if (!find_program(self, found, sizeof found) || !realpath(found, program)) {
    fprintf(
        stderr,
        "error: %s: the Python package tenon-host is not in ../lib/python3*/site-packages; install it again with pip\n",
        self);
    return NOT_FOUND;
  }
  // Without this check the loader's message would name a library that users do not know.
  snprintf(torch, sizeof torch, "%.*s/torch/lib/libtorch_cpu.so",
           (int)(strlen(program) - strlen("/tenon_host/bin/tenon")), program);
  if (access(torch, R_OK) != 0) {
    fprintf(stderr,
            "error: %s: %s; expected the Python package torch in the same folder as tenon-host; install both into one "
            "virtual environment, which does not use the packages of the system\n",
            torch, strerror(errno));
    return NOT_FOUND;
  }
  execv(program, argv);
  fprintf(stderr, "error: %s: %s; install tenon-host again with pip\n", program, strerror(errno));
  return NOT_FOUND;
}
