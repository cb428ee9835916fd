BV1_new_capturedJ.(g>ŒW?ÞÓç¾?ð>
S?‚ƒ¿