BG2JêE·«xâ¿ôgšÒèVæ?ìO£
MTå¿