BV_newJΉvάνQ}>νύrw
‰>™W*Ξ“>