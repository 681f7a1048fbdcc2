# Defines the targets opencv_core, opencv_imgproc and opencv_imgcodecs: the parts of OpenCV that the image library uses.
#
# Tries OpenCV's CMake package first. Distributions ship it only with all of OpenCV, so the parts are otherwise searched
# one by one.
find_package(OpenCV 4 QUIET CONFIG COMPONENTS core imgproc imgcodecs)
set(OpenCVImages_FOUND TRUE)
set(OpenCVImages_MISSING "")
foreach(part core imgproc imgcodecs)
  if(NOT TARGET opencv_${part})
    find_path(OPENCV_${part}_INCLUDE_DIR opencv2/${part}.hpp PATH_SUFFIXES opencv4)
    find_library(OPENCV_${part}_LIBRARY opencv_${part})
    mark_as_advanced(OPENCV_${part}_INCLUDE_DIR OPENCV_${part}_LIBRARY)
    if(OPENCV_${part}_INCLUDE_DIR AND OPENCV_${part}_LIBRARY)
      add_library(opencv_${part} SHARED IMPORTED)
      set_target_properties(
        opencv_${part} PROPERTIES IMPORTED_LOCATION ${OPENCV_${part}_LIBRARY}
                                  INTERFACE_INCLUDE_DIRECTORIES ${OPENCV_${part}_INCLUDE_DIR})
    else()
      set(OpenCVImages_FOUND FALSE)
      list(APPEND OpenCVImages_MISSING ${part})
    endif()
  endif()
endforeach()
if(NOT OpenCVImages_FOUND AND OpenCVImages_FIND_REQUIRED)
  message(FATAL_ERROR "OpenCV 4 lacks ${OpenCVImages_MISSING}; expected headers and libraries of core, imgproc and "
                      "imgcodecs; run scripts/dependencies")
endif()
