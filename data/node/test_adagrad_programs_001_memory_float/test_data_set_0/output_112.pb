B
X_new_flatJ—ιε?ª ¦?ΐµφΎl/β>