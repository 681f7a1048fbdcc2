/* The layout of the dataset extension in tokenizer.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_TOKENIZER, "tenon.tokenizer/1");

SIZED(tenon_tokenizer_info, 56);
FIELD(tenon_tokenizer_info, fields, 8, const tenon_string*);
FIELD(tenon_tokenizer_info, field_count, 16, uint64_t);
FIELD(tenon_tokenizer_info, vocabulary_size, 24, int64_t);
FIELD(tenon_tokenizer_info, begin, 32, int64_t);
FIELD(tenon_tokenizer_info, end, 40, int64_t);
FIELD(tenon_tokenizer_info, pad, 48, int64_t);

SIZED(tenon_token_sink, 24);
FIELD(tenon_token_sink, context, 8, void*);
FIELD(tenon_token_sink, put, 16, tenon_status (*)(const tenon_token_sink*, const int64_t*, uint64_t));

SIZED(tenon_text_sink, 24);
FIELD(tenon_text_sink, context, 8, void*);
FIELD(tenon_text_sink, put, 16, tenon_status (*)(const tenon_text_sink*, tenon_string));

SIZED(tenon_tokenizer, 32);
FIELD(tenon_tokenizer, describe, 8, tenon_status (*)(void*, const tenon_tokenizer_info**));
FIELD(tenon_tokenizer, encode, 16, tenon_status (*)(void*, tenon_string, const tenon_token_sink*));
FIELD(tenon_tokenizer, decode, 24, tenon_status (*)(void*, const int64_t*, uint64_t, const tenon_text_sink*));
