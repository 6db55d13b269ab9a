# What `cmake --install` puts where, and how other projects find it: find_package(syncopate)
# or `pkg-config syncopate`. Both work wherever the installed tree is moved to.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/syncopate)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set_target_properties(syncopate PROPERTIES VERSION ${PROJECT_VERSION}
                                           SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
install(TARGETS syncopate EXPORT syncopate-targets
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/syncopate
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# The C API, and the Python package with a library of its own beside it: where the Python of the prefix
# or of the system looks, if it looks below the prefix, or else where PYTHONPATH may say so.
if(TARGET syncopate_c)
  find_program(python python3 HINTS ${CMAKE_INSTALL_PREFIX}/bin /usr/bin NO_CACHE)
  if(python AND NOT DEFINED SYNCOPATE_PYTHON_DIR)
    execute_process(COMMAND ${python} -c "import site; print(';'.join(site.getsitepackages()), end='')"
                    OUTPUT_VARIABLE python_dirs ERROR_QUIET)
    foreach(dir ${python_dirs})
      string(FIND ${dir} ${CMAKE_INSTALL_PREFIX}/lib at)  # Not in /usr/local below /usr.
      if(at EQUAL 0 AND NOT DEFINED SYNCOPATE_PYTHON_DIR)
        file(RELATIVE_PATH SYNCOPATE_PYTHON_DIR ${CMAKE_INSTALL_PREFIX} ${dir})
      endif()
    endforeach()
  endif()
  if(NOT DEFINED SYNCOPATE_PYTHON_DIR)
    set(SYNCOPATE_PYTHON_DIR lib/python3/dist-packages)
  endif()
  get_target_property(library_type syncopate TYPE)
  if(NOT library_type STREQUAL "STATIC_LIBRARY")
    file(RELATIVE_PATH python_to_lib /prefix/${SYNCOPATE_PYTHON_DIR}/syncopate
         /prefix/${CMAKE_INSTALL_LIBDIR})
    set_target_properties(syncopate_c PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/${python_to_lib}")
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/include/syncopate.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS syncopate_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS syncopate_c LIBRARY DESTINATION ${SYNCOPATE_PYTHON_DIR}/syncopate)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/syncopate DESTINATION ${SYNCOPATE_PYTHON_DIR}
          FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
endif()

if(TARGET syncopate_cli)
  file(RELATIVE_PATH bin_to_lib /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(syncopate_cli syncopate_bench_cli
                        PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS syncopate_cli syncopate_bench_cli)
endif()

# What libsyncopate loads under mpirun or srun (src/fabric/plugin.h).
foreach(plugin syncopate_openmpi syncopate_mpich)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${SYNCOPATE_PLUGIN_DIR})
  endif()
endforeach()

# A component of its own, so that a user who does not ask for it needs no libtorch.
if(TARGET syncopate_torch)
  install(TARGETS syncopate_torch EXPORT syncopate-torch-targets)
  install(EXPORT syncopate-torch-targets NAMESPACE syncopate:: DESTINATION ${package_dir})
  if(TARGET syncopate_train_cli)
    set_target_properties(syncopate_train_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    install(TARGETS syncopate_train_cli)
  endif()
endif()

install(EXPORT syncopate-targets NAMESPACE syncopate:: DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/syncopate-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/syncopate-config.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/syncopate-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/syncopate-config.cmake
              ${PROJECT_BINARY_DIR}/package/syncopate-config-version.cmake
        DESTINATION ${package_dir})

# A static library needs its own dependencies on the command line of the program that links it.
get_target_property(library_type syncopate TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(pkgconfig_static_libs " -pthread -ldl")
endif()
file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix ${pkgconfig_to_prefix})
configure_file(${CMAKE_CURRENT_LIST_DIR}/syncopate.pc.in
               ${PROJECT_BINARY_DIR}/package/syncopate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/syncopate.pc DESTINATION ${pkgconfig_dir})
