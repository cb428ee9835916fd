BG2_negativeJ  ö‹ü%‡Ü¿ìŒ}¿üé?
·œMDŒü?rİc«{ô?