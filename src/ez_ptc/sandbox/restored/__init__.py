"""What only `ProcessSandbox(fresh="restored")` needs: workers that are restored after each program."""
