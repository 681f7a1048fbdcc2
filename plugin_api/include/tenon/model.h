/* A model: named inputs to named outputs. Single and multiple inputs and outputs are the same table.
 *
 * The host calls create, ports, build (once, in this order), then forward as often as it likes, then destroy. The host
 * owns parameters and buffers: data parallelism, optimizers, mixed precision, seeding and checkpoints ask nothing more
 * of the model. */
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include "host.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the host fills a parameter, from the run's seed, in the order of declaration. Fans as in torch.nn.init
 * (https://pytorch.org/docs/stable/nn.init.html); `a` and `b` are what each line says. */
enum {
  TENON_INIT_CONSTANT = 0,        /* a: the value; zero by default */
  TENON_INIT_UNIFORM = 1,         /* a: lower, b: upper bound */
  TENON_INIT_NORMAL = 2,          /* a: mean, b: standard deviation */
  TENON_INIT_KAIMING_UNIFORM = 3, /* a: negative slope of the leaky ReLU that follows (He et al., arXiv:1502.01852) */
  TENON_INIT_KAIMING_NORMAL = 4,  /* a: likewise */
  TENON_INIT_XAVIER_UNIFORM = 5,  /* a: gain, 0 means 1 (Glorot and Bengio, 2010) */
  TENON_INIT_XAVIER_NORMAL = 6    /* a: likewise */
};

enum { TENON_TRAINABLE = 1u /* receives gradients; without it the tensor is a buffer */ };

/* A parameter or buffer that the model declares and the host allocates. */
typedef struct tenon_declaration {
  uint64_t size;
  tenon_string name; /* UTF-8, dotted, as PyTorch would call it: `hidden.0.weight`; not `__metadata__` */
  const int64_t* shape;
  uint32_t rank;
  int32_t dtype; /* TENON_FLOAT32 ..., not a complex one: safetensors files have none */
  uint32_t flags;
  uint32_t init; /* TENON_INIT_... */
  double a;
  double b;
} tenon_declaration;
TENON_FREEZE(tenon_declaration, b, 64);

/* The host's side of build(). Borrowed for the call. */
typedef struct tenon_builder tenon_builder;
struct tenon_builder {
  uint64_t size;
  void* context;

  /* [train] Allocates and initialises a tensor; `index` receives its place in tenon_frame.tensors. */
  tenon_status (*declare)(const tenon_builder* builder, const tenon_declaration* declaration, uint64_t* index);

  /* [train] Registers a tensor that exists already (what the wrapper of torch::nn::Module does): a dense one, its name
   * and dtype as in a declaration. The host keeps the handle and may move the tensor to another device in place. */
  tenon_status (*adopt)(const tenon_builder* builder, tenon_string name, tenon_tensor* tensor, uint32_t flags,
                        uint64_t* index);
};
TENON_FREEZE(tenon_builder, adopt, 32);

typedef struct tenon_model {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] The inputs and outputs, in the order in which forward takes and gives them; valid while self lives. */
  tenon_status (*ports)(void* self, const tenon_port* const** ports, uint64_t* count);

  /* [train] Declares or adopts every parameter and buffer. */
  tenon_status (*build)(void* self, const tenon_builder* builder);

  /* [train] Inputs and outputs as in ports. Re-entrant: depends on nothing but its arguments and the frame's tensors,
   * so that the host may recompute it or run it with other weights. Each output is a handle of the frame, or an input.
   */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_tensor** outputs, uint64_t output_count);
} tenon_model;
TENON_FREEZE(tenon_model, forward, 48);

#ifdef __cplusplus
}
#endif
#endif
