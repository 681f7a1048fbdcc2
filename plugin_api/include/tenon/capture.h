/* Whether a CUDA graph can replay a model or loss in training, as an extension of the component
 * (tenon_component.get_extension). The host captures the kernels of a training step once for inputs of the same shapes
 * and dtypes, and replays them in later steps without calling the component. A component without the extension is not
 * captured unless the run file requires it (train.cuda_graph = "on"). A host that does not know the extension never
 * requests it. */
#ifndef TENON_CAPTURE_H
#define TENON_CAPTURE_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_CAPTURE "tenon.capture/1"

typedef struct tenon_capture {
  uint64_t size;

  /* [train] Sets *is_capturable to 1 if all of this holds in training on a CUDA device, otherwise to 0:
   *   - For inputs of the same shapes and dtypes, forward and its backward always call the same operators in the same
   *     order, on the same tensors: the inputs, the tensors of the frame, tensors that exist since create or build,
   *     and results of previous operators. All other arguments have the same values in each call.
   *   - No value of a tensor is read on the host: no item(), no copy to the CPU, no branch or shape that depends on
   *     values.
   *   - forward does not use step, epoch or seed of the frame.
   *   - forward creates no tensors from host memory (tenon_host.make_tensor): a replay would read memory that has been
   *     released, or repeat the values of the captured call.
   *   - Random numbers come only from operators on the device, such as dropout.
   *   - The weight of a loss is a tensor, or a number that depends only on shapes.
   * Evaluation, and training on the CPU, may differ. Called once, after create. */
  tenon_status (*is_capturable)(void* self, uint32_t* is_capturable);
} tenon_capture;
TENON_FREEZE(tenon_capture, is_capturable, 16);

#ifdef __cplusplus
}
#endif
#endif
