# Installs the library, headers and CMake config so that the Python package's folder (or any prefix) works as a prefix
# for find_package(Kindling).
include(CMakePackageConfigHelpers)
set_target_properties(kindling PROPERTIES INSTALL_RPATH "$ORIGIN" EXPORT_NAME Kindling)
install(TARGETS kindling EXPORT KindlingTargets LIBRARY DESTINATION ${ROOT} COMPONENT library)
install(EXPORT KindlingTargets NAMESPACE Kindling:: DESTINATION ${ROOT}/lib/cmake/Kindling)
file(WRITE ${CMAKE_BINARY_DIR}/KindlingConfig.cmake "include(\"\${CMAKE_CURRENT_LIST_DIR}/KindlingTargets.cmake\")\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/KindlingConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/KindlingConfig.cmake ${CMAKE_BINARY_DIR}/KindlingConfigVersion.cmake
        DESTINATION ${ROOT}/lib/cmake/Kindling)
install(DIRECTORY ${CMAKE_BINARY_DIR}/include/kindling DESTINATION ${ROOT}/include)
