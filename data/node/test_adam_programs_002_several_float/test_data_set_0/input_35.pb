B
H_infiniteJtæ@Eq6@3Ýƒ@¢w@