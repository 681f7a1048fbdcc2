/* How a dataset makes a field of a value that is not in its data, as an extension of a dataset
 * (tenon_component.get_extension): the cells of a row, or a text. A program that predicts passes such values, and has
 * none of the data. A host that does not know an extension never requests it. A draft: it may change or be removed in
 * any release. */
#ifndef TENON_VALUE_ENCODER_H
#define TENON_VALUE_ENCODER_H

#include "../dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_VALUE_ENCODER "tenon.draft.value-encoder/1"

typedef struct tenon_value_encoder_info {
  uint64_t size;
  const tenon_string* columns; /* names of the cells of a row; valid while self lives */
  uint64_t column_count;       /* 0: the value is a text */
} tenon_value_encoder_info;
TENON_FREEZE(tenon_value_encoder_info, column_count, 24);

typedef struct tenon_value_encoder {
  uint64_t size;

  /* [train] Creates the encoder of a field. `params`: of the dataset that the model was trained with; those of
   * the type path are empty. `fitted`: what the training data derived (fitted_data.h); may be empty. Reads no data.
   * Returns TENON_NOT_FOUND if the dataset cannot make the field of a value, and TENON_BAD_DATA for bytes that it
   * cannot read. */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, tenon_string fitted, tenon_string field,
                         void** self);
  void (*destroy)(void* self);

  /* [train] */
  tenon_status (*describe)(void* self, tenon_value_encoder_info* out);

  /* [any thread, also several at the same time] Writes the field as tenon_dataset.get would, to the slot 0 of the sink.
   * `texts`: the cells in the order of the columns, or one text. Returns TENON_BAD_DATA with the column and what was
   * expected for a value that no sample could have. */
  tenon_status (*encode)(void* self, const tenon_string* texts, uint64_t count, const tenon_sink* sink);
} tenon_value_encoder;
TENON_FREEZE(tenon_value_encoder, encode, 40);

#ifdef __cplusplus
}
#endif
#endif
