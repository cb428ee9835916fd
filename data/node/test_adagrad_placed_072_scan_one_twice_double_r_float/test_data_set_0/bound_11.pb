BX2_new_twin_laterJ0éI>¿¸×<Îû
VŒØ<Ð¦ünBÐ<z5ÙV:¸×<Çuî¬'¾<K‰þm¶½×<