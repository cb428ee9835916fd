BX_newJ0û×¶Zƒ>àI¿úÀˆ>z(TXB‘>sÌGå¬
“>e[åHrnb>
¶ô×j>