/* A model computes named outputs from named inputs. Models with one or several inputs and outputs use the same table.
 *
 * The host calls create, ports and build once, in this order, then forward any number of times, then destroy. The host
 * owns parameters and buffers. The model needs no code for data parallelism, optimizers, mixed precision, seeding or
 * checkpoints. */
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include "host.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the host initialises a parameter. It uses the run's seed, in the order of declaration. Fans are defined as in
 * torch.nn.init (https://pytorch.org/docs/stable/nn.init.html). Each line defines `a` and `b`. */
enum {
  TENON_INIT_CONSTANT = 0,        /* a: the value; zero by default */
  TENON_INIT_UNIFORM = 1,         /* a: lower, b: upper bound */
  TENON_INIT_NORMAL = 2,          /* a: mean, b: standard deviation */
  TENON_INIT_KAIMING_UNIFORM = 3, /* a: negative slope of the leaky ReLU that follows (He et al., arXiv:1502.01852) */
  TENON_INIT_KAIMING_NORMAL = 4,  /* a: as for TENON_INIT_KAIMING_UNIFORM */
  TENON_INIT_XAVIER_UNIFORM = 5,  /* a: gain, 0 means 1 (Glorot and Bengio, 2010) */
  TENON_INIT_XAVIER_NORMAL = 6    /* a: as for TENON_INIT_XAVIER_UNIFORM */
};

enum { TENON_TRAINABLE = 1u /* the tensor receives gradients; without this flag it is a buffer */ };

/* A parameter or buffer that the model declares and the host allocates. */
typedef struct tenon_declaration {
  uint64_t size;
  /* UTF-8 name with dots, as in PyTorch: `hidden.0.weight`; not `__metadata__` */
  tenon_string name;
  const int64_t* shape;
  uint32_t ndim;
  int32_t dtype; /* TENON_FLOAT32 ..., not a complex dtype: safetensors files do not support them */
  uint32_t flags;
  uint32_t init; /* TENON_INIT_... */
  double a;
  double b;
} tenon_declaration;
TENON_FREEZE(tenon_declaration, b, 64);

/* The host's functions for build(). Borrowed for the call. */
typedef struct tenon_builder tenon_builder;
struct tenon_builder {
  uint64_t size;
  void* context;

  /* [train] Allocates and initialises a tensor. `index` receives its index in tenon_frame.tensors. */
  tenon_status (*declare)(const tenon_builder* builder, const tenon_declaration* declaration, uint64_t* index);

  /* [train] Registers an existing tensor, as the wrapper of torch::nn::Module does. The tensor must be dense; its name
   * and dtype follow the rules of a declaration. The host keeps the handle and may move the tensor to another device in
   * place. */
  tenon_status (*adopt)(const tenon_builder* builder, tenon_string name, tenon_tensor* tensor, uint32_t flags,
                        uint64_t* index);
};
TENON_FREEZE(tenon_builder, adopt, 32);

typedef struct tenon_model {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] Returns the inputs and outputs, in the order that forward uses. Valid while self lives. */
  tenon_status (*ports)(void* self, const tenon_port* const** ports, uint64_t* count);

  /* [train] Declares or adopts every parameter and buffer. */
  tenon_status (*build)(void* self, const tenon_builder* builder);

  /* [train] Computes the outputs from the inputs, both in the order of ports. Re-entrant: it depends only on its
   * arguments and the frame's tensors, so that the host may recompute it or run it with other weights. Each output is a
   * handle of the frame, or an input. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_tensor** outputs, uint64_t output_count);
} tenon_model;
TENON_FREEZE(tenon_model, forward, 48);

#ifdef __cplusplus
}
#endif
#endif
