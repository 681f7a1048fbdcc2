/* What a model's outputs mean to its users, as an extension of a model (tenon_component.get_extension): the boxes of a
 * detector after non-maximum suppression, the peaks of a heat map, the classes with the largest scores. Predictions
 * have the results in place of the outputs, the pages of samples show them, and a metric takes them as inputs, so that
 * each is computed in one place. A draft: it may change or be removed in any release. */
#ifndef TENON_RESULTS_H
#define TENON_RESULTS_H

#include "../host.h"
#include "field_details.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RESULTS "tenon.draft.results/1"

typedef struct tenon_result {
  uint64_t size;
  tenon_string name;    /* lower_snake_case, other than those of the outputs */
  uint32_t role;        /* TENON_FIELD_...: boxes and keypoints are drawn into the image */
  uint32_t is_list;     /* 1: the number of rows differs between samples; 0: all have the same shape */
  tenon_string image;   /* name of the input with the image. Required for each role but TENON_FIELD_NUMBERS */
  tenon_string classes; /* for boxes: the result [N, K] with the class of each; empty: none */
  tenon_string doc;
} tenon_result;
TENON_FREEZE(tenon_result, doc, 80);

typedef struct tenon_results {
  uint64_t size;

  /* [train] Returns the results, at least one, valid while self lives. */
  tenon_status (*results)(void* self, const tenon_result* const** results, uint64_t* count);

  /* [train] Computes the results of a batch from the outputs of forward, in the order of the output ports. values[i]
   * receives a handle of the frame, [N, ...]. For a list it is [N, K, ...], and lengths[i] receives int64 [N], the
   * number of rows of each sample, at most K; the other rows are padding. There are no gradients. A row depends only on
   * the same row of the outputs. Re-entrant, as forward is. */
  tenon_status (*compute)(void* self, const tenon_frame* frame, tenon_tensor* const* outputs, uint64_t output_count,
                          tenon_tensor** values, tenon_tensor** lengths, uint64_t result_count);
} tenon_results;
TENON_FREEZE(tenon_results, compute, 24);

#ifdef __cplusplus
}
#endif
#endif
