BX2_new_twin_laterJ
×~¿à™3@õL@E›–¿¶¶ÀÿÎ!@