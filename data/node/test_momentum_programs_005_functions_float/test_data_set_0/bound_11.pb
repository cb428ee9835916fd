B
X_new_zeroJ ìL	ƒ>¦Òˆ¹‚>G”L¼#>¿bè¿R\—>