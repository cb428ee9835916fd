BV1_new_twin_atJ úİ2”WUÙ?$úÑö0GÏ?
l‘)8è¿e‰îP¾‹Ñ¿