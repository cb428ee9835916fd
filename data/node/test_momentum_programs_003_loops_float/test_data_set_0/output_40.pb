B
G_now_keptJR6m?ªú¾)ð‘?@Äp?