/* Text as tokens and tokens as text, as an extension of a dataset (tenon_component.get_extension). With it, the host
 * shows tokens as text, and turns a prompt into tokens. A host that does not know an extension never requests it. */
#ifndef TENON_TOKENIZER_H
#define TENON_TOKENIZER_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_TOKENIZER "tenon.tokenizer/1"

typedef struct tenon_tokenizer_info {
  uint64_t size;
  const tenon_string* fields; /* names of the fields that hold tokens: fields of the dataset with an integer dtype */
  uint64_t field_count;       /* 1 or more */
  int64_t vocabulary_size;    /* Tokens are 0 to vocabulary_size - 1. */
  /* Special tokens, which are no text; -1 if there is none. */
  int64_t begin; /* before the first token of a text (BOS) */
  int64_t end;   /* after the last token of a text (EOS) */
  int64_t pad;   /* fills shorter texts of a batch */
} tenon_tokenizer_info;
TENON_FREEZE(tenon_tokenizer_info, pad, 56);

/* Takes tokens. A plugin may call `put` several times for one text. */
typedef struct tenon_token_sink tenon_token_sink;
struct tenon_token_sink {
  uint64_t size;
  void* context;

  /* [train] Appends tokens. The host copies them. */
  tenon_status (*put)(const tenon_token_sink* sink, const int64_t* tokens, uint64_t count);
};
TENON_FREEZE(tenon_token_sink, put, 24);

/* Takes a text. A plugin may call `put` several times for one text. */
typedef struct tenon_text_sink tenon_text_sink;
struct tenon_text_sink {
  uint64_t size;
  void* context;

  /* [train] Appends bytes of the text. The host copies them. */
  tenon_status (*put)(const tenon_text_sink* sink, tenon_string bytes);
};
TENON_FREEZE(tenon_text_sink, put, 24);

typedef struct tenon_tokenizer {
  uint64_t size;

  /* [train] Returns the description, valid while self lives; null if the data of this instance are no text. It must not
   * change. The host calls encode and decode only after a description. */
  tenon_status (*describe)(void* self, const tenon_tokenizer_info** info);

  /* [train] Puts the tokens of a text, without special tokens. The text is UTF-8 and may be empty. Returns
   * TENON_BAD_DATA for a text that has no tokens in this vocabulary. */
  tenon_status (*encode)(void* self, tenon_string text, const tenon_token_sink* sink);

  /* [train] Puts the text of tokens, as UTF-8. The host passes tokens of the vocabulary: it leaves out special and
   * negative ones (-100 is the usual target that losses ignore), and refuses those that are too large. A byte that is
   * not UTF-8, as in a window that begins in the middle of a character, may be put as it is: the host replaces it by
   * U+FFFD. */
  tenon_status (*decode)(void* self, const int64_t* tokens, uint64_t count, const tenon_text_sink* sink);
} tenon_tokenizer;
TENON_FREEZE(tenon_tokenizer, decode, 32);

#ifdef __cplusplus
}
#endif
#endif
