BX_newJ 
๕—–า@>Qื่WF>ซ_fAF>m d๛โ;>