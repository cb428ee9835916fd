B
V_negativeJÁ5¿b¤¾ß·~¿n[>&5V¿ªƒ0¾