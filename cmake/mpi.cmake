# How a target is built with one of the MPIs. Two of them live side by side on Debian, and CMake's
# FindMPI finds only one. So the flags are asked from each one's compiler wrapper.
find_program(SYNCOPATE_OPENMPI_CXX NAMES mpicxx.openmpi)
find_program(SYNCOPATE_MPICH_CXX NAMES mpicxx.mpich)

# syncopate_mpi_words(VARIABLE openmpi|mpich): how the wrapper compiles and links, as a list; empty
# if there is no such wrapper or it does not say.
function(syncopate_mpi_words variable kind)
  set(${variable} "" PARENT_SCOPE)
  if(kind STREQUAL "openmpi")
    set(command ${SYNCOPATE_OPENMPI_CXX} --showme)
  else()
    set(command ${SYNCOPATE_MPICH_CXX} -show)
  endif()
  list(GET command 0 wrapper)
  if(NOT wrapper)
    return()
  endif()
  execute_process(COMMAND ${command} OUTPUT_VARIABLE words RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    separate_arguments(words UNIX_COMMAND "${words}")
    set(${variable} ${words} PARENT_SCOPE)
  endif()
endfunction()

# syncopate_use_mpi(TARGET WORDS…): gives a target what syncopate_mpi_words found. The C++ bindings
# that MPI no longer has are left out.
function(syncopate_use_mpi target)
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  foreach(word IN LISTS ARGN)
    if(word MATCHES "^-I(.*)")
      target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-L(.*)")
      target_link_directories(${target} PRIVATE ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-l" AND NOT word MATCHES "cxx$")
      target_link_libraries(${target} PRIVATE ${word})
    endif()
  endforeach()
  # In place of the wrapper's own -rpath: the folders above, where they are not the system's.
  set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()
