BX1_new_later_if_loopJ ¤8ó?XI§?Ïh€À¥¾
@¤8ó?XI§?Ïh€À¥¾
@