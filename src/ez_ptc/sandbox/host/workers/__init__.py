"""Single workers: their handles, leases and queue positions."""
