B
X_new_keptJ—ιε?ª ¦?ΐµφΎl/β>