BH1_new_twinJÖÇX@
@:ÝG@œZX@Ù²˜@ƒ¶Á@