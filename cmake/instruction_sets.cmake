# Each table of kernels is compiled for its own instruction set, whatever the rest of the program is
# compiled for; choose_kernels looks at the machine before it takes one.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_property(SOURCE src/kernels/avx2.cpp PROPERTY COMPILE_OPTIONS -mavx2 -mfma)
  set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's own header leaves the lanes that a full mask replaces uninitialised, and warns of it.
    list(APPEND avx512 -Wno-uninitialized -Wno-maybe-uninitialized)
    if(LINNET_SANITIZE MATCHES "address")
      # GCC 12 loses the frame of functions that hold 64-byte vectors in guarded stack memory.
      list(APPEND avx512 --param=asan-stack=0)
    endif()
  endif()
  set_property(SOURCE src/kernels/avx512.cpp PROPERTY COMPILE_OPTIONS ${avx512})
  set_property(SOURCE src/kernels/amx.cpp PROPERTY COMPILE_OPTIONS ${avx512} -mamx-tile -mamx-int8)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set_property(SOURCE src/kernels/neon.cpp PROPERTY COMPILE_OPTIONS -march=armv8.2-a+dotprod)
endif()
