ZONES: dict[str, bytes]
