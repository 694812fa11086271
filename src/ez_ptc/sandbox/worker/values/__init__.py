"""Values that cross the boundary, as data; the host imports this package as well."""
