BV_new_decayed_other_aloneJ ™‹Ќ-.Ґ•>kФЯ?
њ>+Y+>и‚>›·gNЉ>