# burnish_module(NAME DEPENDS modules... PACKAGES targets... [TEST_PACKAGES targets...] [TEST_FILTER filter])
#
# The static library burnish_NAME from src/NAME/*.cpp, and, with BURNISH_TESTS, the program
# burnish_NAME_test from src/NAME/*_test.cpp. DEPENDS names lower modules only; the test
# `layers` holds the includes to the same table. TEST_FILTER is gtest's, for tests that the caller adds itself.
function(burnish_module name)
  cmake_parse_arguments(arg "" "TEST_FILTER" "DEPENDS;PACKAGES;TEST_PACKAGES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(/main|/testing/[^/]*)\\.cpp$")

  if(NOT sources)  # a module of headers only still is a library that others link
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/headers_only.cpp)
    file(CONFIGURE OUTPUT ${sources} CONTENT "")
  endif()
  add_library(burnish_${name} STATIC ${sources})
  target_include_directories(burnish_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPENDS PREPEND burnish_)
  target_link_libraries(burnish_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PACKAGES}
                        $<BUILD_INTERFACE:burnish_settings>)

  if(BURNISH_TESTS AND tests)
    add_executable(burnish_${name}_test ${tests})
    target_link_libraries(burnish_${name}_test PRIVATE burnish_${name} burnish_settings ${arg_PACKAGES}
                          ${arg_TEST_PACKAGES} GTest::gmock_main)
    target_compile_options(burnish_${name}_test PRIVATE -O1)  # run less often than compiled
    target_compile_definitions(burnish_${name}_test PRIVATE
      BURNISH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BURNISH_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
    set(filter "")
    if(arg_TEST_FILTER)
      set(filter TEST_FILTER ${arg_TEST_FILTER})
    endif()
    gtest_discover_tests(burnish_${name}_test TEST_PREFIX ${name}: DISCOVERY_TIMEOUT 60 ${filter}
                         PROPERTIES TIMEOUT 300 LABELS ${name})
  endif()
endfunction()
