B
X_new_noneJNFƒ?Sø¿…Š?™6»?jIÉ=þcú¾