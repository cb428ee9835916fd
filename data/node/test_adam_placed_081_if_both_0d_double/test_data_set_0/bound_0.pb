B
X_new_sameJÈ•S	ƒS²<