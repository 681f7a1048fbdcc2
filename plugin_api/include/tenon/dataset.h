/* A dataset has numbered samples. Each sample is a set of named fields that the dataset writes directly into the batch.
 *
 * All data workers share one instance. They call get concurrently, each thread with a different `worker`. */
#ifndef TENON_DATASET_H
#define TENON_DATASET_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A named field of a sample. */
typedef struct tenon_field {
  uint64_t size;
  tenon_string name;
  int32_t dtype;        /* TENON_FLOAT32 ... */
  uint32_t ndim;        /* number of dimensions of one sample, without the batch dimension; at most 64 */
  const int64_t* shape; /* shape of one sample; -1 for an extent that differs between samples */
  tenon_string doc;
  /* Fills the end of a sample that is smaller than the largest sample of its batch. Used only with an extent of -1. */
  double padding;
} tenon_field;
TENON_FREEZE(tenon_field, padding, 64);

/* Identifies the requested sample and seeds its random numbers. */
typedef struct tenon_sample {
  uint64_t size;
  int64_t index; /* 0 <= index < size() */
  int64_t epoch; /* counted from 1; 0 without epochs, as in validation */
  /* A seed that depends only on the run seed, the dataset, the epoch and the index, and on the number of the occurrence
   * if an epoch has the sample several times. Augmentation that uses a generator with this seed gives the same pixels
   * for any number of workers, and again after a resume. Training and validation data never share a seed, even if the
   * same component creates them. Validation data have the same seeds in every epoch. */
  uint64_t seed;
} tenon_sample;
TENON_FREEZE(tenon_sample, seed, 32);

/* Gives access to the memory of the sample within the batch. */
typedef struct tenon_sink tenon_sink;
struct tenon_sink {
  uint64_t size;
  void* context;

  /* [worker] Returns the memory of the field, C-contiguous, for the given shape: the shape of the field, with an extent
   * of 0 or more in place of each -1. The memory is not initialised. Request and fill every field once per sample. */
  tenon_status (*slot)(const tenon_sink* sink, uint64_t field, const int64_t* shape, uint32_t ndim, void** memory);
};
TENON_FREEZE(tenon_sink, slot, 24);

typedef struct tenon_dataset {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] Returns the number of samples, which must not change. */
  tenon_status (*length)(void* self, int64_t* length);

  /* [train] Returns the fields of a sample, valid while self lives. */
  tenon_status (*fields)(void* self, const tenon_field* const** fields, uint64_t* count);

  /* [worker] Optional (both null or both set). Creates the data that a worker thread keeps between samples. `seed`
   * depends on the run seed, the dataset, the rank and the worker id, for plugins that use one generator per worker. */
  tenon_status (*open_worker)(void* self, uint64_t worker_id, uint64_t seed, void** worker);
  void (*close_worker)(void* self, void* worker);

  /* [worker] Writes one sample. `worker` is null if open_worker is null. */
  tenon_status (*get)(void* self, void* worker, const tenon_sample* sample, const tenon_sink* sink);

  /* [train] Optional. Returns a number that identifies the data (files, sizes, options): equal data give equal
   * numbers. */
  tenon_status (*fingerprint)(void* self, uint64_t* fingerprint);
} tenon_dataset;
TENON_FREEZE(tenon_dataset, fingerprint, 72);

#ifdef __cplusplus
}
#endif
#endif
