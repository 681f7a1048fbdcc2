/* A small network and its loss in C11 that use only the plugin ABI, in the process of the test. */
#ifndef TENON_TESTS_PORTABLE_NETWORK_H
#define TENON_TESTS_PORTABLE_NETWORK_H

#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* conv -> batch norm -> ReLU -> max pool -> linear -> layer norm -> GELU -> dropout -> linear. */
extern const tenon_model portable_network_model;
/* Cross entropy with label smoothing, plus 0.1 times the mean of the squared logits. */
extern const tenon_loss portable_network_loss;

/* The dtype of the model's tensors. Set it before build. */
extern int32_t portable_network_dtype;

#ifdef __cplusplus
}
#endif
#endif
