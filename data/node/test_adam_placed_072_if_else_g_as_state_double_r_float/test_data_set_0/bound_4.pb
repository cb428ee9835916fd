BX1_new_twin_capturedJ ק?4יעP>yֻ%ֲ1£C>“µeXָׁ>/
ץ`י$>