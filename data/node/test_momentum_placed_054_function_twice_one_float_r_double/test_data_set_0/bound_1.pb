BX_new_laterJ08Mv¢}uÏ>Yœœ‡£>Vƒv¾Í¶>V
¶êEDÂ>—Ôl
©©>2Åûwoë°>