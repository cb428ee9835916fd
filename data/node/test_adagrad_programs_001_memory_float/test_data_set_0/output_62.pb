B
X_new_sameJ—ιε?ª ¦?ΐµφΎl/β>