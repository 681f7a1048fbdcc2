/* What a dataset derives from its data, as an extension of a dataset (tenon_component.get_extension): a vocabulary,
 * columns, categories, means and standard deviations. The training data of a run derive it. The host saves it with the
 * weights and passes it to the other datasets of the run, and to those of later commands, so that all samples are read
 * as those of the training. A host that does not know an extension never requests it. A draft: it may change or be
 * removed in any release. */
#ifndef TENON_FITTED_DATA_H
#define TENON_FITTED_DATA_H

#include "../host.h"
#include "../tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_FITTED_DATA "tenon.draft.fitted-data/1"

typedef struct tenon_fitted_data {
  uint64_t size;

  /* [train] Puts what this instance derived from its data, or was created with: any bytes, at least one. Equal contents
   * have equal bytes on every machine, so leave out paths. */
  tenon_status (*save)(void* self, const tenon_text_sink* sink);

  /* [train] As tenon_dataset.create, with bytes that save() of another instance of this component put, which may have
   * had other parameters. The instance uses their contents in place of what it would derive from its data. Returns
   * TENON_INVALID_ARGUMENT for parameters that contradict them, and TENON_BAD_DATA for bytes that it cannot read. */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, tenon_string fitted, void** self);
} tenon_fitted_data;
TENON_FREEZE(tenon_fitted_data, create, 24);

#ifdef __cplusplus
}
#endif
#endif
