/* The golden dataset: all kinds of fields and parameters. A sample depends on its seed and its index. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

enum { kMaxNumbers = 16, kImageValues = 2 * 6 * 5, kContextValues = 3, kClasses = 3, kWords = 16 };

typedef struct golden_dataset {
  const tenon_host* host;
  int64_t samples;
  int64_t bad_sample;
  int64_t augments;
  int64_t is_noisy;
  double scale;
  uint64_t length_count;
  int64_t lengths[kMaxNumbers];
  uint64_t noise_count;
  double noise[kMaxNumbers];
  int64_t letters; /* number of letters in all names together */
  int64_t offset_count;
  int64_t offsets[kMaxNumbers]; /* numbers in the file `table` */
} golden_dataset;

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

static tenon_status read_table(golden_dataset* self, const tenon_value* path) {
  char name[4096], line[64];
  if (path->n >= sizeof name)
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("the path of the table is too long"));
  memcpy(name, path->as.p, path->n);
  name[path->n] = '\0';
  FILE* file = fopen(name, "r");
  if (!file) return self->host->fail(TENON_BAD_DATA, TEXT("the table cannot be opened"));
  while (self->offset_count < kMaxNumbers && fgets(line, sizeof line, file)) {
    self->offsets[self->offset_count++] = atol(line);
  }
  fclose(file);
  if (self->offset_count == 0) return self->host->fail(TENON_BAD_DATA, TEXT("the table is empty"));
  return TENON_OK;
}

static tenon_status create(const tenon_host* host, const tenon_params* params, void** made) {
  tenon_value samples, table, kind, scale, lengths, noise, names, augment, bad_sample;
  const expected all[] = {WANTED("samples", &samples), WANTED("table", &table),     WANTED("kind", &kind),
                          WANTED("scale", &scale),     WANTED("lengths", &lengths), WANTED("noise", &noise),
                          WANTED("names", &names),     WANTED("augment", &augment), WANTED("bad_sample", &bad_sample)};
  tenon_status status = read_params(host, params, all, COUNT(all));
  if (status != TENON_OK) return status;
  if (lengths.n == 0 || lengths.n > kMaxNumbers || noise.n == 0 || noise.n > kMaxNumbers) {
    return host->fail(TENON_INVALID_ARGUMENT, TEXT("lengths and noise: expected 1 to 16 numbers each"));
  }
  golden_dataset* self = calloc(1, sizeof *self);
  if (!self) return host->fail(TENON_FAILED, TEXT("out of memory"));
  self->host = host;
  self->samples = samples.as.i;
  self->bad_sample = bad_sample.as.i;
  self->augments = augment.as.i;
  self->is_noisy = kind.n == 5 && memcmp(kind.as.p, "noisy", 5) == 0;
  self->scale = scale.as.f;
  self->length_count = lengths.n;
  memcpy(self->lengths, lengths.as.p, lengths.n * sizeof self->lengths[0]);
  self->noise_count = noise.n;
  memcpy(self->noise, noise.as.p, noise.n * sizeof self->noise[0]);
  for (uint64_t i = 0; i < names.n; ++i) self->letters += (int64_t)((const tenon_string*)names.as.p)[i].size;
  status = read_table(self, &table);
  if (status != TENON_OK) {
    free(self);
    return status;
  }
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static tenon_status length(void* self, int64_t* length) {
  *length = ((const golden_dataset*)self)->samples;
  return TENON_OK;
}

static tenon_status fingerprint(void* untyped, uint64_t* fingerprint) {
  const golden_dataset* self = untyped;
  uint64_t state = (uint64_t)self->samples * 2 + (uint64_t)self->is_noisy;
  for (int64_t i = 0; i < self->offset_count; ++i) state = next_number(&state) ^ (uint64_t)self->offsets[i];
  *fingerprint = next_number(&state);
  return TENON_OK;
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

enum { kImage, kContext, kWordList, kPath, kTarget, kLabel, kCertain };

static const int64_t kImageShape[] = {2, 6, 5};
static const int64_t kContextShape[] = {kContextValues};
static const int64_t kWordsShape[] = {-1};
static const int64_t kPathShape[] = {-1, 2};

#define FIELD(its_name, its_dtype, its_ndim, its_shape, its_padding, its_doc)                          \
  {                                                                                                    \
    .size = sizeof(tenon_field), .name = TENON_STRING(its_name), .dtype = its_dtype, .ndim = its_ndim, \
    .shape = its_shape, .doc = TENON_STRING(its_doc), .padding = its_padding                           \
  }

static const tenon_field kFieldList[] = {
    FIELD("image", TENON_FLOAT64, 3, kImageShape, 0, "a pattern of the class, and noise"),
    FIELD("context", TENON_FLOAT64, 1, kContextShape, 0, "three numbers"),
    FIELD("words", TENON_INT64, 1, kWordsShape, -1, "words of the class, 0 to 15; -1 behind the last"),
    FIELD("path", TENON_FLOAT64, 2, kPathShape, 0, "points; zeros behind the last"),
    FIELD("target", TENON_FLOAT64, 0, NULL, 0, "a number to be predicted"),
    FIELD("label", TENON_INT64, 0, NULL, 0, "0 to 2, or -1 where there is none"),
    FIELD("certain", TENON_UINT8, 0, NULL, 0, "what the sample counts, 0 to 3"),
};
static const tenon_field* const kFields[] = {&kFieldList[0], &kFieldList[1], &kFieldList[2], &kFieldList[3],
                                             &kFieldList[4], &kFieldList[5], &kFieldList[6]};

static tenon_status fields(void* self, const tenon_field* const** fields, uint64_t* count) {
  (void)self;
  *fields = kFields;
  *count = COUNT(kFields);
  return TENON_OK;
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

/* The state of a worker. It only tests opening and closing, because samples must not depend on it. */
typedef struct golden_worker {
  uint64_t id;
  uint64_t seed;
  int64_t samples;
} golden_worker;

static tenon_status open_worker(void* untyped, uint64_t id, uint64_t seed, void** worker) {
  golden_dataset* self = untyped;
  golden_worker* made = calloc(1, sizeof *made);
  if (!made) return self->host->fail(TENON_FAILED, TEXT("out of memory"));
  made->id = id;
  made->seed = seed;
  *worker = made;
  return TENON_OK;
}

static void close_worker(void* self, void* worker) {
  (void)self;
  free(worker);
}

static double draw(const golden_dataset* self, uint64_t* random, uint64_t place) {
  return next_fraction(random) * self->noise[place % self->noise_count];
}

static tenon_status write_image(const golden_dataset* self, const tenon_sink* sink, int64_t class, uint64_t* random,
                                double* sum) {
  void* memory;
  const tenon_status status = sink->slot(sink, kImage, kImageShape, 3, &memory);
  if (status != TENON_OK) return status;
  double* image = memory;
  for (int64_t i = 0; i < kImageValues; ++i) {
    const double pattern = (double)(self->offsets[(class + i) % self->offset_count] + (i % (class + 2))) / 8.0;
    image[i] = self->scale * pattern + draw(self, random, (uint64_t)i);
    *sum += image[i];
  }
  return TENON_OK;
}

static tenon_status write_words(const golden_dataset* self, const tenon_sink* sink, int64_t class, uint64_t* random) {
  void* memory;
  const int64_t count = self->lengths[next_number(random) % self->length_count];
  const tenon_status status = sink->slot(sink, kWordList, &count, 1, &memory);
  if (status != TENON_OK) return status;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t drawn = (int64_t)(next_number(random) % 5);
    ((int64_t*)memory)[i] = (class * 5 + drawn + self->letters) % kWords;
  }
  return TENON_OK;
}

static tenon_status write_path(const golden_dataset* self, const tenon_sink* sink, uint64_t* random, double* sum) {
  void* memory;
  const int64_t shape[2] = {1 + (int64_t)(next_number(random) % 4), 2};
  const tenon_status status = sink->slot(sink, kPath, shape, 2, &memory);
  if (status != TENON_OK) return status;
  for (int64_t i = 0; i < shape[0] * 2; ++i) {
    ((double*)memory)[i] = draw(self, random, (uint64_t)i);
    *sum += ((double*)memory)[i];
  }
  return TENON_OK;
}

static tenon_status get(void* untyped, void* worker, const tenon_sample* sample, const tenon_sink* sink) {
  const golden_dataset* self = untyped;
  void *context, *target, *label, *certain;
  ((golden_worker*)worker)->samples += 1;
  if (sample->index == self->bad_sample) return self->host->fail(TENON_BAD_DATA, TEXT("the sample is a bad one"));

  uint64_t random = self->augments ? sample->seed : (uint64_t)sample->index;
  const int64_t class = sample->index % kClasses;
  double sum = 0;
  tenon_status status = write_image(self, sink, class, &random, &sum);
  if (status == TENON_OK) status = write_words(self, sink, class, &random);
  if (status == TENON_OK) status = write_path(self, sink, &random, &sum);
  if (status == TENON_OK) status = sink->slot(sink, kContext, kContextShape, 1, &context);
  if (status == TENON_OK) status = sink->slot(sink, kTarget, NULL, 0, &target);
  if (status == TENON_OK) status = sink->slot(sink, kLabel, NULL, 0, &label);
  if (status == TENON_OK) status = sink->slot(sink, kCertain, NULL, 0, &certain);
  if (status != TENON_OK) return status;
  for (uint64_t i = 0; i < kContextValues; ++i) {
    ((double*)context)[i] = draw(self, &random, i);
    sum += ((double*)context)[i];
  }
  *(double*)target = sum / 16.0 + (double)(sample->epoch % 2) / 64.0;
  *(int64_t*)label = self->is_noisy && sample->index % 7 == 3 ? -1 : class;
  *(uint8_t*)certain = (uint8_t)(sample->index % 4);
  return TENON_OK;
}

/* ---- Description of the plugin ----------------------------------------------------------------------------------- */

static const tenon_string kKinds[] = {TENON_STRING("clean"), TENON_STRING("noisy")};

PARAM(kSamples, "samples", TENON_PARAM_INT, "number of samples", .default_value = TENON_STRING("24"),
      .range = TENON_STRING("[1, inf)"));
PARAM(kTable, "table", TENON_PARAM_PATH, "file with a whole number a line", .default_value = {NULL, 0});
PARAM(kKind, "kind", TENON_PARAM_STRING, "whether some samples lack a label",
      .default_value = TENON_STRING("\"clean\""), .choices = kKinds, .choice_count = COUNT(kKinds));
PARAM(kScale, "scale", TENON_PARAM_FLOAT, "factor of the pattern", .default_value = TENON_STRING("1"),
      .range = TENON_STRING("(0, 8]"));
PARAM(kLengths, "lengths", TENON_PARAM_INTS, "numbers of words that occur",
      .default_value = TENON_STRING("[0, 1, 3, 7]"), .range = TENON_STRING("[0, 64]"));
PARAM(kNoise, "noise", TENON_PARAM_FLOATS, "factors of the noise", .default_value = TENON_STRING("[1.0, 0.5]"));
PARAM(kNames, "names", TENON_PARAM_STRINGS, "their letters shift the words", .default_value = TENON_STRING("[\"a\"]"));
PARAM(kAugment, "augment", TENON_PARAM_BOOL, "draw anew in every epoch", .default_value = TENON_STRING("true"));
PARAM(kBadSample, "bad_sample", TENON_PARAM_INT, "index of a sample that cannot be read; -1: none",
      .default_value = TENON_STRING("-1"), .range = TENON_STRING("[-1, inf)"));
static const tenon_param* const kParams[] = {&kSamples, &kTable, &kKind,    &kScale,    &kLengths,
                                             &kNoise,   &kNames, &kAugment, &kBadSample};

static const tenon_dataset kTableOfFunctions = {.size = sizeof kTableOfFunctions,
                                                .create = create,
                                                .destroy = destroy,
                                                .length = length,
                                                .fields = fields,
                                                .open_worker = open_worker,
                                                .close_worker = close_worker,
                                                .get = get,
                                                .fingerprint = fingerprint};

static const tenon_component kComponent = {
    .size = sizeof kComponent,
    .kind = TENON_DATASET,
    .id = TENON_STRING("golden_dataset"),
    .doc = TENON_STRING("samples made from their seeds, some fields of them varying"),
    .params = kParams,
    .param_count = COUNT(kParams),
    .table = &kTableOfFunctions};
static const tenon_component* const kComponents[] = {&kComponent};

static const tenon_plugin kPlugin = {.size = sizeof kPlugin,
                                     .id = TENON_STRING("golden_dataset"),
                                     .version = TENON_STRING("1.0.0"),
                                     .license = TENON_STRING("Apache-2.0"),
                                     .doc = TENON_STRING("The dataset that every host of version 1 serves."),
                                     .components = kComponents,
                                     .component_count = COUNT(kComponents)};

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  return tenon_answer(offer, reply, &kPlugin);
}
