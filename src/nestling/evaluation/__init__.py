"""Gold and predictions → figures."""
