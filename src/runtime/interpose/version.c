/* Which geiger this library belongs to, for `strings` and for bug reports. */
__attribute__((used, section(".geiger_version"))) static const char version[] =
    "geiger " GEIGER_VERSION;
