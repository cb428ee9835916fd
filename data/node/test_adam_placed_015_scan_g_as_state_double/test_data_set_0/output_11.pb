BX2_new_twin_laterJ ¹á
r?@3cNÄ<ÚÕ¿ (ƒX#ê@¬¸¬…~RÀ