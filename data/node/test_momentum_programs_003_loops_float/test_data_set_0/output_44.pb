B
X_now_readJçC ¿òÔ­¿}n¬¾bx¾