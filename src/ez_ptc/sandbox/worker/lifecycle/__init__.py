"""The zygote: startup, lockdown, and forking workers."""
