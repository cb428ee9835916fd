BX3_newJé~K
W@<~HðÍ0Ì<Úej‚&+O=