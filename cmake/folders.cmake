# The library is made of the folders of src/, each with its sources in a CMakeLists.txt of its own.
# The tests compile the same lists a second time, with a hook at every step of the protocol.

# What every folder is compiled with.
add_library(syncopate_internal INTERFACE)
target_compile_features(syncopate_internal INTERFACE cxx_std_20)
target_include_directories(syncopate_internal INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                        ${PROJECT_SOURCE_DIR}/src
                                                        ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(syncopate_internal INTERFACE Threads::Threads syncopate_warnings)
# Functions of ours are not replaced at run time: so the compiler may inline them.
target_compile_options(syncopate_internal INTERFACE
                       $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)

# syncopate_folder(NAME sources… [ALONE sources…] [ABOVE]): the target syncopate_NAME. Those in ALONE
# are never compiled in one unit with others. ABOVE: above the collectives, so that the tests of the
# protocol can do without.
function(syncopate_folder name)
  cmake_parse_arguments(FOLDER "ABOVE" "" "ALONE" ${ARGN})
  set(sources ${FOLDER_UNPARSED_ARGUMENTS} ${FOLDER_ALONE})
  add_library(syncopate_${name} OBJECT ${sources})
  target_link_libraries(syncopate_${name} PRIVATE syncopate_internal)
  set_target_properties(syncopate_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON UNITY_BUILD_BATCH_SIZE 16)  # The C API is a shared library.
  set_source_files_properties(${FOLDER_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_property(GLOBAL APPEND PROPERTY SYNCOPATE_OBJECTS $<TARGET_OBJECTS:syncopate_${name}>)
  if(NOT FOLDER_ABOVE)
    list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM FOLDER_ALONE PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL APPEND PROPERTY SYNCOPATE_PROTOCOL_SOURCES ${sources})
    set_property(GLOBAL APPEND PROPERTY SYNCOPATE_ALONE_SOURCES ${FOLDER_ALONE})
  endif()
endfunction()

# syncopate_protocol_library(NAME): the same sources, less those ABOVE, once more, for definitions of
# its own.
function(syncopate_protocol_library name)
  get_property(sources GLOBAL PROPERTY SYNCOPATE_PROTOCOL_SOURCES)
  get_property(alone GLOBAL PROPERTY SYNCOPATE_ALONE_SOURCES)
  set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC Threads::Threads ${CMAKE_DL_LIBS}
                                PRIVATE syncopate_internal)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                                            ${PROJECT_SOURCE_DIR}/src)
endfunction()
