BV1_new_twin_laterJ úİ2”WUé¿$úÑö0Gß¿
l‘)8ø?e‰îP¾‹á?