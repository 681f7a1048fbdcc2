/* ATen operators for plugins in C, for the computations of models, losses and metrics.
 *
 * Errors are kept: after the first failure every further operator does nothing and returns null. A function can
 * therefore compute to its end and return `calls.status` once:
 *
 *   tenon_calls calls = tenon_begin(&self->ops, frame);
 *   tenon_tensor* hidden = tenon_relu(&calls, tenon_linear(&calls, inputs[0], weight, bias));
 *   outputs[0] = tenon_linear(&calls, hidden, ...);
 *   return calls.status;
 *
 * The functions are part of the plugin, so these files are not part of the ABI. Tensors that an operator returns belong
 * to the frame. Names, shapes and type promotion are those of PyTorch. A plugin declares an operator by calling it.
 * Call an operator that is missing here with tenon_call_op, and name it in tenon_plugin.operators. All functions:
 * [train].
 */
#ifndef TENON_OPS_H
#define TENON_OPS_H

#include "ops/arithmetic.h"
#include "ops/call.h"
#include "ops/comparison.h"
#include "ops/loss.h"
#include "ops/network.h"
#include "ops/shape.h"

#endif
