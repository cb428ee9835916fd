B
G_beside_HJ@‹?MÊµ¿ŸÚ–¿½å‚?