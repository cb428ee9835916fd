BX4_new_laterJ
ì-»mQ>^ jV<kf>