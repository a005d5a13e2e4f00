"""A JobSet becomes Jobs and a headless Service. Pure."""
