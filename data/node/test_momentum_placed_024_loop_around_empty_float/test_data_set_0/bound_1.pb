BX1_new_laterJ !ªΥπsµ>XTΪε½¦>‘
	ΧX£>Γ:±―f·>