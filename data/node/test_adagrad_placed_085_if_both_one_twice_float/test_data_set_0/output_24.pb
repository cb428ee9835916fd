BH1_new_twin_againJÖÇX@
@:ÝG@œZX@Ù²˜@ƒ¶Á@