B
G_1_turnedJR6m?ªú¾)ð‘?@Äp?