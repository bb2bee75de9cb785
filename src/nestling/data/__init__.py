"""Files ⇄ documents, and what is known of public corpora."""
