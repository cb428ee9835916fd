BH_newJ~X¤J
>vvs~Ü?)>°$î]óó=