B
H_new_twinJ0v!JC๒?ขณ'M@ฒ(•y[r@sะ'ชา@r@ M@5RืีL@