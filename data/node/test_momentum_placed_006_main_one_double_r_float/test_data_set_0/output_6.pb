B
X_negativeJ0Rι­€έMφ?D/―,mLÿ?θ…¶µρώ?†‰ρΏvΞ&ΎOοΏJ2¤Δfhσ?