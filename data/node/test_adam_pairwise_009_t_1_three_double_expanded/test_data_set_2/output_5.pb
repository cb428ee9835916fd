BV3_newJÏ=W S
"Áß5NA?ˆÒ«‘A