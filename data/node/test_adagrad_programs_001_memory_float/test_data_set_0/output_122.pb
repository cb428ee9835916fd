B
X_new_castJ—ιε?ª ¦?ΐµφΎl/β>