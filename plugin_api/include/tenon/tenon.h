/* Includes all C headers of the plugin ABI. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include "abi.h"               /* versions, statuses, strings, values */
#include "callback.h"          /* events and requests of callbacks */
#include "capture.h"           /* CUDA graphs */
#include "class_names.h"       /* the classes of labels */
#include "dataset.h"           /* datasets, which write samples directly into the batch */
#include "decoding.h"          /* continuing sequences */
#include "device_stream.h"     /* current device and stream, for kernels */
#include "dlpack.h"            /* tensor exchange with other libraries */
#include "frozen_parameters.h" /* parameters that are not trained */
#include "gradient.h"          /* custom autograd functions */
#include "host.h"              /* host functions for plugins */
#include "index_inputs.h"      /* inputs that hold indices */
#include "loss.h"
#include "metric.h"
#include "model.h"
#include "native_torch.h"    /* for plugins that link LibTorch */
#include "parameter_roles.h" /* metrics that parameters name */
#include "parameters.h"      /* parameter schemas */
#include "plugin.h"          /* plugin entry point */
#include "port.h"            /* named inputs and outputs */
#include "prepare.h"         /* files that a dataset needs */
#include "preprocessing.h"   /* how fields are made */
#include "random.h"          /* random numbers per sample */
#include "run_metrics.h"     /* metric directions */
#include "run_progress.h"    /* progress within the epoch */
#include "run_tensors.h"     /* trained tensors, for callbacks */
#include "run_values.h"      /* values, settings and files of a run, for callbacks */
#include "sample_names.h"    /* names of samples */
#include "sample_order.h"    /* lengths and weights of samples */
#include "saved_state.h"     /* state of components for checkpoints */
#include "tensor.h"
#include "tied_weights.h"  /* further names of weights */
#include "tokenizer.h"     /* text as tokens */
#include "trusted_files.h" /* machine code in files */
#include "usual_sources.h" /* what inputs are connected to */

#endif
