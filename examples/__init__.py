"""Programs to start from; `demo` is a package, which `ez-ptc demo` runs from a clone."""
