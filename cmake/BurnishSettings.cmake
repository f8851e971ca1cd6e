# Warnings, ccache and the linker: settings of our own targets, never of a project that embeds us.
add_library(burnish_settings INTERFACE)
target_compile_options(burnish_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wcast-align -Wdouble-promotion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough -Wformat=2)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # False alarms of g++ 12 with optimisation: std::string concatenation (GCC bug 105651), iterators of
  # nlohmann::ordered_json.
  target_compile_options(burnish_settings INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # std::stable_sort of libstdc++ 12 uses what libstdc++ 12 deprecates.
  target_compile_options(burnish_settings INTERFACE -Wno-deprecated-declarations)
endif()
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(burnish_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# -O3 costs a third more building time here and buys nothing: the hot loops are readers.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
