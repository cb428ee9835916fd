BX_new_limited_aloneJ ïz(´o]°>§È°L¬>Ùpt†?§>
¨ña°>