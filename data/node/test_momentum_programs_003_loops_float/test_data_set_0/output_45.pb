B
G_now_readJR6m?ªú¾)ð‘?@Äp?