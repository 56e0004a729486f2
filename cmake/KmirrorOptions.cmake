# Build options: sanitizers, warnings, ccache, linker.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Line tables only: full debug information doubles the time and the size of every link.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

set(KMIRROR_SAN "" CACHE STRING "Sanitizer flavour: empty, asan (with UBSan) or tsan")
set(KMIRROR_SAN_FLAGS "")
if(KMIRROR_SAN STREQUAL "asan")
  set(KMIRROR_SAN_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(KMIRROR_SAN STREQUAL "tsan")
  set(KMIRROR_SAN_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
  # TSan does not know fences; Asio's queues are locked and need none.
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
elseif(NOT KMIRROR_SAN STREQUAL "")
  message(FATAL_ERROR "KMIRROR_SAN is '${KMIRROR_SAN}'; use asan, tsan or nothing")
endif()
if(KMIRROR_SAN_FLAGS)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  add_compile_options(${KMIRROR_SAN_FLAGS})
  add_link_options(${KMIRROR_SAN_FLAGS})
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Werror
                    -msse4.2 -fno-plt)
# gcc 12 reports these for library code that inlines into ours; each is a known false positive.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-free-nonheap-object>
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-pointer>)

find_program(KMIRROR_CCACHE ccache)
if(KMIRROR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${KMIRROR_CCACHE})
endif()
find_program(KMIRROR_MOLD mold)
if(KMIRROR_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
