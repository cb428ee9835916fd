BG2_rearrangedJ  ö‹ü%‡Ü?
·œMDŒü¿ìŒ}¿üé¿rİc«{ô¿