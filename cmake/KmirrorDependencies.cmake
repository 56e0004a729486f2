# Libraries outside the project; all from Debian 12.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json program_options)
find_package(OpenSSL 3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Asio and Beast compiled once, here, instead of in every file that uses them.
file(WRITE ${CMAKE_BINARY_DIR}/asio_impl.cc
     "#include <utility>\n#include <boost/asio/impl/src.hpp>\n")
add_library(kmirror_asio STATIC ${CMAKE_BINARY_DIR}/asio_impl.cc)
target_compile_definitions(kmirror_asio PUBLIC BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_compile_options(kmirror_asio PRIVATE -w)
target_link_libraries(kmirror_asio PUBLIC Boost::headers Threads::Threads)

# A precompiled header for the rooms that use Asio: 3.6 s a file without it.
file(WRITE ${CMAKE_BINARY_DIR}/asio_pch.cc "")
add_library(kmirror_asio_pch OBJECT ${CMAKE_BINARY_DIR}/asio_pch.cc)
target_link_libraries(kmirror_asio_pch PUBLIC kmirror_asio fmt::fmt spdlog::spdlog)
target_include_directories(kmirror_asio_pch PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/gen)
target_compile_options(kmirror_asio_pch PRIVATE -fpch-preprocess)
target_precompile_headers(kmirror_asio_pch PRIVATE
  <utility> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp>
  <boost/asio/use_awaitable.hpp> <boost/asio/as_tuple.hpp> <boost/asio/steady_timer.hpp>
  <boost/system/result.hpp> <fmt/format.h> <map> <memory> <optional> <string> <unordered_map> <vector>)
