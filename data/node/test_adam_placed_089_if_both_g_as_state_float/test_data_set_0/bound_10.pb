BH2_new_capturedJ "óˆ>n®>Íô¹Ÿ>&5Òâj³>jJöŸ
×¢>