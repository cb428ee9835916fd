BX4_new_twin_laterJt¡“^
‡Æ>3ÆM=þ°>