BH1_new_capturedJ ",©â¥«>Ôoñ
‹§>Ðj<ëâ•>˜¾ê{ã° >