BH_newJñr
^N[»<1ÿQ©G½<»@M^æÒ<