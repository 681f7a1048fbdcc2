/* A dataset: numbered samples, each a set of named fields that the dataset writes straight into the batch.
 *
 * One instance serves every worker thread; get is called concurrently, with another `worker` on every thread. */
#ifndef TENON_DATASET_H
#define TENON_DATASET_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One named part of a sample. */
typedef struct tenon_field {
  uint64_t size;
  tenon_string name;
  int32_t dtype;        /* TENON_FLOAT32 ... */
  uint32_t rank;        /* of one sample, without the batch dimension */
  const int64_t* shape; /* of one sample; -1 for an extent that differs between samples */
  tenon_string doc;
  /* What stands behind the end of a sample that is smaller than the largest of its batch; used only with a -1. */
  double padding;
} tenon_field;
TENON_FREEZE(tenon_field, padding, 64);

/* Which sample is asked for, and its randomness. */
typedef struct tenon_sample {
  uint64_t size;
  int64_t index; /* 0 <= index < size() */
  int64_t epoch; /* from 1; 0 where there is none, as in validation */
  /* A function of (run seed, which dataset, epoch, index) alone. Augmentation that draws from a generator seeded with
   * it gives the same pixels for any number of workers, and again when a run is resumed. Training and validation data,
   * made by the same component or not, never share a seed; validation data have the same seeds in every epoch. */
  uint64_t seed;
} tenon_sample;
TENON_FREEZE(tenon_sample, seed, 32);

/* Hands out the sample's memory within the batch. */
typedef struct tenon_sink tenon_sink;
struct tenon_sink {
  uint64_t size;
  void* context;

  /* [worker] Memory of the field, C-contiguous, for the shape given: the field's, with an extent of 0 or more in place
   * of each -1. It is not cleared. Every field must be asked for and filled once per sample. */
  tenon_status (*slot)(const tenon_sink* sink, uint64_t field, const int64_t* shape, uint32_t rank, void** memory);
};
TENON_FREEZE(tenon_sink, slot, 24);

typedef struct tenon_dataset {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] Number of samples; must not change. */
  tenon_status (*length)(void* self, int64_t* length);

  /* [train] Valid while self lives. */
  tenon_status (*fields)(void* self, const tenon_field* const** fields, uint64_t* count);

  /* [worker] Optional (both null or both set). What a worker thread keeps between samples; `seed` is of (run seed,
   * which dataset, rank, worker id), for plugins that want a generator per worker. */
  tenon_status (*open_worker)(void* self, uint64_t worker_id, uint64_t seed, void** worker);
  void (*close_worker)(void* self, void* worker);

  /* [worker] Writes one sample. `worker` is null where open_worker is. */
  tenon_status (*get)(void* self, void* worker, const tenon_sample* sample, const tenon_sink* sink);

  /* [train] Optional. Identifies the data (files, sizes, options): equal data, equal number. */
  tenon_status (*fingerprint)(void* self, uint64_t* fingerprint);
} tenon_dataset;
TENON_FREEZE(tenon_dataset, fingerprint, 72);

#ifdef __cplusplus
}
#endif
#endif
