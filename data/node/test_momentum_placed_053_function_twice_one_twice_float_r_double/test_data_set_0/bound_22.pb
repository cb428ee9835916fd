BV1_new_twin_againJ0"“$
†>¯×G®àñ–>æ­MYKs„>UVî‰Ð>÷²È×¢^ˆ>Hò˜ä‰>