/* A program that loads libtenon_predictor at run time: embedding_program LIBRARY MODEL TASK [FILE]. It exits with 7 if
 * nothing has changed for it, and with another code that says what has. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <locale.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/draft/predictor.h>

extern char** environ;

enum { SIGNALS = 32 };

static struct {
  struct sigaction handlers[SIGNALS];
  char environment[1 << 16];
} before, after;

static void read_handlers(struct sigaction* handlers) {
  for (int number = 1; number < SIGNALS; ++number) sigaction(number, NULL, &handlers[number]);
}

static void read_environment(char* text) {
  text[0] = 0;
  for (char** variable = environ; *variable; ++variable)
    if (strlen(text) + strlen(*variable) + 2 < sizeof before.environment) strcat(strcat(text, *variable), "\n");
}

static int predict(void* library, const char* model, uint32_t threads) {
  tenon_status (*open)(const tenon_predictor_options*, tenon_predictor**) = dlsym(library, "tenon_predictor_open");
  tenon_status (*run)(tenon_predictor*, const tenon_predictor_request*, const tenon_prediction**) =
      dlsym(library, "tenon_predictor_run");
  void (*release)(const tenon_prediction*) = dlsym(library, "tenon_prediction_free");
  void (*close)(tenon_predictor*) = dlsym(library, "tenon_predictor_close");
  const char* (*error)(void) = dlsym(library, "tenon_predictor_error");
  if (!open || !run || !release || !close || !error) return 10;
  tenon_predictor_options options = {.size = sizeof options, .threads = threads, .concurrency = 2};
  options.model.data = model;
  options.model.size = strlen(model);
  tenon_predictor* predictor = NULL;
  if (open(&options, &predictor) != TENON_OK) {
    puts(error());
    return 11;
  }
  float digit[64] = {0};
  const tenon_predictor_value value = {
      .size = sizeof value, .kind = TENON_INPUT_ELEMENTS, .data = digit, .byte_count = sizeof digit};
  const tenon_predictor_value* values[] = {&value};
  const tenon_predictor_request request = {
      .size = sizeof request, .values = values, .value_count = 1, .sample_count = 1, .top_k = 1};
  for (int i = 0; i < 20; ++i) {
    const tenon_prediction* prediction = NULL;
    if (run(predictor, &request, &prediction) != TENON_OK) {
      puts(error());
      return 12;
    }
    release(prediction);
  }
  close(predictor);
  return 0;
}

int main(int count, char** arguments) {
  if (count < 4) return 1;
  const char *const file = arguments[1], *const model = arguments[2], *const task = arguments[3];
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return 2;
  if (strcmp(task, "other-libtorch") == 0 && !dlopen(arguments[4], RTLD_NOW)) return 3;
  if (strcmp(task, "settings") == 0) {
    setlocale(LC_ALL, "C.UTF-8");
    omp_set_num_threads(3);
    read_handlers(before.handlers);
    read_environment(before.environment);
  }
  const int times = strcmp(task, "again") == 0 ? 3 : 1;
  for (int i = 0; i < times; ++i) {
    const int failure = predict(library, model, 2);
    if (failure) return failure;
    if (times == 1) continue;
    dlclose(library);
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return 4;
  }
  if (strcmp(task, "settings") == 0) {
    read_handlers(after.handlers);
    read_environment(after.environment);
    for (int number = 1; number < SIGNALS; ++number)
      if (before.handlers[number].sa_handler != after.handlers[number].sa_handler) return 20;
    if (omp_get_max_threads() != 3) return 21;
    if (strcmp(setlocale(LC_ALL, NULL), "C.UTF-8") != 0) return 22;
    if (strcmp(before.environment, after.environment) != 0) return 23;
  }
  return 7;
}
