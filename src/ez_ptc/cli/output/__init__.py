"""What commands show beside text: pictures, and the progress of calls."""
