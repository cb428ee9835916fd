Bvalue.G1J 0}ΫΔυΏψ;eΰ©hό?–RAqjατ?
~j%χΏ