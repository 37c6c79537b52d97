# The module for Python programs, share/geiger/python/geiger.py: a copy, as nothing is built.
# `geiger --python-path` prints its directory, beside the executable in a build tree too.
configure_file(${PROJECT_SOURCE_DIR}/python/geiger.py
               ${PROJECT_BINARY_DIR}/share/geiger/python/geiger.py COPYONLY)
install(FILES ${PROJECT_SOURCE_DIR}/python/geiger.py DESTINATION share/geiger/python)
