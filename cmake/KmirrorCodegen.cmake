# Generates C++ from proto-json/ into <build>/gen/kmirror/wire at configure time and again whenever
# a schema or the generator changes. Sets KMIRROR_WIRE_SOURCES.
file(GLOB KMIRROR_SCHEMAS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto-json/*.json)
file(GLOB KMIRROR_CODEGEN_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/codegen/*.py)
set(KMIRROR_GEN_DIR ${CMAKE_BINARY_DIR}/gen/kmirror/wire)
set(KMIRROR_WIRE_SOURCES "")
if(KMIRROR_SCHEMAS)
  # The generator rewrites a file only if its text changes, so ccache and ninja skip the rest.
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/codegen/kafkagen.py
            --schemas ${CMAKE_SOURCE_DIR}/proto-json --out ${KMIRROR_GEN_DIR}
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB KMIRROR_WIRE_SOURCES ${KMIRROR_GEN_DIR}/*.cc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KMIRROR_SCHEMAS} ${KMIRROR_CODEGEN_FILES})
endif()
add_custom_target(kmirror_codegen)
