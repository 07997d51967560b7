# Makes the texts of src/quantize/texts a source of the room, so that the program needs no files.
set(texts ${CMAKE_SOURCE_DIR}/src/quantize/texts)
foreach(name calibration evaluation)
  string(TOUPPER LINNET_${name}_TEXT variable)
  file(READ ${texts}/${name}.txt ${variable})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${texts}/${name}.txt)
endforeach()
configure_file(${texts}/texts.cpp.in ${CMAKE_BINARY_DIR}/quantize_texts.cpp @ONLY)
target_sources(linnet_quantize PRIVATE ${CMAKE_BINARY_DIR}/quantize_texts.cpp)
