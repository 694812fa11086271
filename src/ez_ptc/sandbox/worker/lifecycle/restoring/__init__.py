"""Workers that are restored to a snapshot after each program, for `ProcessSandbox(fresh="restored")`."""
