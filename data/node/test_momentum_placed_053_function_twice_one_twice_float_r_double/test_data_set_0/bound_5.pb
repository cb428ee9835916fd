BV1_new_negativeJ0"“$
†>¯×G®àñ–>æ­MYKs„>UVî‰Ð>÷²È×¢^ˆ>Hò˜ä‰>