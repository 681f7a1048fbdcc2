/* All of the plugin contract in C. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include "abi.h"      /* versions, statuses, strings, values */
#include "callback.h" /* events and what a callback may ask */
#include "dataset.h"  /* samples written straight into the batch */
#include "dlpack.h"   /* tensors to and from other libraries */
#include "gradient.h" /* functions with a gradient of their own */
#include "host.h"     /* what a plugin may ask of the host */
#include "loss.h"
#include "metric.h"
#include "model.h"
#include "native_torch.h" /* for plugins that link LibTorch */
#include "parameters.h"   /* schemas */
#include "plugin.h"       /* the entry */
#include "port.h"         /* named inputs and outputs */
#include "random.h"       /* random numbers of the sample's own */
#include "run_figures.h"  /* which way figures are better */
#include "run_progress.h" /* how far a run is within its epoch */
#include "run_tensors.h"  /* what a run trains, for callbacks */
#include "sample_order.h" /* lengths and weights of samples */
#include "saved_state.h"  /* what a component keeps between steps */
#include "tensor.h"

#endif
