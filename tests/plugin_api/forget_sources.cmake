# Calls tenon_add_plugin() without SOURCES: cmake -DFOLDER=FOLDER_OF_TenonAddPlugin -P forget_sources.cmake
include(${FOLDER}/TenonAddPlugin.cmake)
tenon_add_plugin(blobs blobs.cpp)
