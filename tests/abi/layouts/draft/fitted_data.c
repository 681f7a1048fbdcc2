/* The layout of the draft extension in fitted_data.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/fitted_data.h>

TEXT(TENON_FITTED_DATA, "tenon.draft.fitted-data/1");

SIZED(tenon_fitted_data, 24);
FIELD(tenon_fitted_data, save, 8, tenon_status (*)(void*, const tenon_text_sink*));
FIELD(tenon_fitted_data, create, 16, tenon_status (*)(const tenon_host*, const tenon_params*, tenon_string, void**));
