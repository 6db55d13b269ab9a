# Writes the file that tells ctest of the tests in PROGRAM: one for each suite, since a process for
# each of some two thousand tests would cost more than many of them do. What a suite prints names
# the test that fails. Run after PROGRAM is linked, with LIST, PREFIX, LABELS
# and COST (tests/CMakeLists.txt).
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n]+\\." suites "${lines}")  # Tests are indented.
set(text "")
set(known "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "\n|\\.$" "" suite "${suite}")
  set(filter "${suite}.*")
  if(suite MATCHES "^(.*)/[0-9]+$")  # Of one of several types.
    set(suite ${CMAKE_MATCH_1})
    set(filter "${suite}/*.*")
  endif()
  if(filter IN_LIST known)
    continue()
  endif()
  list(APPEND known ${filter})
  set(name "${PREFIX}${suite}")
  string(APPEND text "add_test([==[${name}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${filter}]==])\n"
                     "set_tests_properties([==[${name}]==] PROPERTIES LABELS [==[${LABELS}]==] COST ${COST})\n")
endforeach()
if(NOT known)
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
file(WRITE ${LIST} "${text}")
