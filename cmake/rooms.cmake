# Options for all of our own code, and the function that makes a room's target.
add_library(linnet_options INTERFACE)
# -ffp-contract=off: the same bits from every compiler (a contracted a*b+c rounds once, not twice).
target_compile_options(linnet_options INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror -ffp-contract=off)
# GCC 12 sees overlapping copies in std::string (GCC bug 105651) and overflows in fmt's parser where
# there are none.
target_compile_options(linnet_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>)

set(LINNET_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
if(LINNET_SANITIZE)
  target_compile_options(linnet_options INTERFACE
    -fsanitize=${LINNET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Instrumented code makes GCC 12 see uninitialised members that are not.
  target_compile_options(linnet_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(linnet_options INTERFACE -fsanitize=${LINNET_SANITIZE})
endif()

# linnet_room(name LINKS public... PRIVATE private...): src/<name>/**.cpp as library linnet_<name>.
function(linnet_room name)
  cmake_parse_arguments(ROOM "" "" "LINKS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cli/main[.]cpp$")
  if(sources)
    add_library(linnet_${name} STATIC ${sources})
    target_include_directories(linnet_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(linnet_${name} PUBLIC ${ROOM_LINKS} PRIVATE linnet_options ${ROOM_PRIVATE})
  else()
    add_library(linnet_${name} INTERFACE)
    target_include_directories(linnet_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(linnet_${name} INTERFACE ${ROOM_LINKS})
  endif()
endfunction()
