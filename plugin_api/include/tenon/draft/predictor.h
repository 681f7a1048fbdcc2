/* Predictions of a trained model in any program: the C interface of the library libtenon_predictor. It opens a model
 * file of `host export --output NAME.tenon` and runs the model with the same plugin, the same preprocessing and the
 * same results as `host predict`, with the same bits if the batches and the number of threads are the same. A draft: it
 * may change or be removed in any release.
 *
 *   tenon_predictor_options options = {.size = sizeof options, .model = TENON_STRING("photos.tenon")};
 *   tenon_predictor* predictor = NULL;
 *   if (tenon_predictor_open(&options, &predictor) != TENON_OK) puts(tenon_predictor_error());
 *
 * Every function may be called by any thread, and predictions by several threads at the same time. The library prints
 * nothing, handles no signals, never ends the process, and does not change the locale, the environment or the OpenMP
 * settings of the threads that call it: a model runs on the calling thread if it has one thread, and on threads of the
 * predictor if it has more. It loads LibTorch when the first predictor is opened, and neither LibTorch nor a plugin is
 * ever unloaded, also if the program closes the library. A process that was forked after a predictor was opened cannot
 * use it. */
#ifndef TENON_PREDICTOR_H
#define TENON_PREDICTOR_H

#include "../abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_predictor tenon_predictor;

enum {
  /* Accepts a plugin file that differs from the one that the model was exported with. Plugins of the installation may
   * always differ, because each version of Tenon builds them again. */
  TENON_PREDICTOR_ANY_PLUGIN = 1
};

enum { TENON_PREDICTOR_DEBUG = 0, TENON_PREDICTOR_INFO = 1, TENON_PREDICTOR_WARNING = 2, TENON_PREDICTOR_ERROR = 3 };

/* Everything is borrowed for the call. Zero and empty strings stand for the defaults. */
typedef struct tenon_predictor_options {
  uint64_t size;
  tenon_string model; /* path of the model file */
  /* Folders with plugins, and files of plugins. They are searched before the plugins of the installation; no others
   * are. Environment variables and folders of users name none. */
  const tenon_string* plugins;
  uint64_t plugin_count;
  uint32_t threads;     /* of the operators of one prediction; default: one for each core that this process may use */
  uint32_t concurrency; /* predictions that run at the same time, each with `threads` threads; default: 1 */
  uint32_t flags;       /* TENON_PREDICTOR_ANY_PLUGIN, or 0 */
  uint32_t reserved;
  /* Folder of the Python package torch or of an unpacked LibTorch. Default: that of the installation. Every predictor
   * of a process uses one LibTorch: if the program has loaded another one, opening fails. */
  tenon_string libtorch;
  /* Optional. Receives lines of the log, such as warnings of damaged images, while a function of the predictor runs.
   * Several threads may call it at the same time. `level`: TENON_PREDICTOR_WARNING, ... */
  void (*log)(void* context, uint32_t level, tenon_string line);
  void* log_context;
} tenon_predictor_options;
TENON_FREEZE(tenon_predictor_options, log_context, 88);

/* What a predictor accepts for an input. */
enum {
  TENON_INPUT_ELEMENTS = 1, /* the elements of the tensor, without the dimension of the samples */
  TENON_INPUT_IMAGE = 2,    /* the bytes of an image file: JPEG, PNG, WebP, TIFF, BMP or PNM */
  TENON_INPUT_PIXELS = 4,   /* pixels of 8 bits */
  TENON_INPUT_ROW = 8       /* the cells of a row of a table, as text */
};

enum { TENON_PIXELS_RGB = 0, TENON_PIXELS_BGR = 1 /* as OpenCV has them */, TENON_PIXELS_GREY = 2 };

typedef struct tenon_predictor_input {
  uint64_t size;
  tenon_string name;    /* of the field of the dataset that the model was trained with */
  uint32_t accepts;     /* TENON_INPUT_... joined by | */
  int32_t dtype;        /* of the elements */
  const int64_t* shape; /* of one sample; -1 for an extent that may differ between samples */
  uint32_t ndim;
  uint32_t reserved;
  const tenon_string* columns; /* names of the cells of a row */
  uint64_t column_count;
} tenon_predictor_input;
TENON_FREEZE(tenon_predictor_input, column_count, 64);

typedef struct tenon_predictor_output {
  uint64_t size;
  tenon_string name;
  const tenon_string* classes; /* names of the classes of the dimension after the samples; may be empty */
  uint64_t class_count;
} tenon_predictor_output;
TENON_FREEZE(tenon_predictor_output, class_count, 40);

/* Valid while the predictor lives. */
typedef struct tenon_predictor_info {
  uint64_t size;
  const tenon_predictor_input* const* inputs;
  uint64_t input_count;
  const tenon_predictor_output* const* outputs; /* the results of the model, or its outputs if it has none */
  uint64_t output_count;
  tenon_string description; /* model.json of the model file, see docs/reference/model_file.md */
  uint32_t threads;
  uint32_t concurrency;
} tenon_predictor_info;
TENON_FREEZE(tenon_predictor_info, concurrency, 64);

/* The value of one input for one sample. Everything is borrowed for the call. */
typedef struct tenon_predictor_value {
  uint64_t size;
  uint32_t kind;       /* one of TENON_INPUT_... that the input accepts */
  uint32_t pixels;     /* of pixels: TENON_PIXELS_... */
  const void* data;    /* C-contiguous elements of the input's dtype, the bytes of a file, or the first row of pixels */
  uint64_t byte_count; /* of elements and files */
  const int64_t* shape; /* of elements, if the input has extents of -1; of pixels: height and width */
  uint32_t ndim;
  uint32_t reserved;
  int64_t row_bytes;         /* of pixels: from one row to the next; 0: without gaps */
  const tenon_string* cells; /* of a row, in the order of the columns */
  uint64_t cell_count;
} tenon_predictor_value;
TENON_FREEZE(tenon_predictor_value, cell_count, 72);

typedef struct tenon_predictor_request {
  uint64_t size;
  /* [sample_count, input_count]: input k of sample i is values[i * input_count + k]. The samples are one batch. */
  const tenon_predictor_value* const* values;
  uint64_t value_count;
  uint64_t sample_count;
  /* The classes with the largest probabilities to find for each sample, for models with one output of scores
   * [samples, classes]; 0: none. */
  uint64_t top_k;
} tenon_predictor_request;
TENON_FREEZE(tenon_predictor_request, top_k, 40);

typedef struct tenon_predicted_output {
  uint64_t size;
  tenon_string name;
  int32_t dtype; /* float16 and bfloat16 become float32 */
  uint32_t ndim;
  const int64_t* shape; /* [samples, ...] */
  const void* elements; /* C-contiguous */
  uint64_t byte_count;
  /* Of a result with different numbers of rows, such as the boxes of a detector: the rows of each sample; the others
   * are padding. Null for others. */
  const int64_t* row_counts;
} tenon_predicted_output;
TENON_FREEZE(tenon_predicted_output, row_counts, 64);

/* Valid until tenon_prediction_free. */
typedef struct tenon_prediction {
  uint64_t size;
  uint64_t sample_count;
  const tenon_predicted_output* const* outputs; /* in the order of tenon_predictor_info.outputs */
  uint64_t output_count;
  /* [samples, top_k], in descending order; of equal ones the class with the smaller number comes first. Null if top_k
   * is 0. The names are those of the output. */
  const int64_t* top_classes;
  const float* top_probabilities;
  uint64_t top_k;
} tenon_prediction;
TENON_FREEZE(tenon_prediction, top_k, 56);

/* Returns TENON_NOT_FOUND if no LibTorch is found that fits, TENON_BAD_DATA for a file that cannot be read, is no model
 * or is damaged, TENON_INVALID_ARGUMENT for options that are out of range, and TENON_FAILED if a plugin is missing or
 * cannot be opened. `out` is then unchanged. */
TENON_EXPORT tenon_status tenon_predictor_open(const tenon_predictor_options* options, tenon_predictor** out);

/* Waits for predictions that other threads have begun, and for the threads of the predictor. Null is allowed. */
TENON_EXPORT void tenon_predictor_close(tenon_predictor* predictor);

TENON_EXPORT const tenon_predictor_info* tenon_predictor_describe(const tenon_predictor* predictor);

/* Decodes and transforms on the calling thread, then waits for the model. Returns TENON_BAD_DATA for a file that cannot
 * be decoded or a cell that is not a number, TENON_INVALID_ARGUMENT for values that the input does not accept, and
 * TENON_FAILED with the message of the plugin if the model fails. `out` is then unchanged. */
TENON_EXPORT tenon_status tenon_predictor_run(tenon_predictor* predictor, const tenon_predictor_request* request,
                                              const tenon_prediction** out);

/* Null is allowed. A prediction may outlive its predictor. */
TENON_EXPORT void tenon_prediction_free(const tenon_prediction* prediction);

/* The message of the last function that failed on this thread: where, what was found and what was expected. Valid until
 * the next call of this thread. Never null. */
TENON_EXPORT const char* tenon_predictor_error(void);

#ifdef __cplusplus
}
#endif
#endif
