BH_newJø
@Il†@ÿŞ@d!@