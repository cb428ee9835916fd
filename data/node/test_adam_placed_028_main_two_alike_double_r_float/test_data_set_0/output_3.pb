BX2_new_laterJ sç
²ˆ,@cË4k€/@†>ZÀ54	Àê—×ÜUÀ