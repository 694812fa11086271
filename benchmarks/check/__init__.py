"""What the check of programs before they run costs."""
