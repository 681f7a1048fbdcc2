# Builds SentencePiece as a static library from its sources. Its CMakeLists.txt would add options, shared libraries,
# programs and an installation.
set(sources
    src/bpe_model.cc
    src/bpe_model_trainer.cc
    src/builder.cc
    src/builtin_pb/sentencepiece.pb.cc
    src/builtin_pb/sentencepiece_model.pb.cc
    src/char_model.cc
    src/char_model_trainer.cc
    src/error.cc
    src/filesystem.cc
    src/model_factory.cc
    src/model_interface.cc
    src/normalizer.cc
    src/pretokenizer_for_training.cc
    src/sentencepiece_processor.cc
    src/sentencepiece_trainer.cc
    src/trainer_factory.cc
    src/trainer_interface.cc
    src/unicode_script.cc
    src/unigram_model.cc
    src/unigram_model_trainer.cc
    src/util.cc
    src/word_model.cc
    src/word_model_trainer.cc
    third_party/absl/flags/flag.cc
    third_party/protobuf-lite/arena.cc
    third_party/protobuf-lite/arenastring.cc
    third_party/protobuf-lite/bytestream.cc
    third_party/protobuf-lite/coded_stream.cc
    third_party/protobuf-lite/common.cc
    third_party/protobuf-lite/extension_set.cc
    third_party/protobuf-lite/generated_enum_util.cc
    third_party/protobuf-lite/generated_message_table_driven_lite.cc
    third_party/protobuf-lite/generated_message_util.cc
    third_party/protobuf-lite/implicit_weak_message.cc
    third_party/protobuf-lite/int128.cc
    third_party/protobuf-lite/message_lite.cc
    third_party/protobuf-lite/parse_context.cc
    third_party/protobuf-lite/repeated_field.cc
    third_party/protobuf-lite/status.cc
    third_party/protobuf-lite/statusor.cc
    third_party/protobuf-lite/stringpiece.cc
    third_party/protobuf-lite/stringprintf.cc
    third_party/protobuf-lite/structurally_valid.cc
    third_party/protobuf-lite/strutil.cc
    third_party/protobuf-lite/time.cc
    third_party/protobuf-lite/wire_format_lite.cc
    third_party/protobuf-lite/zero_copy_stream.cc
    third_party/protobuf-lite/zero_copy_stream_impl.cc
    third_party/protobuf-lite/zero_copy_stream_impl_lite.cc)
list(TRANSFORM sources PREPEND ${SentencePiece_SOURCES}/)
file(CONFIGURE OUTPUT config.h CONTENT [[
#define VERSION "@SentencePiece_VERSION@"
#define PACKAGE "sentencepiece"
#define PACKAGE_STRING "sentencepiece"
]] @ONLY)

add_library(sentencepiece STATIC EXCLUDE_FROM_ALL ${sources})
set_target_properties(
  sentencepiece
  PROPERTIES POSITION_INDEPENDENT_CODE ON
             CXX_VISIBILITY_PRESET hidden
             VISIBILITY_INLINES_HIDDEN ON
             CXX_STANDARD 17
             CXX_CLANG_TIDY ""
             EXPORT_COMPILE_COMMANDS OFF)
target_compile_definitions(sentencepiece PRIVATE HAVE_PTHREAD=1 _USE_INTERNAL_STRING_VIEW)
target_include_directories(
  sentencepiece SYSTEM
  PRIVATE ${SentencePiece_SOURCES}/src/builtin_pb ${SentencePiece_SOURCES}/third_party/protobuf-lite
          ${SentencePiece_SOURCES}/third_party ${CMAKE_CURRENT_BINARY_DIR} ${SentencePiece_SOURCES}
  INTERFACE ${SentencePiece_SOURCES}/src)
# Ignores compiler warnings and sanitizer errors in third-party code. The fuzz target gives it models that are damaged, so
# memory errors count there.
target_compile_options(sentencepiece PRIVATE -w -fno-sanitize=$<IF:$<BOOL:${TENON_FUZZ}>,undefined,all>)
target_link_libraries(sentencepiece PRIVATE Threads::Threads)
