BX1_new_twin_againJ0ýŸíj?‚>V‰o Çó¨>VÔç9‘jœ>†¾vÌ‘£¤>ç
³º[¨>»[*‹Âw>