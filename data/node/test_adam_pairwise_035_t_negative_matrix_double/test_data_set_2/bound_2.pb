BH_newJ03¦R3¤X:úO9SdåT:írÖyþA:-m‡F´\:PeÕr]
4:G´m¾øwX: