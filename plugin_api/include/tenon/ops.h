/* ATen operators for plugins in C: what a model, loss or metric writes its arithmetic with.
 *
 * Errors stick: after the first failure every further operator does nothing and gives null, so that a function computes
 * to its end and returns `calls.status` once:
 *
 *   tenon_calls calls = tenon_begin(&self->ops, frame);
 *   tenon_tensor* hidden = tenon_relu(&calls, tenon_linear(&calls, inputs[0], weight, bias));
 *   outputs[0] = tenon_linear(&calls, hidden, ...);
 *   return calls.status;
 *
 * Static inline, so nothing of these files is part of the binary contract. Tensors that an operator gives belong to the
 * frame. Names, shapes and promotion are those of PyTorch; an operator that is not here is called with tenon_call_op.
 * [train] all of it. */
#ifndef TENON_OPS_H
#define TENON_OPS_H

#include "ops/arithmetic.h"
#include "ops/call.h"
#include "ops/comparison.h"
#include "ops/loss.h"
#include "ops/network.h"
#include "ops/shape.h"

#endif
