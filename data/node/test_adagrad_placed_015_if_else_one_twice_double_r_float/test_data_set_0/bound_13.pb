BH1_new_twin_laterJ0?
Å}ú<Æ{–%Ì<F5@u¾Ìà<¿z±EÀ<p(ÍkXÚ<z“Ð­ë<