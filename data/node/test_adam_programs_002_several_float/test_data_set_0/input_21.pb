B
G_beside_VJÉ{N¿ p=>±,?È[ª?